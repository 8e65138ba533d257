import { expect, test } from "bun:test";
import { Tally } from "../../../src/store/counts/tally.ts";
import { openTestData } from "../../kit/data.ts";

test("open deliveries are counted by endpoint through every change, and the same after a start", async () => {
  await using it = await openTestData();
  const { data } = it;
  const { deliveries, store, tally } = data;
  const one = (await it.endpoint()).id;
  const other = (await it.endpoint()).id;
  const ids = await store.write(() =>
    [one, one, one, other].map((endpointId) => it.insertDelivery(it.insertEvent(), endpointId)),
  );
  const [first = 0, second = 0] = ids;
  expect([tally.openOf(one), tally.openOf(other), tally.waiting]).toEqual([3, 1, 4]);
  await store.write(() => deliveries.cancel(first));
  await store.write(() => deliveries.dispose(second, "dead"));
  expect([tally.openOf(one), tally.waiting]).toEqual([1, 2]);
  await store.write(() => deliveries.reopen(first, "replay", 0, null));
  await store.write(() => deliveries.reopen(first, "replay", 0, 7));
  expect([tally.openOf(one), tally.waiting]).toEqual([2, 3]);
  const refused = store.write(() => {
    deliveries.cancel(first);
    throw new Error("no");
  });
  await refused.catch(() => {});
  expect([tally.openOf(one), tally.waiting]).toEqual([2, 3]);
  const again = new Tally(store);
  again.recover();
  expect([again.openOf(one), again.openOf(other), again.waiting]).toEqual([2, 1, 3]);
});
