import { beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
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
  const [, rest, kept] = /^endpoints +(\d+) +0 +(\d+) +0$/m.exec(stdout) ?? [];
  expect([exitCode, Number(rest) + Number(kept)]).toEqual([0, COUNT]);
  // The request that was under way as the run was killed may have been done after the count.
  expect([made, made + 1]).toContain(Number(kept));
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
