/** Bodies of requests that wait: one consumer's links leave room to their account, whatever they wait for. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { type Api, startApi } from "../log-kit.ts";

const names = [
  "bodiesInFlightBytesMax",
  "accountBodiesBytesMax",
  "guestBodiesBytesMax",
  "longWorksAtOnceMax",
] as const;
const usual = names.map((name) => LIMITS[name].value);
const setLimits = (values: readonly number[]) =>
  names.forEach((name, at) => ((LIMITS[name] as { value: number }).value = values[at] ?? 0));

const LARGE = 240_000;

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(async () => {
  setLimits(usual);
  await api[Symbol.asyncDispose]();
});

/** Sends a padded body many times, by two links of a consumer; resolves with the statuses once some came. */
function sendPadded(path: string, fields: Record<string, unknown>, answers: number) {
  const left = new AbortController();
  const body = JSON.stringify(fields).padEnd(LARGE);
  const statuses: number[] = [];
  const { promise: came, resolve } = Promise.withResolvers<void>();
  const sent = Array.from({ length: 12 }, async (_, n) => {
    const token = n % 2 === 0 ? "annaManages" : "annaAlso";
    const { status } = await api.handle("POST", path, body, token, {}, left.signal);
    if (statuses.push(status) === answers) resolve();
  });
  return { statuses, came, leave: () => left.abort(), all: Promise.all(sent) };
}

async function publishLarge(token: string, length = LARGE): Promise<number> {
  const body = { type: "own", data: { pad: "x".repeat(length) } };
  return (await api.call("POST", "/v1/events", body, token)).status;
}

beforeEach(() => {
  const manages = api.callers.get("annaManages");
  if (manages) api.callers.set("annaAlso", { ...manages, id: 17 });
});

test("what a consumer's links wait for with it takes no more of the account's room than it leaves free", async () => {
  const { promise: answer, resolve: answerAll } = Promise.withResolvers<void>();
  const url = api.receiver.at("hangs", () => answer.then(() => new Response()));
  const endpoint = await api.endpoint({ url, consumerId: "anna" });
  setLimits([4_000_000, 2_000_000, 2_000_000, usual[3] ?? 0]);
  const path = `/v1/endpoints/${endpoint.publicId}/test`;
  const { statuses, came, all } = sendPadded(path, { type: "own" }, 8);
  await came;
  expect(statuses).toEqual(statuses.map(() => 503));
  expect(await Promise.all([publishLarge("full"), publishLarge("publish", 500_000)])).toEqual([202, 202]);
  expect(statuses).toHaveLength(8);
  answerAll();
  await all;
  expect(statuses.slice(8)).toEqual([200, 200, 200, 200]);
});

test("a body that waits for the place of a long work makes room, the newest of whoever has the most", async () => {
  setLimits([4_000_000, 2_000_000, 2_000_000, 0]);
  const { statuses, came, leave, all } = sendPadded("/v1/endpoints/preview", { last: 1 }, 4);
  await came;
  expect(statuses).toEqual([503, 503, 503, 503]);
  expect(await Promise.all([publishLarge("full"), publishLarge("publish", 500_000)])).toEqual([202, 202]);
  expect(statuses.slice(4)).toEqual(statuses.slice(4).map(() => 503));
  expect(statuses.length).toBeWithin(5, 9);
  leave();
  await all;
});
