/** Tests of an endpoint, and tries of destinations that are not stored yet: a few at once. */
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { unavailable } from "../../../src/core/errors.ts";
import { limit } from "../../../src/core/limits.ts";
import { type Api, expectRefusal, startApi } from "../log-kit.ts";

let api: Api;
let silent: Bun.Server<undefined>;
let asked: number;
let release: () => void;

beforeEach(async () => {
  api = await startApi();
  const held = Promise.withResolvers<void>();
  [asked, release] = [0, held.resolve];
  silent = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch() {
      asked++;
      await held.promise;
      return new Response();
    },
  });
});

afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await silent.stop(true);
});

test("a test above them is refused, and leaves no event", async () => {
  const { publicId } = await api.endpoint({ url: silent.url.href, maxConcurrency: 1 });
  const send = () => api.call("POST", `/v1/endpoints/${publicId}/test`, {});
  const open = [];
  for (let n = 0; n < limit("concurrencyDefault"); n++) {
    open.push(send());
    await lookUntil(() => asked === n + 1);
  }
  const refused = await send();
  expectRefusal(refused, 429, "rate_limited");
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await api.get<{ data: unknown[] }>("/v1/events")).data).toHaveLength(open.length);
  release();
  expect((await Promise.all(open)).map(({ status }) => status)).toEqual(open.map(() => 200));
  expect((await send()).status).toBe(200);
});

test("of tests that come together, those above them are refused before anything is written", async () => {
  const { publicId } = await api.endpoint({ url: silent.url.href });
  const synced = Promise.withResolvers<void>();
  api.diskWaitsFor = synced.promise;
  const few = limit("concurrencyDefault");
  const statuses: number[] = [];
  const sent = Array.from({ length: few + 15 }, async () => {
    statuses.push((await api.call("POST", `/v1/endpoints/${publicId}/test`, {})).status);
  });
  await lookUntil(() => statuses.length === 15);
  synced.resolve();
  await lookUntil(() => asked === few);
  release();
  await Promise.all(sent);
  expect(statuses).toEqual([...Array(15).fill(429), ...Array(few).fill(200)]);
  expect((await api.get<{ data: unknown[] }>("/v1/events")).data).toHaveLength(few);
  expect(asked).toBe(few);
});

test("a test that is not written leaves room for another", async () => {
  const { publicId } = await api.endpoint({ url: silent.url.href });
  release();
  const send = () => api.call("POST", `/v1/endpoints/${publicId}/test`, {});
  const write = spyOn(api.data.store, "writeFor");
  write.mockImplementation(() => Promise.reject(unavailable("The disk is full.")));
  for (let n = 0; n < limit("concurrencyDefault"); n++) expectRefusal(await send(), 503, "unavailable");
  write.mockRestore();
  expect((await send()).status).toBe(200);
});

test("whoever may not call any more does not get the answer of the test under way", async () => {
  const { publicId } = await api.endpoint({ url: silent.url.href, consumerId: "anna" });
  const sent = api.call("POST", `/v1/endpoints/${publicId}/test`, {}, "annaManages");
  await lookUntil(() => asked === 1);
  api.callers.delete("annaManages");
  release();
  expectRefusal(await sent, 401, "unauthenticated");
});

test("a try of a destination above them is refused; other callers have their own", async () => {
  const create = (token = "full") =>
    api.call("POST", "/v1/endpoints?verify=true", { url: silent.url.href }, token);
  api.callers.set("otherKey", { ...required(api.callers.get("full")), id: 99 });
  const open = [];
  for (let n = 0; n < limit("trialsAtOnceMax"); n++) open.push(create());
  await lookUntil(() => asked === open.length);
  expectRefusal(await create(), 429, "rate_limited");
  const other = create("otherKey");
  await lookUntil(() => asked === open.length + 1);
  release();
  const statuses = (await Promise.all([...open, other])).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([201]));
  expect((await create()).status).toBe(201);
});

/** What is asked for arrives over a socket. */
async function lookUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(1);
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("it is missing");
  return value;
}
