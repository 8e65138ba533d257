import { beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { listIn, readEach, secretOf, transformationsFor } from "../../../src/client/import/import.ts";
import { readSecret } from "../../../src/core/signing.ts";
import { CommandError } from "../../../src/platform/command-line.ts";
import type { Service } from "../../kit/service.ts";
import type { Person } from "../kit.ts";
import { call, onService, Running } from "../listening.ts";
import { endpoint, lines } from "./lines.ts";

let service: Service;
let person: Person;
let file = "";
onService((at) => ({ service, person } = at));

const COUNT = 150;

beforeAll(() => {
  file = join(person.folder, "many.ndjson");
});

/** A file of so many endpoints, whose ids begin alike. */
function writeMany(prefix: string): void {
  const records = Array.from({ length: COUNT }, (_, at) => endpoint(`${prefix}${at}`));
  writeFileSync(file, lines(...records));
}

/** Each of them once: a list of their ids, sorted. */
async function importedBy(prefix: string): Promise<string[]> {
  type Page = { data: { metadata: { sealpost_import?: { id: string } } }[]; next_cursor: string | null };
  const ids: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const from: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Page = await call<Page>(service, "GET", `/v1/endpoints?limit=250${from}`);
    ids.push(...page.data.map(({ metadata }) => metadata.sealpost_import?.id ?? ""));
    cursor = page.next_cursor;
  }
  return ids.filter((id) => id.startsWith(prefix)).toSorted();
}

const all = (prefix: string) => Array.from({ length: COUNT }, (_, at) => `${prefix}${at}`).toSorted();

test("a run that is killed is run again: what it made is kept, and nothing is there twice", async () => {
  writeMany("k");
  await using running = new Running(person, ["import", "ndjson", file, "--apply"]);
  await running.shows(20);
  await running.end("SIGKILL");
  const made = (await importedBy("k")).length;
  expect([made >= 20, made < COUNT]).toEqual([true, true]);
  const { exitCode, stdout } = await person.types(["import", "ndjson", file, "--apply"]);
  const sum = `endpoints    ${COUNT - made}${" ".repeat(6 - String(COUNT - made).length)}0        ${made}`;
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining(sum)]);
  expect(await importedBy("k")).toEqual(all("k"));
});

test("the service may be killed meanwhile: the run goes on, and nothing is there twice", async () => {
  writeMany("s");
  await using running = new Running(person, ["import", "ndjson", file, "--apply"]);
  await running.shows(20);
  await service.kill9();
  await running.tells("cannot be reached");
  await service.restart();
  expect([await running.exit(), running.stderr]).toEqual([0, expect.stringContaining("It is there again.")]);
  expect(await importedBy("s")).toEqual(all("s"));
});

test("parts are read some at a time, and come in their order", async () => {
  let [atOnce, most] = [0, 0];
  const read = async (number: number) => {
    most = Math.max(most, ++atOnce);
    await Bun.sleep(number % 2 === 0 ? 5 : 1);
    atOnce--;
    return [number, number];
  };
  const items = Array.from({ length: 9 }, (_, at) => at);
  expect(await Array.fromAsync(readEach(items, read))).toEqual(items.flatMap((at) => [at, at]));
  expect(most).toBe(4);
});

test("a secret stays the text that it is, or becomes one of the same key", () => {
  const standard = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  expect(secretOf(standard)).toBe(standard);
  const text = "whsec_not-base64-but-long-enough";
  expect(Buffer.from(readSecret(secretOf(text)) ?? []).toString()).toBe(text);
});

test("a list that is not there is told", () => {
  expect(listIn<number>({ data: [1] }, "data", "Svix")).toEqual([1]);
  expect(listIn<number>([1], null, "Svix")).toEqual([1]);
  for (const answer of [null, "x", { data: {} }])
    expect(() => listIn(answer, "data", "Svix")).toThrow(CommandError);
});

test("receivers get the data alone, unless the envelope is asked for", () => {
  expect(transformationsFor(undefined)).toEqual([{ op: "unwrap", path: "data" }]);
  expect(transformationsFor("envelope")).toBeNull();
});
