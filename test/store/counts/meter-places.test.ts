/** Places of a plan that belong to deliveries which are still to be written (src/store/counts/meter.ts). */
import { beforeAll, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Delivery, Project } from "../../../src/core/model.ts";
import type { Fanout } from "../../../src/store/log/fanouts.ts";
import { apiForFile } from "../../http/log-kit.ts";
import { openTestData } from "../../kit/data.ts";

const FREE = 10_000;

const api = apiForFile();
let project: Project;

beforeAll(async () => {
  const { id } = await api.data.tenants.createAccount({ name: "a", plan: "free" });
  project = await api.data.tenants.createProject(id, "live", "live");
});

/** Inside a write: an event whose deliveries to five endpoints follow. */
function insertWide(isWaiting: boolean): Fanout {
  const { store, events, waitingEvents, fanouts } = api.data;
  const id = store.takeKey(6);
  const base = { id, projectId: project.id, type: "wide", timestamp: 0, consumerId: null, externalId: null };
  const rest = { sourceId: 1, isTest: false, hops: 0, trace: null, deliveryCount: 5, data: "{}" };
  events.insert({ ...base, ...rest });
  if (isWaiting) waitingEvents.insert(project.id, id);
  const list = { id, endpoints: [1, 2, 3, 4, 5], ordered: 0, asOf: null };
  fanouts.insertList(list);
  return fanouts.insert(project.id, id, id + 1, list);
}

const remaining = () => api.data.meter.remaining(project.id);

test("are taken with the event, and given up as the deliveries take them", async () => {
  const { store, fanouts } = api.data;
  const fanout = await store.write(() => insertWide(false));
  expect([remaining(), fanouts.count()]).toEqual([FREE - 5, 1]);
  await store.write(() => fanouts.advance(fanout, 0, 2));
  expect([remaining(), fanouts.count()]).toEqual([FREE - 3, 1]);
  await store.write(() => fanouts.advance(fanout, 2, 5));
  expect([remaining(), fanouts.count()]).toEqual([FREE, 0]);
});

test("of an event that waits for the plan are taken once it waits no longer", async () => {
  const { store, fanouts, waitingEvents } = api.data;
  const fanout = await store.write(() => insertWide(true));
  await store.write(() => fanouts.advance(fanout, 0, 2));
  expect([remaining(), api.data.meter.waitingEvents(project.id)]).toEqual([FREE, 1]);
  await store.write(() => waitingEvents.delete(project.accountId, fanout.eventId));
  expect([remaining(), api.data.meter.waitingEvents(project.id)]).toEqual([FREE - 3, 0]);
  await store.write(() => fanouts.advance(fanout, 2, 5));
  expect(remaining()).toBe(FREE);
});

test("are not taken by a transaction that comes to nothing", async () => {
  const broken = api.data.store.write(() => {
    insertWide(false);
    throw new Error("no");
  });
  expect(broken).rejects.toThrow("no");
  await broken.catch(() => {});
  expect(remaining()).toBe(FREE);
});

test("a first attempt under way keeps a place when its delivery is cancelled, and gives it back once it ends", async () => {
  await using it = await openTestData();
  const { store, deliveries, meter } = it.data;
  const left = () => meter.remaining(it.project.id);
  const id = await store.write(() => it.insertDelivery(it.insertEvent(), 1));
  meter.beginFirst(deliveries.get(id) as Delivery);
  expect(left()).toBe(FREE - 1);
  const broken = store.write(() => {
    deliveries.cancel(id);
    throw new Error("no");
  });
  expect(broken).rejects.toThrow("no");
  await broken.catch(() => {});
  await store.write(() => deliveries.cancel(id));
  expect(left()).toBe(FREE - 1);
  meter.endFirst(id);
  expect(left()).toBe(FREE);
});

test("a first attempt that begins before its cancel is on disk has a place all the same", async () => {
  await using it = await openTestData();
  const { store, deliveries, meter } = it.data;
  const left = () => meter.remaining(it.project.id);
  const id = await store.write(() => it.insertDelivery(it.insertEvent(), 1));
  const before = deliveries.get(id) as Delivery;
  const cancelled = store.write(() => deliveries.cancel(id));
  while (deliveries.get(id)?.status !== "cancelled") await nextTurn();
  meter.beginFirst(before);
  expect(left()).toBe(FREE - 1);
  await cancelled;
  expect(left()).toBe(FREE - 1);
  meter.endFirst(id);
  expect(left()).toBe(FREE);
});

test("first attempts that begin before their cancels are on disk have places, also where writes go one by one", async () => {
  await using it = await openTestData();
  const { store, deliveries, meter } = it.data;
  const insert = () => store.write(() => it.insertDelivery(it.insertEvent(), 1));
  const ids = [await insert(), await insert()];
  const before = ids.map((id) => deliveries.get(id) as Delivery);
  const broken = store.write(() => {
    throw new Error("no");
  });
  broken.catch(() => {});
  const [first = 0, second = 0] = ids;
  // Opened again and cancelled at once: its actor has it as it was before both.
  const ends = [
    store.write(() => deliveries.cancel(first)),
    store.write(() => deliveries.reopen(second, "replay", 0, null)),
    store.write(() => deliveries.cancel(second)),
  ];
  while (deliveries.get(second)?.status !== "cancelled") await nextTurn();
  for (const delivery of before) meter.beginFirst(delivery);
  expect(meter.remaining(it.project.id)).toBe(FREE - 2);
  await Promise.all(ends);
  for (const id of ids) meter.endFirst(id);
  expect(meter.remaining(it.project.id)).toBe(FREE);
});

test("a delivery that is opened anew while its first attempt is under way has two, whatever is opened again", async () => {
  await using it = await openTestData();
  const { store, deliveries, meter } = it.data;
  const id = await store.write(() => it.insertDelivery(it.insertEvent(), 1));
  meter.beginFirst(deliveries.get(id) as Delivery);
  await store.write(() => {
    deliveries.reopen(id, "replay", 0, null);
    deliveries.reopen(id, "replay", 0, null);
  });
  await store.write(() => deliveries.reopen(id, "replay", 0, null));
  expect(meter.remaining(it.project.id)).toBe(FREE - 2);
  meter.endFirst(id);
  expect(meter.remaining(it.project.id)).toBe(FREE - 1);
});
