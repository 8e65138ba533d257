import { expect, spyOn, test } from "bun:test";
import type { Fanout, FanoutList } from "../../../src/store/log/fanouts.ts";
import { openTestData, type TestData } from "../../kit/data.ts";

const ENDPOINTS = [1, 2, 3, 4, 5];

/**
 * Inside a write: an event to these endpoints, of a list that comes with it, or that another one brought.
 * `waits`: for the plan.
 */
function insert(it: TestData, list: FanoutList | readonly number[] = ENDPOINTS, waits = false) {
  const { fanouts, waitingEvents } = it.data;
  const isBrought = "id" in list;
  const event = it.insertEvent((isBrought ? list.endpoints : list).length);
  const made = isBrought ? list : { id: event, endpoints: list, ordered: 2, asOf: null };
  if (waits) waitingEvents.insert(it.project.id, event);
  if (!isBrought) fanouts.insertList(made);
  return fanouts.insert(it.project.id, event, event + 1, made);
}

test("what a crash cut short is found again, oldest first, from where it stood", async () => {
  await using it = await openTestData();
  const [first, second] = await it.data.store.write(() => [insert(it), insert(it, [7, 8])] as const);
  await it.data.store.write(() => it.data.fanouts.advance(first, 0, 3));
  await it.reopen();
  expect(it.data.fanouts.unfinished()).toEqual([
    { ...first, written: 3, ordered: 0, asOf: null },
    { ...second, ordered: 0, asOf: null },
  ]);
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
  const state = () => [
    fanouts.endpointsOf(fanout.eventId),
    fanouts.isPending(it.project.id),
    fanouts.count(),
  ];
  expect(state()).toEqual([ENDPOINTS, true, 1]);
  await store.write(() => fanouts.advance(fanout, 0, 4));
  expect(state()).toEqual([ENDPOINTS, true, 1]);
  await store.write(() => fanouts.advance(fanout, 4, 5));
  expect(state()).toEqual([[], false, 0]);
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

test("once called off an event waits for the plan no longer than deliveries of it do", async () => {
  await using it = await openTestData();
  const { store, fanouts, deliveries, meter } = it.data;
  const { id: projectId, accountId } = it.project;
  const before = meter.remaining(projectId);
  const { eventId } = await store.write(() => insert(it, ENDPOINTS, true));
  await store.write(() => fanouts.callOff(projectId, eventId));
  expect([meter.waitingEventsOf(accountId), meter.remaining(projectId)]).toEqual([0, before]);
  const waiting = await store.write(() => it.insertDelivery(insert(it, ENDPOINTS, true).eventId, 1, null));
  await store.write(() => fanouts.callOff(projectId, deliveries.get(waiting)?.eventId ?? 0));
  expect(meter.waitingEventsOf(accountId)).toBe(1);
  await store.write(() => deliveries.cancel(waiting));
  expect([meter.waitingEventsOf(accountId), meter.remaining(projectId)]).toEqual([0, before]);
});

test("a list that events share is kept until the last of them is written or called off", async () => {
  await using it = await openTestData();
  const { store, fanouts } = it.data;
  const [first, second] = await store.write(() => {
    const one = insert(it);
    return [
      one,
      insert(it, { id: one.listId, endpoints: one.endpoints, ordered: one.ordered, asOf: null }),
    ] as const;
  });
  const lists = () => store.sqlite.query<{ n: number }, []>("SELECT count(*) AS n FROM fanout_list").get()?.n;
  expect([lists(), fanouts.rest()]).toEqual([1, 10]);
  await store.write(() => fanouts.advance(first, 0, 5));
  expect([lists(), fanouts.rest(), fanouts.endpointsOf(second.eventId)]).toEqual([1, 5, ENDPOINTS]);
  await store.write(() => fanouts.callOff(it.project.id, second.eventId));
  expect([lists(), fanouts.rest(), fanouts.count()]).toEqual([0, 0, 0]);
});

test("which projects have pending ones is right in a write, after a rollback and after a restart", async () => {
  await using it = await openTestData();
  const pending = () => it.data.fanouts.isPending(it.project.id);
  const { store } = it.data;
  const seen = await store.write(() => [pending(), insert(it), pending()]);
  expect([seen[0], seen[2], pending()]).toEqual([false, true, true]);
  const { eventId } = seen[1] as Fanout;
  const ending = store.write(() => {
    it.data.fanouts.callOff(it.project.id, eventId);
    expect(pending()).toBe(false);
    throw new Error("rolled back by the test");
  });
  await Promise.allSettled([ending]);
  expect(pending()).toBe(true);
  await it.reopen();
  expect([pending(), it.data.fanouts.isPending(it.project.id + 1)]).toEqual([true, false]);
  await it.data.store.write(() => it.data.fanouts.callOff(it.project.id, eventId));
  expect(pending()).toBe(false);
});

test("whether a project has pending ones reads none of another's", async () => {
  await using it = await openTestData();
  await it.data.store.write(() => insert(it));
  // Without the table nothing can be read of it.
  it.data.store.sqlite.run("ALTER TABLE fanout RENAME TO gone");
  const { fanouts } = it.data;
  expect([fanouts.isPending(it.project.id), fanouts.isPending(it.project.id + 1)]).toEqual([true, false]);
});

test("a list that events share is parsed once, however many of them are asked about", async () => {
  await using it = await openTestData();
  const { store, fanouts } = it.data;
  const made = await store.write(() => {
    const one = insert(it);
    const list = { id: one.listId, endpoints: one.endpoints, ordered: one.ordered, asOf: null };
    return [one, insert(it, list), insert(it, list), insert(it, [7, 8])];
  });
  const parsed = spyOn(JSON, "parse");
  const read = made.map(({ eventId }) => fanouts.endpointsOf(eventId));
  const times = parsed.mock.calls.length;
  parsed.mockRestore();
  expect([read, times]).toEqual([[ENDPOINTS, ENDPOINTS, ENDPOINTS, [7, 8]], 2]);
});
