import { afterAll, expect, spyOn, test } from "bun:test";
import { Api } from "../../../src/client/api.ts";
import { Bridge, type Message, type Source, SourceAway } from "../../../src/client/bridge/bridge.ts";
import { Publisher, type Verdict } from "../../../src/client/bridge/publisher.ts";
import { CommandError } from "../../../src/platform/command-line.ts";

/** Answers in place of success, for the next requests. */
let refusals: Response[] = [];
let published: string[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const refusal = refusals.shift();
    if (refusal !== undefined) return refusal;
    const body = (await request.json()) as { type: string; events?: { type: string }[] };
    const types = (body.events ?? [body]).map(({ type }) => type);
    published.push(...types);
    const data = types.map((type) => ({ id: `evt_${type}`, duplicate: false }));
    return Response.json(body.events === undefined ? data[0] : { data });
  },
});
afterAll(() => server.stop(true));

/** Messages in memory; it ends the bridge when nothing is left. */
class List implements Source {
  readonly name = "a list";
  readonly refused = "put away";
  readonly ending = new AbortController();
  /** Of the next calls; null: it does what it is asked. */
  failures: (Error | null)[] = [];
  away: (readonly [string, Verdict])[] = [];
  /** What it was asked, in its order. */
  asked: string[] = [];
  #taken: Message[] = [];

  constructor(readonly messages: Message[]) {}

  async take(max: number): Promise<Message[]> {
    this.asked.push("take");
    this.#fail();
    this.#taken = this.messages.slice(0, max);
    if (this.#taken.length === 0) this.ending.abort();
    return this.#taken;
  }

  async settle(verdicts: readonly Verdict[]): Promise<void> {
    this.asked.push("settle");
    this.#fail();
    for (const [at, verdict] of verdicts.entries())
      if (verdict !== null) this.away.push([this.#taken[at]?.name ?? "", verdict]);
    this.messages.splice(0, verdicts.length);
  }

  async close(): Promise<void> {
    this.asked.push("close");
  }

  #fail(): void {
    const failure = this.failures.shift();
    if (failure) throw failure;
  }
}

const messagesOf = (...types: string[]): Message[] =>
  types.map((type) => ({ name: type, event: { text: JSON.stringify({ type, data: {} }) } }));

/** Runs it to its end, or to what it throws; what it told. */
async function run(list: List): Promise<{ told: string; thrown: unknown }> {
  const lines: string[] = [];
  const spy = spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
  published = [];
  const api = new Api({ url: `http://127.0.0.1:${server.port}`, key: "k" });
  const bridge = new Bridge(list, new Publisher(api), list.ending.signal);
  const thrown: unknown = await bridge.run().then(
    () => null,
    (error: unknown) => error,
  );
  bridge.tellSum();
  spy.mockRestore();
  return { told: lines.join("\n"), thrown };
}

test("what comes is published in its order, and no message that can be no event holds it up", async () => {
  const [one, two, three] = messagesOf("one", "two", "three");
  const fault = { name: "nothing", event: { fault: "It is no JSON." } };
  const list = new List([fault, one, two, fault, three].filter((message) => message !== undefined));
  const { told } = await run(list);
  expect(published).toEqual(["one", "two", "three"]);
  expect(list.away).toEqual([
    ["nothing", "It is no JSON."],
    ["nothing", "It is no JSON."],
  ]);
  const line = "refused, and put away: nothing: It is no JSON.";
  expect(told).toBe(`${line}\n${line}\nPublished 3; 2 refused.`);
});

test("a service that is away, and a plan that is used up, are told once and waited for", async () => {
  refusals = [503, 502, 500].map((status) => new Response("", { status }));
  const { told, thrown } = await run(new List(messagesOf("one")));
  expect([thrown, published]).toEqual([null, ["one"]]);
  expect(told).toMatch(/^POST .* is answered 503: .* \(trying .*\)\nIt is there again\.\nPublished 1\.$/);

  refusals = [new Response('{"code":"plan_limit_reached"}', { status: 402 })];
  const list = new List(messagesOf("two"));
  const running = run(list);
  while (refusals.length > 0) await Bun.sleep(1);
  list.ending.abort();
  expect((await running).thrown).toBeNull();
  expect([list.messages.length, list.asked]).toEqual([1, ["take", "close"]]);
});

test("while the service is away the source is closed, and what it brings again then is known", async () => {
  refusals = [503, 502, 500].map((status) => new Response("", { status }));
  const list = new List(messagesOf("one", "two"));
  const { told } = await run(list);
  expect(list.asked).toEqual(["take", "close", "take", "settle", "take"]);
  expect([published, list.messages.length]).toEqual([["one", "two"], 0]);
  expect(told).toContain("Published 2.");
});

test("what comes in place of what was published while the source was closed is published", async () => {
  refusals = [new Response("", { status: 503 })];
  const list = new List(messagesOf("one", "two", "three"));
  const running = run(list);
  while (!list.asked.includes("close")) await Bun.sleep(1);
  const [one, , three] = list.messages;
  list.messages.splice(0, 3, ...[one, three, one].filter((message) => message !== undefined));
  await running;
  expect(published).toEqual(["one", "two", "three", "three", "one"]);
});

test("a rate limit is nothing to tell, and the source stays open unless it asks for a long wait", async () => {
  refusals = [new Response("", { status: 429, headers: { "retry-after": "0" } })];
  const list = new List(messagesOf("one"));
  expect((await run(list)).told).toBe("Published 1.");
  expect(list.asked).not.toContain("close");

  refusals = [new Response("", { status: 429, headers: { "retry-after": "3600" } })];
  const waiting = new List(messagesOf("one"));
  const running = run(waiting);
  while (refusals.length > 0) await Bun.sleep(1);
  waiting.ending.abort();
  await running;
  expect(waiting.asked).toEqual(["take", "close"]);
});

test("a source that is away is waited for, and what was published before that comes again", async () => {
  const list = new List(messagesOf("one"));
  list.failures = [new SourceAway("The list is away"), null, new SourceAway("It is away again")];
  const { told, thrown } = await run(list);
  expect([thrown, published]).toEqual([null, ["one", "one"]]);
  expect(told.split("\n")).toEqual([
    "The list is away (trying until it is there again)",
    "It is there again.",
    "It is away again (trying until it is there again)",
    "It is there again.",
    "Published 2.",
  ]);
});

test.each([
  [() => (refusals = [new Response("", { status: 401 })]), "is answered 401"],
  [() => (refusals = [new Response("", { status: 404 })]), "is answered 404"],
])("what does not pass ends it, and every message stays (%#)", async (begin, told) => {
  begin();
  const list = new List(messagesOf("one"));
  const { thrown } = await run(list);
  expect((thrown as Error).message).toContain(told);
  expect([list.messages.length, list.away]).toEqual([1, []]);
});

test("a source that says no ends it too", async () => {
  const list = new List(messagesOf("one"));
  const no = new CommandError("There is no such list");
  list.failures = [no];
  expect((await run(list)).thrown).toBe(no);
});
