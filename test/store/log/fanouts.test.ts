import { expect, test } from "bun:test";
import { openTestData, type TestData } from "../../kit/data.ts";

const ENDPOINTS = [1, 2, 3, 4, 5];

/** Inside a write. */
function insert(it: TestData, endpoints = ENDPOINTS) {
  const event = it.insertEvent(endpoints.length);
  return it.data.fanouts.insert(it.project.id, event, event + 1, endpoints, 2);
}

test("what a crash cut short is found again, oldest first, from where it stood", async () => {
  await using it = await openTestData();
  const [first, second] = await it.data.store.write(() => [insert(it), insert(it, [7, 8])] as const);
  await it.data.store.write(() => it.data.fanouts.advance(first, 0, 3));
  await it.reopen();
  const found = it.data.fanouts.unfinished((id) => id <= 2);
  expect(found).toEqual([
    { ...first, written: 3 },
    { ...second, ordered: 0 },
  ]);
  expect(it.data.fanouts.unfinished(() => true).map(({ ordered }) => ordered)).toEqual([5, 2]);
});

test("keys that are set aside for it are nobody else's after a restart", async () => {
  await using it = await openTestData();
  const { firstKey } = await it.data.store.write(() => insert(it));
  await it.reopen();
  expect(await it.data.store.write(() => it.data.store.takeKey())).toBeGreaterThan(firstKey + 4);
});

test("names its endpoints, and waits in its project, until the last is written", async () => {
  await using it = await openTestData();
  const { store, fanouts } = it.data;
  const fanout = await store.write(() => insert(it));
  const state = () => [fanouts.names(fanout.eventId, 5), fanouts.isPending(it.project.id), fanouts.count()];
  expect([state(), fanouts.names(fanout.eventId, 6)]).toEqual([[true, true, 1], false]);
  await store.write(() => fanouts.advance(fanout, 0, 4));
  expect(state()).toEqual([true, true, 1]);
  await store.write(() => fanouts.advance(fanout, 4, 5));
  expect(state()).toEqual([false, false, 0]);
});

test("once called off no slice of it is written, and its event counts what was", async () => {
  await using it = await openTestData();
  const { store, fanouts, events, meter } = it.data;
  const before = meter.remaining(it.project.id) ?? 0;
  const fanout = await store.write(() => insert(it));
  await store.write(() => fanouts.advance(fanout, 0, 2));
  await store.write(() => fanouts.callOff(it.project.id, fanout.eventId));
  expect(events.get(fanout.eventId)?.deliveryCount).toBe(2);
  expect(await store.write(() => fanouts.advance(fanout, 2, 5))).toBe(false);
  await store.write(() => fanouts.callOff(it.project.id, fanout.eventId));
  expect([events.get(fanout.eventId)?.deliveryCount, meter.remaining(it.project.id)]).toEqual([2, before]);
});
