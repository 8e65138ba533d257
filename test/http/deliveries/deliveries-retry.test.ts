/** A retry by hand, and the disk that has to have what came before it. */
import { expect, test } from "bun:test";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import type { AttemptAnswer } from "../../../src/http/deliveries/attempt-shape.ts";
import { recoverIndex } from "../../../src/store/index/recovery.ts";
import { expectRefusal, type Page, startApi } from "../log-kit.ts";

test("a retry by hand is made for whoever saw the last one end, once the disk has that", async () => {
  await using slow = await startApi();
  const disk = Promise.withResolvers<void>();
  const url = slow.receiver.at("seen", async () => {
    // So that nothing but the outcome is left to be written.
    await slow.data.index.writeDown();
    slow.diskWaitsFor = disk.promise;
    return new Response(null, { status: 500 });
  });
  await slow.endpoint({ url, eventTypes: ["seen"] });
  await slow.publish("seen");
  const [delivery] = await slow.until(async () => {
    const { data } = await slow.get<Page<DeliveryAnswer>>("/v1/deliveries?status=dead");
    return data.length > 0 && data;
  });
  const retried = slow.call("POST", `/v1/deliveries/${delivery?.id}/retry`);
  // Whatever the retry does without the disk, it has done by the answers to these.
  for (let nth = 0; nth < 5; nth++) await slow.get(`/v1/deliveries/${delivery?.id}`);
  const before = slow.receiver.requests("seen").length;
  disk.resolve();
  expect([before, (await retried).status]).toEqual([1, 202]);
  await slow.receiver.arrived("seen", 2);
});

test("a retry by hand does not wait for a full disk to have the last one", async () => {
  await using full = await startApi();
  const { sqlite } = full.data.store;
  const url = full.receiver.at("filling", (_, nth) => {
    if (nth > 1) return new Response(null, { status: 204 });
    const { page_count: pages } = sqlite.query<{ page_count: number }, []>("PRAGMA page_count").get() ?? {};
    sqlite.run(`PRAGMA max_page_count = ${pages}`);
    return new Response("x".repeat(16 * 1024), { status: 500 });
  });
  await full.endpoint({ url, eventTypes: ["filling"] });
  const isFull = new Promise<void>((resolve) => full.data.store.onFull(resolve));
  const { id } = await full.publish("filling");
  await isFull;
  await full.until(async () => !full.data.store.writable);
  const [delivery] = (await full.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${id}`)).data;
  const path = `/v1/deliveries/${delivery?.id}/retry`;
  const recovered = new Promise<void>((resolve) => full.data.store.onWritable(resolve));
  const refused = await full.call("POST", path);
  sqlite.run("PRAGMA max_page_count = 1000000");
  expectRefusal(refused, 503, "unavailable");
  await recovered;
  await full.settled(id, ["dead"]);
  expect((await full.call("POST", path)).status).toBe(202);
  await full.receiver.arrived("filling", 2);
});

test("a retry by hand is not begun while the service stops", async () => {
  await using stopping = await startApi();
  await stopping.endpoint({ url: stopping.receiver.url("stopping"), eventTypes: ["stopping"] });
  const [delivery] = await stopping.settled((await stopping.publish("stopping")).id);
  await stopping.services.actors.stop();
  const reply = await stopping.call("POST", `/v1/deliveries/${delivery?.id}/retry`);
  expectRefusal(reply, 503, "unavailable");
  expect(stopping.receiver.requests("stopping")).toHaveLength(1);
});

test("a retry by hand is not begun while its outcome could not be written", async () => {
  await using full = await startApi();
  await full.endpoint({ url: full.receiver.url("full"), eventTypes: ["full"] });
  const { id } = await full.publish("full");
  const [delivery] = await full.settled(id);
  await full.data.store.close();
  const reply = await full.call("POST", `/v1/deliveries/${delivery?.id}/retry`);
  expectRefusal(reply, 503, "unavailable");
  expect(full.receiver.requests("full")).toHaveLength(1);
});

test("a retry by hand of what has arrived counts it once, before and after a crash", async () => {
  await using api = await startApi();
  const { publicId } = await api.endpoint({ url: api.receiver.url("again"), eventTypes: ["again"] });
  const [delivery] = await api.settled((await api.publish("again")).id, ["delivered"]);
  for (let times = 0; times < 2; times++) await api.call("POST", `/v1/deliveries/${delivery?.id}/retry`);
  const total = async () =>
    (await api.get<{ total: Record<string, number> }>(`/v1/endpoints/${publicId}/stats`)).total;
  expect(await total()).toMatchObject({ delivered: 1, failed: 0 });
  // What a process would gather that begins now with nothing written down.
  const { sqlite } = api.data.store;
  await api.data.index.settle();
  sqlite.run("DELETE FROM meta WHERE name = 'indexed'");
  for (const table of ["stat", "project_stat", "entry"]) sqlite.run(`DELETE FROM ${table}`);
  await recoverIndex(api.data);
  expect(await total()).toMatchObject({ delivered: 1, failed: 0 });
});

test("attempts that send the same keep it once, and each of them shows it", async () => {
  await using api = await startApi();
  const url = api.receiver.at("same", () => new Response(null, { status: 500 }));
  const set = (value: number) => [{ op: "set", path: "data.n", value }];
  const endpoint = await api.endpoint({ url, eventTypes: ["same"], transformations: set(1) });
  const text = "x".repeat(100_000);
  const { id } = await api.publish("same", { data: { text } });
  const [delivery] = await api.settled(id, ["dead"]);
  const attempts = async () =>
    (await api.get<Page<AttemptAnswer>>(`/v1/deliveries/${delivery?.id}/attempts`)).data.toReversed();
  const retry = async () => {
    const before = (await attempts()).length;
    expect((await api.call("POST", `/v1/deliveries/${delivery?.id}/retry`)).status).toBe(202);
    while ((await attempts()).length === before) await Bun.sleep(1);
  };
  const kept = () =>
    api.data.store.sqlite
      .query<{ bytes: number }, []>("SELECT total(octet_length(request_body)) AS bytes FROM attempt")
      .get()?.bytes ?? 0;
  for (let times = 0; times < 5; times++) await retry();
  expect(kept()).toBeLessThan(101_000);
  await api.data.endpoints.change(endpoint.id, () => ({ transformations: set(2) }));
  await retry();
  await api.data.endpoints.change(endpoint.id, () => ({ transformations: null }));
  await retry();
  await api.data.endpoints.change(endpoint.id, () => ({ transformations: set(2) }));
  await retry();
  await retry();
  const sent = (await attempts()).map((attempt) => {
    const { data } = JSON.parse(attempt.request_body ?? "null") as { data: { text: string; n?: number } };
    return data.text === text && (data.n ?? "plain");
  });
  expect(sent).toEqual([1, 1, 1, 1, 1, 1, 2, "plain", 2, 2]);
  expect(kept()).toBeLessThan(303_000);
});

test("a delivery with very many attempts gets no more by hand", async () => {
  const { value } = LIMITS.attemptsByHandMax;
  await using api = await startApi();
  const url = api.receiver.at("many", () => new Response(null, { status: 500 }));
  await api.endpoint({ url, eventTypes: ["many"] });
  const [delivery] = await api.settled((await api.publish("many")).id, ["dead"]);
  const path = `/v1/deliveries/${delivery?.id}/retry`;
  try {
    (LIMITS.attemptsByHandMax as { value: number }).value = 2;
    expect((await api.call("POST", path)).status).toBe(202);
    await api.receiver.arrived("many", 2);
    while ((await api.get<DeliveryAnswer>(`/v1/deliveries/${delivery?.id}`)).attempt_count < 2)
      await Bun.sleep(1);
    expectRefusal(await api.call("POST", path), 409, "conflict");
  } finally {
    (LIMITS.attemptsByHandMax as { value: number }).value = value;
  }
  expect(api.receiver.requests("many")).toHaveLength(2);
});
