/** Attempts that no plan counts: who asks for more of them than people do is refused. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Caller } from "../../../src/core/caller.ts";
import { LIMITS, limit } from "../../../src/core/limits.ts";
import { SetClock } from "../../kit/clock.ts";
import { expectProblem, portalOf, type Reply } from "../kit.ts";
import { type Api, nobody, startApi } from "../log-kit.ts";

const SMALL = {
  byHandOfConsumerMax: 3,
  byHandOfConsumerPerHour: 60,
  byHandOfAccountMax: 5,
  byHandOfAccountPerHour: 3600,
};
const limits = LIMITS as Record<keyof typeof LIMITS, { value: number }>;
const names = Object.keys(SMALL) as (keyof typeof SMALL)[];
const usual = names.map((name) => [name, limit(name)] as const);

const clock = new SetClock(Date.UTC(2026, 10, 29));
let api: Api;

beforeAll(async () => {
  for (const name of names) limits[name].value = SMALL[name];
  api = await startApi({}, clock);
  const anna = api.callers.get("annaManages") as Caller;
  api.callers.set("annaAgain", { ...anna, id: 90 });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  for (const [name, value] of usual) limits[name].value = value;
});

/** Attempts by hand as `ask` makes them until one is refused: how many were made, and that one. */
async function untilRefused(ask: () => Promise<Reply>): Promise<[number, Reply]> {
  for (let made = 0; made < 20; made++) {
    const reply = await ask();
    if (reply.status >= 300) return [made, reply];
  }
  throw new Error("none was refused");
}

test("tests and retries of a consumer's links have one room, and those of an account's keys another", async () => {
  const { publicId } = await api.endpoint({ url: api.receiver.url("anna"), consumerId: "anna" });
  const bert = await api.endpoint({ url: api.receiver.url("bert"), consumerId: "bert" });
  const event = await api.publish("invoice.paid", { consumer_id: "anna" });
  const [delivery] = await api.settled(event.id);
  const testOf = (id: string, token: string, headers = {}) =>
    api.call("POST", `/v1/endpoints/${id}/test`, {}, token, headers);
  const retry = (token: string) => api.call("POST", `/v1/deliveries/${delivery?.id}/retry`, {}, token);

  expect((await retry("annaManages")).status).toBe(202);
  await api.settled(event.id);
  const kept = { "idempotency-key": "kept" };
  expect((await testOf(publicId, "annaManages", kept)).status).toBe(200);
  const [made, refused] = await untilRefused(() => testOf(publicId, "annaAgain"));
  expect(made).toBe(1);
  expectProblem(refused, 429, "rate_limited");
  expectProblem(await retry("annaManages"), 429, "rate_limited");
  expect((await testOf(publicId, "annaManages", kept)).status).toBe(200);
  expect(api.receiver.requests("anna").length).toBe(4);

  // The links of an account share what is left of five; its keys have five of their own.
  expect((await untilRefused(() => testOf(bert.publicId, "bertManages")))[0]).toBe(2);
  expect((await untilRefused(() => testOf(publicId, "full")))[0]).toBe(5);

  clock.advance(1000 * Number(refused.headers.get("retry-after")));
  expect((await untilRefused(() => testOf(publicId, "annaManages")))[0]).toBe(1);
});

test("a replay of a test takes of it, one in bulk leaves tests out, and what is refused for another reason takes nothing", async () => {
  clock.advance(24 * 3_600_000);
  const { publicId } = await api.endpoint({ url: api.receiver.url("carl"), consumerId: "carl" });
  api.callers.set("carl", { ...(api.callers.get("annaManages") as Caller), id: 91, consumerId: "carl" });
  const unknown = () => api.call("POST", `/v1/deliveries/${nobody("msg")}/retry`, {}, "carl");
  for (let n = 0; n < 5; n++) expect((await unknown()).status).toBe(404);
  expect((await api.call("POST", `/v1/endpoints/${publicId}/test`, {}, "carl")).status).toBe(200);
  const bulk = { status: ["delivered"], dry_run: true };
  expect((await api.call("POST", "/v1/replays", bulk, "carl")).json).toMatchObject({ matched: 0 });
  const { data } = await api.get<{ data: { id: string }[] }>("/v1/events", "carl");
  const replay = () => api.call("POST", `/v1/events/${data[0]?.id}/replay`, {}, "carl");
  const [made, refused] = await untilRefused(replay);
  expect(made).toBe(2);
  expectProblem(refused, 429, "rate_limited");
});

test("in a test project every replay of a link takes of it, as nothing counts them there", async () => {
  clock.advance(24 * 3_600_000);
  const other = api.callers.get("other") as Caller;
  const dora = portalOf({ ...other, mode: "test" }, "dora");
  api.callers.set("dora", { ...dora, id: 92, manage: true });
  await api.endpoint({ url: api.receiver.url("dora"), consumerId: "dora" }, "other");
  for (let n = 0; n < 4; n++) await api.publish("a.b", { consumer_id: "dora" }, "other");
  const path = "/v1/deliveries?status=delivered";
  await api.until(async () => (await api.get<{ data: unknown[] }>(path, "other")).data.length === 4);
  const replay = () => api.call("POST", "/v1/replays", { status: ["delivered"] }, "dora");
  const first = await replay();
  expect([first.status, first.json]).toMatchObject([202, { matched: 4 }]);
  expectProblem(await replay(), 429, "rate_limited");
});
