import { afterAll, expect, test } from "bun:test";
import { Api, Refused } from "../../src/client/api.ts";
import { type PolledMessage, PollLoop } from "../../src/client/poll-loop.ts";

/** What the next polls are answered, in this order; then pages without a message. */
let answers: (() => Response)[] = [];
let asked: string[] = [];
let waits: string[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const { searchParams: query } = new URL(request.url);
    asked.push(query.get("cursor") ?? "");
    waits.push(query.get("wait") ?? "");
    const answer = answers.shift();
    if (answer) return answer();
    await Bun.sleep(50);
    return page([], "end");
  },
});
afterAll(() => server.stop(true));

const page = (ids: string[], cursor: string) => {
  const data = ids.map((id) => ({ headers: { "webhook-id": id }, body: "{}" }));
  return Response.json({ data, next_cursor: cursor, done: true });
};

/** What comes until so many messages are there. */
async function take(count: number) {
  const ending = new AbortController();
  const weather: boolean[] = [];
  const api = new Api({ url: `http://127.0.0.1:${server.port}`, key: "k" });
  const loop = new PollLoop(api, {
    endpoint: { id: "ep_1", secret: "s" },
    signal: ending.signal,
    onWeather: (problem) => weather.push(problem === null),
  });
  const ids: string[] = [];
  const keep = ({ headers }: PolledMessage) => {
    ids.push(headers["webhook-id"]);
    if (ids.length === count) setTimeout(() => ending.abort(), 200);
  };
  for await (const message of loop.messages()) keep(message);
  return { ids, weather };
}

test("a page is acknowledged by the poll behind it, and the last one too", async () => {
  [asked, answers] = [[], [() => page(["1", "2"], "c1"), () => page(["3"], "c2")]];
  expect(await take(3)).toEqual({ ids: ["1", "2", "3"], weather: [] });
  expect(asked.slice(0, 4)).toEqual(["", "c1", "c2", "end"]);
});

test("what passes by itself is told once, and the same page asked for again", async () => {
  waits = [];
  const busy = (status: number) => () => new Response("{}", { status });
  [asked, answers] = [
    [],
    [() => page(["1"], "c1"), busy(503), busy(502), busy(429), () => page(["2"], "c2")],
  ];
  expect(await take(2)).toEqual({ ids: ["1", "2"], weather: [false, true] });
  expect(asked.slice(0, 5)).toEqual(["", "c1", "c1", "c1", "c1"]);
  // What is there again answers at once, however little there is to hand out.
  expect(waits.slice(0, 6)).toEqual(["25", "25", "0", "0", "0", "25"]);
});

test("retry-after is kept to", async () => {
  const headers = { "retry-after": "1" };
  answers = [() => new Response("{}", { status: 429, headers }), () => page(["1"], "c")];
  const started = performance.now();
  await take(1);
  expect(performance.now() - started).toBeGreaterThan(1000);
});

test("what does not pass ends it", async () => {
  answers = [() => new Response('{"detail":"no"}', { status: 409 })];
  const error = await take(1).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Refused);
});
