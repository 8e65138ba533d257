import { expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import { openTestData } from "../../kit/data.ts";

const AT = Date.UTC(2026, 10, 21);

test("a delivery is known at its source alone, until its time is over, through a restart", async () => {
  let now = AT;
  await using it = await openTestData({ now: () => now });
  await it.data.store.write(() => it.data.dedup.save(1, "d1", 77, 60));
  const known = () => [1, 2].map((source) => it.data.dedup.find(source, "d1"));
  expect([known(), it.data.dedup.find(1, "D1")]).toEqual([[77, null], null]);
  now = AT + 59_999;
  await it.reopen();
  expect(known()).toEqual([77, null]);
  now = AT + 60_000;
  expect(known()).toEqual([null, null]);
});

test("ids that differ in half a character alone are two, and none is what its bytes spell", async () => {
  await using it = await openTestData({ now: () => AT });
  const { store, dedup } = it.data;
  const ids = ["a\ud800", "a\ud801", "\ud800a", "a\ufffd", "a\ud800\udc00"];
  await store.write(() => {
    for (const [n, id] of ids.entries()) dedup.save(1, id, n + 1, 60);
  });
  expect(ids.map((id) => dedup.find(1, id))).toEqual([1, 2, 3, 4, 5]);
});

test("the one that came last stands, with a time of its own", async () => {
  let now = AT;
  await using it = await openTestData({ now: () => now });
  const { store, dedup } = it.data;
  await store.write(() => dedup.save(1, "d1", 1, 60));
  now = AT + 60_000;
  await store.write(() => dedup.save(1, "d1", 2, 60));
  expect([await dedup.expire(), dedup.find(1, "d1")]).toEqual([0, 2]);
});

test("what is past its time leaves a slice a transaction, and nothing else does", async () => {
  let now = AT;
  await using it = await openTestData({ now: () => now });
  const { store, dedup } = it.data;
  const slice = limit("sliceRows");
  await store.write(() => {
    for (let n = 0; n <= slice; n++) dedup.save(1, `old ${n}`, n + 1, 1);
    dedup.save(1, "young", 1, 2);
  });
  const before = store.commits;
  expect([await dedup.expire(), store.commits]).toEqual([0, before]);
  now = AT + 1000;
  expect([await dedup.expire(), await dedup.expire(), await dedup.expire()]).toEqual([slice, 1, 0]);
  expect(dedup.find(1, "young")).toBe(1);
});
