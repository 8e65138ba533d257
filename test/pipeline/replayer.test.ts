/** A bulk replay at its edges: what its walk meets, and a database that refuses it. */
import { expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../../src/core/limits.ts";
import { replayOne } from "../../src/pipeline/replay.ts";
import { DeliveryList } from "../../src/store/log/delivery-list.ts";
import type { Store } from "../../src/store/store.ts";
import { everyOne, type ReplayFilter } from "../../src/store/log/replays.ts";
import { startApi } from "../http/log-kit.ts";
import { startApp } from "../kit/app.ts";
import { change, isDisabled } from "../kit/broken-rows.ts";
import { startReceiver } from "../kit/receiver.ts";

type Made = { id: string };

test("a replay that cannot be written is told of, and the service goes on", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const url = receiver.at("replayed", () => new Response(null, { status: 410 }));
  const { id } = await app.live.create<Made>("/v1/endpoints", { url });
  await app.live.post("/v1/events", { type: "a.b", data: {} });
  await app.until(() => isDisabled(app, id));
  receiver.at("replayed", () => new Response(null, { status: 204 }));
  await app.live.post(`/v1/endpoints/${id}/enable`);
  change(
    app,
    `CREATE TRIGGER refusal BEFORE UPDATE OF generation ON delivery
     BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`,
  );
  await app.live.post("/v1/replays", { status: ["dead"] });
  await app.until(async () => {
    const { status } = await app.live.get("/healthz");
    return status === 200 && app.log().includes("replay failed");
  });
  change(app, "DROP TRIGGER refusal");
  await app.stop();
  await app.start();
  await receiver.arrived("replayed", 2);
});

const DEAD = everyOne(["dead"]);

/** Resolves once the disk was full, and takes writes again. */
async function fillAndFree(store: Store): Promise<void> {
  const freed = new Promise<void>((resolve) => store.onWritable(resolve));
  const { page_count: pages } =
    store.sqlite.query<{ page_count: number }, []>("PRAGMA page_count").get() ?? {};
  store.sqlite.run(`PRAGMA max_page_count = ${pages}`);
  const refused = store.write(() => store.sqlite.run("CREATE TABLE large AS SELECT zeroblob(1000000)"));
  await expect(refused).rejects.toMatchObject({ code: "unavailable" });
  store.sqlite.run("PRAGMA max_page_count = 1000000");
  await freed;
}

test("a job takes what lies above its position and up to its last, once, also where it is taken up twice", async () => {
  await using api = await startApi();
  const { store, deliveries, replays } = api.data;
  const url = api.receiver.at("walked", (_, nth) => new Response(null, { status: nth > 4 ? 204 : 500 }));
  const { projectId } = await api.endpoint({ url, eventTypes: ["walked"] });
  const fail = async () => api.settled((await api.publish("walked")).id, ["dead"]);
  for (let n = 0; n < 3; n++) await fail();
  const last = store.latestKey;
  await fail();
  const ids = store.sqlite.query<{ id: number }, []>("SELECT id FROM delivery ORDER BY id").all();
  const position = ids[0]?.id ?? 0;
  const job = { projectId, consumerId: null, filter: DEAD, matched: 2, position, last };
  const replay = await store.write(() => replays.insert(job));
  api.services.replayer.run(replay);
  api.services.replayer.recover();
  await api.until(async () => replays.get(replay.id)?.status === "completed");
  await api.receiver.arrived("walked", 6);
  const statuses = () => ids.map(({ id }) => deliveries.get(id)?.status).join(" ");
  await api.until(async () => !statuses().includes("pending"));
  expect(statuses()).toBe("dead delivered delivered dead");
  expect([replays.get(replay.id)?.replayed, api.receiver.requests("walked").length]).toEqual([2, 6]);
});

test("a job that is stopped, or is over, is not taken up again", async () => {
  await using api = await startApi();
  const { store, replays } = api.data;
  const { projectId } = await api.endpoint({ url: api.receiver.url("stopped"), eventTypes: ["stopped"] });
  const filter = everyOne(["delivered"]);
  await api.settled((await api.publish("stopped")).id);
  const job = { projectId, consumerId: null, filter, matched: 1, position: 0, last: store.keys.last };
  const replay = await store.write(() => {
    const made = replays.insert(job);
    replays.update(made.id, { status: "cancelled" });
    return made;
  });
  api.services.replayer.recover();
  // Whoever held it still, before it was stopped, writes nothing either.
  api.services.replayer.run(replay);
  await api.settled((await api.publish("stopped")).id);
  expect(replays.get(replay.id)).toMatchObject({ status: "cancelled", replayed: 0 });
  expect(api.receiver.requests("stopped")).toHaveLength(2);
});

test("however many jobs a project has, one slice of them waits for the disk", async () => {
  await using api = await startApi();
  const { store, replays } = api.data;
  const url = api.receiver.at("many", () => new Response(null, { status: 500 }));
  const { projectId } = await api.endpoint({ url, eventTypes: ["many"] });
  await api.settled((await api.publish("many")).id, ["dead"]);
  const job = { projectId, consumerId: null, filter: DEAD, matched: 1, position: 0, last: store.latestKey };
  const jobs = await store.write(() => Array.from({ length: 8 }, () => replays.insert(job)));
  const disk = Promise.withResolvers<void>();
  api.diskWaitsFor = disk.promise;
  const writes = spyOn(store, "write");
  for (const one of jobs) api.services.replayer.run(one);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  const waiting = writes.mock.calls.length;
  disk.resolve();
  expect(waiting).toBe(1);
  await api.until(async () => jobs.every(({ id }) => replays.get(id)?.status === "completed"));
  expect(jobs.map(({ id }) => replays.get(id)?.replayed)).toEqual([1, 0, 0, 0, 0, 0, 0, 0]);
});

test("a disk that takes writes again in the middle of a start begins no job", async () => {
  await using api = await startApi();
  const { store, replays } = api.data;
  const url = api.receiver.at("early", (_, nth) => new Response(null, { status: nth > 1 ? 204 : 500 }));
  const { projectId } = await api.endpoint({ url, eventTypes: ["early"] });
  await api.settled((await api.publish("early")).id, ["dead"]);
  const job = { projectId, consumerId: null, filter: DEAD, matched: 1, position: 0, last: store.latestKey };
  const { id } = await store.write(() => replays.insert(job));
  await fillAndFree(store);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect([replays.get(id)?.status, api.receiver.requests("early").length]).toEqual(["running", 1]);
  api.services.replayer.recover();
  await api.until(async () => replays.get(id)?.status === "completed");
  await api.receiver.arrived("early", 2);
});

test("a job that a full disk has stopped goes on once it takes writes again", async () => {
  await using api = await startApi();
  const { store, replays } = api.data;
  const url = api.receiver.at("later", (_, nth) => new Response(null, { status: nth > 1 ? 204 : 500 }));
  const { projectId } = await api.endpoint({ url, eventTypes: ["later"] });
  await api.settled((await api.publish("later")).id, ["dead"]);
  api.services.replayer.recover();
  const job = { projectId, consumerId: null, filter: DEAD, matched: 1, position: 0, last: store.latestKey };
  const { id } = await store.write(() => replays.insert(job));
  await fillAndFree(store);
  await api.until(async () => replays.get(id)?.status === "completed");
  await api.receiver.arrived("later", 2);
});

/** What the endpoint would get of these types, and has not got. */
const missedBy = (endpointId: number, eventTypes: string[]) => ({
  ...everyOne(["dead"]),
  missing: true,
  endpointId,
  eventTypes,
});

test("what a consumer's replay counts reads nothing of the dead, and of the events, of others", async () => {
  await using api = await startApi();
  const url = api.receiver.at("others", () => new Response(null, { status: 500 }));
  const { projectId } = await api.endpoint({ url, eventTypes: ["others"], consumerId: "bert" });
  const anna = await api.endpoint({ url, eventTypes: ["others"], consumerId: "anna" });
  for (const consumerId of ["bert", "bert", "anna"])
    await api.settled((await api.publish("others", { consumer_id: consumerId })).id, ["dead"]);
  const { data, services } = api;
  const scope = { projectId, visible: new Set([anna.id]) };
  const read = spyOn(data.events, "get");
  const looked = spyOn(DeliveryList.prototype, "getIf");
  const count = (filter: ReplayFilter) =>
    services.replayer.count(scope, filter, data.store.turns.of("counts", null));
  expect((await count({ ...DEAD, consumerId: "anna" })).matched).toBe(1);
  expect((await count(DEAD)).matched).toBe(1);
  expect(looked).toHaveBeenCalledTimes(2);
  read.mockClear();
  expect((await count(missedBy(anna.id, ["others"]))).matched).toBe(0);
  expect(read).toHaveBeenCalledTimes(1);
  looked.mockRestore();
  read.mockRestore();
});

test("others have their turn before each look for what is missing, and within the deliveries of a wide event", async () => {
  const usual = LIMITS.listLimitMax.value;
  await using api = await startApi();
  const had = await api.endpoint({
    url: api.receiver.url("had"),
    eventTypes: ["looked.at"],
    status: "paused",
  });
  for (let n = 0; n < 29; n++)
    await api.endpoint({ url: api.receiver.url("had"), eventTypes: ["looked.at"], status: "paused" });
  for (let n = 0; n < 4; n++) await api.publish("looked.at");
  const later = await api.endpoint({ url: api.receiver.url("later"), eventTypes: ["looked.at"] });
  const { store } = api.data;
  (LIMITS.listLimitMax as { value: number }).value = 10;
  try {
    const asked: [matched: number, turns: number][] = [];
    for (const { id, projectId } of [had, later]) {
      const turns = store.turns.of("looks", null);
      const given = spyOn(turns, "giveWay");
      const filter = missedBy(id, ["looked.at"]);
      const { matched } = await api.services.replayer.count({ projectId, visible: null }, filter, turns);
      asked.push([matched, given.mock.calls.length]);
    }
    const [[none, few], [all, many]] = asked as [[number, number], [number, number]];
    expect([none, all]).toEqual([0, 4]);
    // Of each event, and where none is found, of each ten of its thirty deliveries.
    expect([few >= 4, many >= 4 * 3]).toEqual([true, true]);
  } finally {
    (LIMITS.listLimitMax as { value: number }).value = usual;
  }
});

test("what is replayed by hand between the look of a job and its write is not made twice", async () => {
  await using api = await startApi();
  const { store, deliveries, events, replays } = api.data;
  const { id: publicId } = await api.publish("by.hand");
  const endpoint = await api.endpoint({ url: api.receiver.url("hand"), eventTypes: ["by.hand"] });
  const { projectId } = endpoint;
  const event = events.get(api.data.ids.decode("evt", publicId) ?? 0);
  if (!event) throw new Error("the event is not there");
  const filter = missedBy(endpoint.id, ["by.hand"]);
  const job = { projectId, consumerId: null, filter, matched: 1, position: 0, last: store.latestKey };
  const replay = await store.write(() => replays.insert(job));
  const disk = Promise.withResolvers<void>();
  api.diskWaitsFor = disk.promise;
  const before = store.write(() => null);
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  const byHand = store.write(() =>
    replayOne(api.data, api.services.actors.clock, event, endpoint, null, new Set()),
  );
  const writes = spyOn(store, "write");
  api.services.replayer.run(replay);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  const asked = writes.mock.calls.length;
  disk.resolve();
  await Promise.all([before, byHand]);
  await api.until(async () => replays.get(replay.id)?.status === "completed");
  expect([asked, replays.get(replay.id)?.replayed, events.get(event.id)?.deliveryCount]).toEqual([1, 0, 1]);
  expect(deliveries.findOf(event.id, endpoint.id)).not.toBeNull();
});

test("jobs that are taken up read their lists one in a turn, and no more once they walk", async () => {
  await using api = await startApi();
  const { store, replays } = api.data;
  const filter = { ...DEAD, event: { id: 9, isTest: false } };
  const keys = Array.from({ length: 10_000 }, (_, at) => 1_000_000 + at);
  const list = { endpoints: keys, deliveries: keys };
  const job = { projectId: 1, consumerId: null, filter, list, matched: 10_000, position: 0, last: 0 };
  await store.write(() => Array.from({ length: 3 }, () => replays.insert(job)));
  const disk = Promise.withResolvers<void>();
  api.diskWaitsFor = disk.promise;
  const lists = spyOn(replays, "listOf");
  const read: number[] = [];
  for (let time = 0; time < 2; time++) {
    api.services.replayer.recover();
    for (let turn = 0; turn < 20; turn++) {
      read.push(lists.mock.calls.length);
      await nextTurn();
    }
  }
  disk.resolve();
  const inOneTurn = read.map((count, at) => count - (read[at - 1] ?? 0));
  expect([read[0], Math.max(...inOneTurn), read[19], read.at(-1)]).toEqual([0, 1, 3, 3]);
  await api.until(async () => replays.countRunning() === 0);
});
