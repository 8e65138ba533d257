/** How many endpoints there may be, and how much their settings may weigh, as all stand in memory. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { type EndpointBench, expectFault, startBench } from "./kit.ts";

const names = [
  "endpointsPerProjectMax",
  "endpointsOfProjectBytesMax",
  "endpointsOfConsumerBytesMax",
] as const;
const usual = names.map((name) => LIMITS[name].value);
const setLimit = (name: (typeof names)[number], value: number) =>
  ((LIMITS[name] as { value: number }).value = value);

let bench: EndpointBench;
beforeAll(async () => {
  bench = await startBench();
});
afterEach(() => names.forEach((name, at) => setLimit(name, usual[at] ?? 0)));
afterAll(() => bench[Symbol.asyncDispose]());

const post = (fields: object) => bench.app.live.post("/v1/endpoints", { url: bench.fresh().url, ...fields });
const setting = (bytes: number) => [{ op: "set", path: "data.v", value: "x".repeat(bytes) }];

test("transformations have at most 64 KiB, in a preview too", async () => {
  const room = LIMITS.transformationsBytesMax.value - JSON.stringify(setting(0)).length;
  expect((await post({ transformations: setting(room) })).status).toBe(201);
  expectFault(await post({ transformations: setting(room + 1) }), "/transformations");
  const preview = { event: { type: "a", data: {} }, transformations: setting(room + 1) };
  expectFault(await bench.app.live.post("/v1/endpoints/preview", preview), "/transformations");
});

test("a project has a bounded number of its own endpoints, and room again once one is gone", async () => {
  const { id } = await bench.create({ url: bench.fresh().url });
  const { data } = (await bench.app.live.get("/v1/endpoints?limit=250")).json as unknown as {
    data: unknown[];
  };
  setLimit("endpointsPerProjectMax", data.length);
  const refused = await post({});
  expectFault(refused, "");
  expect(refused.json.errors?.[0]?.detail).toBe(`A project has at most ${data.length} endpoints.`);
  expectFault(await post({ consumer_id: "anna" }), "");
  await bench.app.live.delete(`/v1/endpoints/${id}`);
  expect((await post({})).status).toBe(201);
});

test("its endpoints weigh a bounded sum: a heavier one is refused, a change to a lighter one is not", async () => {
  const { id } = await bench.create({ url: bench.fresh().url, transformations: setting(50_000) });
  setLimit("endpointsOfProjectBytesMax", 120_000);
  expectFault(await post({ transformations: setting(60_000) }), "");
  expect((await post({})).status).toBe(201);
  const change = (fields: object) => bench.app.live.patch(`/v1/endpoints/${id}`, fields);
  const manyParts = [{ op: "set", path: "data.v", value: Array.from({ length: 3000 }, () => 1) }];
  expectFault(await change({ transformations: manyParts }), "");
  expect((await change({ transformations: setting(40_000) })).status).toBe(200);
  expect((await change({ description: "a little heavier" })).status).toBe(200);
});

test("headers count three times, as attempts keep them in other forms too", async () => {
  setLimit("endpointsOfProjectBytesMax", 260_000);
  const headers = (count: number) => ({
    headers: Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, "a".repeat(4000)])),
  });
  expectFault(await post(headers(16)), "");
  expect((await post(headers(10))).status).toBe(201);
});

test("a consumer has a share of that", async () => {
  setLimit("endpointsOfConsumerBytesMax", 60_000);
  const heavy = { transformations: setting(50_000) };
  expect((await post({ ...heavy, consumer_id: "bert" })).status).toBe(201);
  expectFault(await post({ ...heavy, consumer_id: "bert" }), "");
  const { json } = await post({ ...heavy, consumer_id: "carl" });
  // One that is given to a consumer weighs there as a new one does.
  const give = (to: string | null) =>
    bench.app.live.patch(`/v1/endpoints/${String(json["id"])}`, { consumer_id: to });
  expectFault(await give("bert"), "");
  expect((await give("dora")).status).toBe(200);
  expect((await give(null)).status).toBe(200);
});

test("each event type weighs what its place in the routes takes", async () => {
  setLimit("endpointsOfConsumerBytesMax", 50_000);
  const types = (count: number) => Array.from({ length: count }, (_, n) => `t${n}.x`);
  expectFault(await post({ consumer_id: "emil", event_types: types(100) }), "");
  expect((await post({ consumer_id: "emil", event_types: types(80) })).status).toBe(201);
});
