import { afterAll, expect, test } from "bun:test";
import { Api, Refused } from "../../src/client/api.ts";
import { rest, SteadyApi } from "../../src/client/steady-api.ts";

/** What the next requests are answered, in this order; then all is well. */
let answers: (() => Response | Promise<Response>)[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => answers.shift()?.() ?? Response.json({ is: "well" }),
});
afterAll(() => server.stop(true));

const failing =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response('{"detail":"no"}', { status, headers });

function steady(answerMsMax = 5000) {
  const ending = new AbortController();
  const weather: (string | null)[] = [];
  const api = new Api({ url: `http://127.0.0.1:${server.port}`, key: "k" });
  const onWeather = (problem: string | null) => weather.push(problem);
  return { api: new SteadyApi(api, { signal: ending.signal, answerMsMax, onWeather }), weather, ending };
}

test("what passes by itself is asked again, and told once", async () => {
  answers = [failing(503), failing(502), failing(429), failing(500)];
  const { api, weather } = steady();
  expect(await api.ask<{ is: string }>("/x")).toEqual({ is: "well" });
  expect(weather).toEqual([expect.stringContaining("is answered 503"), null]);
  expect(api.isLost).toBe(false);
});

test("an answer that does not come is given up, and asked for again", async () => {
  answers = [() => Bun.sleep(3000).then(() => Response.json({ is: "late" }))];
  const { api, weather } = steady(200);
  expect(await api.ask<{ is: string }>("/x")).toEqual({ is: "well" });
  expect(weather).toEqual([expect.stringContaining("cannot be reached"), null]);
});

test("retry-after is kept to", async () => {
  answers = [failing(429, { "retry-after": "1" })];
  const started = performance.now();
  await steady().api.ask("/x");
  expect(performance.now() - started).toBeGreaterThan(1000);
});

test("what does not pass is thrown", async () => {
  answers = [failing(409)];
  const thrown: unknown = await steady()
    .api.ask("/x")
    .catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(Refused);
});

test("the signal ends it, also in the middle of a wait", async () => {
  answers = [failing(503, { "retry-after": "60" })];
  const { api, ending } = steady();
  const asked = api.ask("/x");
  setTimeout(() => ending.abort(), 300);
  expect(await asked).toBe(null);
  await rest(60_000, ending.signal);
});
