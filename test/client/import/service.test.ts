import { expect, test } from "bun:test";
import type { Ended } from "../../cli/kit.ts";
import type { Person } from "../kit.ts";
import { onService } from "../listening.ts";
import { SECRET } from "./lines.ts";
import { type Answers, Recorded } from "./sources/recorded.ts";
import { listIn, readEach, secretOf, transformationsFor } from "../../../src/client/import/service.ts";
import { readSecret } from "../../../src/core/signing.ts";
import { CommandError } from "../../../src/platform/command-line.ts";

let person: Person;
onService((at) => ({ person } = at));

const TOKEN = "t";
const WORDS = { svix: [], convoy: ["--project", "p"], outpost: [] };
type Name = keyof typeof WORDS;

/** What an import of a service says that answers so. */
async function imports(name: Name, answers: Answers, ...words: string[]): Promise<Ended & { asked: number }> {
  await using source = new Recorded(TOKEN, { detail: "no" }, answers);
  const env = { SVIX_AUTH_TOKEN: TOKEN, CONVOY_API_KEY: TOKEN, OUTPOST_API_KEY: TOKEN };
  const typed = ["import", name, "--from", source.url, ...WORDS[name], ...words];
  return { ...(await person.types(typed, "", env)), asked: source.asked.length };
}

/** Svix with one endpoint, and what its parts answer. */
function svixWith(id: string, parts: Record<string, unknown> = {}): Answers {
  const endpoint = { id, url: `http://127.0.0.1:9/${id}`, description: "", metadata: {} };
  const given: Record<string, unknown> = {
    "event-type": [],
    app: [{ id: `app_${id}`, name: "x" }],
    endpoint: [endpoint],
    secret: { key: SECRET },
    headers: { headers: {}, sensitive: [] },
    ...parts,
  };
  return ({ path }) => {
    const answer = given[path.split("/").at(-1) ?? ""];
    if (answer === undefined) return Response.json({ detail: "not found" }, { status: 404 });
    return Array.isArray(answer) ? { data: answer, done: true } : answer;
  };
}

const convoyWith =
  (types: unknown, content: unknown, pagination?: object): Answers =>
  ({ path }) => {
    if (path.endsWith("/projects/p")) return { data: { uid: "p" } };
    return { data: path.endsWith("/event-types") ? types : { content, pagination } };
  };

const outpostWith =
  (topics: unknown, destinations: unknown): Answers =>
  ({ path }) => {
    if (path.endsWith("/topics")) return topics;
    return path.endsWith("/tenants") ? { models: [{ id: "t" }] } : destinations;
  };

test.each<[string, Name, Answers]>([
  ["a row that is null", "svix", svixWith("e", { "event-type": [null] })],
  ["an application without an id", "svix", svixWith("e", { app: [{}] })],
  ["a name that is a number", "svix", svixWith("e", { "event-type": [{ name: 5, description: "" }] })],
  [
    "a description that is an object",
    "svix",
    svixWith("e", { "event-type": [{ name: "a", description: {} }] }),
  ],
  ["half a character", "svix", svixWith("e", { app: [{ id: "\ud800", name: "x" }] })],
  ["headers without the hidden ones", "svix", svixWith("e", { headers: { headers: {} } })],
  ["a secret without a key", "svix", svixWith("e", { secret: {} })],
  ["nothing", "convoy", () => new Response("")],
  ["a row that is null", "convoy", convoyWith([], [null])],
  ["a type that is null", "convoy", convoyWith([null], [])],
  ["a destination without its config", "outpost", outpostWith([], [{ id: "d", type: "webhook" }])],
  ["a topic that is null", "outpost", outpostWith([null], [])],
])("%s from %s is one sentence, and no trace of the program", async (_, name, answers) => {
  for (const words of [[], ["--records"]]) {
    const { exitCode, stderr } = await imports(name, answers, ...words);
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/^\w+ does not answer as it should: .*\n$/),
    ]);
  }
});

const again = { iterator: "same", done: false };
const more = { has_next_page: true, next_page_cursor: "same" };

test.each<[Name, Answers]>([
  ["svix", () => ({ data: [{ name: "a.b", description: "" }], ...again })],
  ["convoy", convoyWith([], [], more)],
  ["outpost", ({ path }) => (path === "/topics" ? [] : { models: [], pagination: { next: "same" } })],
])("a list of %s without an end is not read for ever", async (name, answers) => {
  const { exitCode, stderr, asked } = await imports(name, answers);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("this list has no end")]);
  expect(asked).toBeLessThan(10);
});

test("an answer that unpacks to more than memory should hold is not read to its end", async () => {
  const packed = Bun.gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
  const headers = { "content-encoding": "gzip", "content-type": "application/json" };
  const { exitCode, stderr } = await imports("svix", () => new Response(packed, { headers }));
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("answers more than 33554432 bytes")]);
});

test("a number that would be rounded is told, and printed as it is", async () => {
  const type = '{"name":"big","description":"","schemas":{"1":{"const":9007199254740993}}}';
  const answers = svixWith("e", { app: [] });
  const withBig: Answers = (ask) =>
    ask.path.endsWith("/event-type") ? new Response(`{"data":[${type}],"done":true}`) : answers(ask);
  const { stdout } = await imports("svix", withBig);
  expect(stdout).toContain("event type big, without its schema, which holds the number 9007199254740993");
  expect((await imports("svix", withBig, "--records")).stdout).toContain(
    '"schema":{"const":9007199254740993}',
  );
});

test("what another environment has is not told to be gone", async () => {
  await using eu = new Recorded(TOKEN, {}, svixWith("eu"));
  await using us = new Recorded(TOKEN, {}, svixWith("us"));
  const from = ({ url }: Recorded) =>
    person.types(["import", "svix", "--from", url, "--apply"], "", { SVIX_AUTH_TOKEN: TOKEN });
  for (const one of [eu, us, eu]) {
    const { exitCode, stdout } = await from(one);
    expect([exitCode, stdout]).toEqual([0, expect.not.stringContaining("no longer there")]);
  }
});

test("words that are missing are told before Sealpost is asked", async () => {
  const env = { SVIX_AUTH_TOKEN: "", SEALPOST_URL: "http://127.0.0.1:9" };
  const { exitCode, stderr } = await person.types(["import", "svix"], "", env);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("SVIX_AUTH_TOKEN must hold a token")]);
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

test("a list that is not there is told, and rows that are none", () => {
  expect(listIn<{ id: string }>({ data: [{ id: "1" }] }, "data", "id", "Svix")).toEqual([{ id: "1" }]);
  expect(listIn<string>(["a"], null, null, "Svix")).toEqual(["a"]);
  for (const answer of [null, "x", { data: {} }])
    expect(() => listIn(answer, "data", null, "Svix")).toThrow(CommandError);
  for (const row of [null, 1, {}, { id: 1 }, { id: "" }])
    expect(() => listIn<{ id: string }>([row], null, "id", "Svix")).toThrow("row 1 of a list is no object");
  expect(() => listIn([null], null, null, "Svix")).toThrow("row 1 of a list is no text");
});

test("receivers get the data alone, unless the envelope is asked for", () => {
  expect(transformationsFor(undefined)).toEqual([{ op: "unwrap", path: "data" }]);
  expect(transformationsFor("envelope")).toBeNull();
});
