import { afterAll, expect, test } from "bun:test";
import { Api } from "../../src/client/api.ts";
import { polledMessages } from "../../src/client/poll-loop.ts";
import { SteadyApi } from "../../src/client/steady-api.ts";

/** What the next polls are answered, in this order; then pages without a message. */
let answers: (() => Response)[] = [];
let asked: { cursor: string | null; wait: string | null }[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const { searchParams: query } = new URL(request.url);
    asked.push({ cursor: query.get("cursor"), wait: query.get("wait") });
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

/** What comes until so many messages are there, and a little longer. */
async function take(count: number): Promise<string[]> {
  asked = [];
  const ending = new AbortController();
  const { signal } = ending;
  const api = new Api({ url: `http://127.0.0.1:${server.port}`, key: "k" });
  const steady = new SteadyApi(api, { signal, answerMsMax: 5000, onWeather: () => {} });
  const ids: string[] = [];
  for await (const { headers } of polledMessages(steady, { endpoint: { id: "ep_1", secret: "s" }, signal })) {
    ids.push(headers["webhook-id"]);
    if (ids.length === count) setTimeout(() => ending.abort(), 200);
  }
  return ids;
}

test("a page is acknowledged by the poll behind it, and the last one too", async () => {
  answers = [() => page(["1", "2"], "c1"), () => page(["3"], "c2")];
  expect(await take(3)).toEqual(["1", "2", "3"]);
  expect(asked.slice(0, 4).map(({ cursor }) => cursor)).toEqual([null, "c1", "c2", "end"]);
});

test("after a loss the same page is asked for again, at once, however little there is to hand out", async () => {
  const busy = () => new Response("{}", { status: 503 });
  answers = [() => page(["1"], "c1"), busy, busy, () => page(["2"], "c2")];
  expect(await take(2)).toEqual(["1", "2"]);
  expect(asked.slice(0, 5)).toEqual([
    { cursor: null, wait: "25" },
    { cursor: "c1", wait: "25" },
    { cursor: "c1", wait: "0" },
    { cursor: "c1", wait: "0" },
    { cursor: "c2", wait: "25" },
  ]);
});
