/**
 * Lists are what a plain set of keys would be, however their rows are packed, overlap, and are taken
 * apart again.
 */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Disk, openDatabase } from "../../../src/store/database.ts";
import { Entries } from "../../../src/store/index/entries.ts";
import { Store } from "../../../src/store/store.ts";
import { entriesOf } from "../../kit/entries.ts";
import { storeParts } from "../../kit/store-parts.ts";

let dir: string;
let disk: Disk;
let store: Store;
let entries: Entries;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-entries-"));
  disk = openDatabase(dir);
  store = new Store(disk.sqlite, storeParts({ sync: disk.sync }));
  entries = new Entries(store);
});

afterEach(async () => {
  await store.close();
  disk.close();
  rmSync(dir, { recursive: true });
});

const LIST = 7;
const rows = () => disk.sqlite.query("SELECT 1 FROM entry").all().length;

const FAR = 2 ** 31;

const ascending = (ids: Iterable<number>) => [...new Set(ids)].sort((a, b) => a - b);

/** Close together and far apart, so that rows fill, end, and would overlap. */
const someKey = fc.oneof(
  fc.integer({ min: 1, max: 600 }),
  fc.integer({ min: 1, max: 4 * FAR }),
  fc.integer({ min: 2 ** 40, max: 2 ** 40 + 50 }),
);
const someKeys = fc.array(someKey, { maxLength: 400 }).map(ascending);

/** One write; its transaction holds several of them. */
type Step = { insert: number[] } | { drop: number[] };
const someStep: fc.Arbitrary<Step> = fc.oneof(
  someKeys.map((ids) => ({ insert: ids })),
  someKey.map((id) => ({ insert: [id] })),
  someKeys.map((ids) => ({ drop: ids })),
);

describe("a list", () => {
  test("holds what was inserted and not dropped, in both directions, from anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(someStep, { maxLength: 3 }), { maxLength: 8 }),
        fc.array(fc.tuple(someKey, fc.integer({ min: 1, max: 700 })), { maxLength: 8 }),
        async (transactions, places) => {
          disk.sqlite.exec("DELETE FROM entry");
          const held = new Set<number>();
          const dropped = new Set<number>();
          for (const steps of transactions) {
            const writes = steps.map((step) =>
              store.write(() => {
                // Keys are never used again.
                const ids = "insert" in step ? step.insert.filter((id) => !dropped.has(id)) : step.drop;
                if ("insert" in step) entries.add(LIST, ids);
                else for (const id of ids) entries.drop(LIST, id);
                for (const id of ids) {
                  if ("insert" in step) held.add(id);
                  else held.delete(id);
                  if ("drop" in step) dropped.add(id);
                }
                if (ids.length % 2 === 0) expect(entries.above(LIST, 0, 5000)).toEqual(ascending(held));
              }),
            );
            await Promise.all(writes);
          }
          const all = ascending(held);
          expect(ascending(entriesOf(disk.sqlite).get(LIST) ?? [])).toEqual(all);
          expect(entries.isEmpty(LIST)).toBe(all.length === 0);
          for (const [place, most] of [...places, [0, 5000] as const, [2 ** 50, 5000] as const]) {
            const up = all.filter((id) => id > place);
            const down = all.filter((id) => id < place).reverse();
            expect(entries.above(LIST, place, most)).toEqual(up.slice(0, most));
            expect(entries.below(LIST, place, most)).toEqual(down.slice(0, most));
            const bound = place + most;
            expect(entries.above(LIST, place, most, bound)).toEqual(
              up.filter((id) => id < bound).slice(0, most),
            );
          }
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);

  test("of much takes a row for 256 keys, one of little a row for each", async () => {
    await store.write(() =>
      entries.add(
        LIST,
        Array.from({ length: 2560 }, (_, at) => 1 + 40 * at),
      ),
    );
    expect(rows()).toBe(10);
    await store.write(() =>
      entries.add(
        LIST,
        Array.from({ length: 5 }, (_, at) => 2 ** 40 + at * FAR),
      ),
    );
    expect(rows()).toBe(15);
  });

  test("of rows that were written before they were packed is the same", () => {
    disk.sqlite.exec(`INSERT INTO entry (list, id) VALUES (${LIST}, 3), (${LIST}, 9), (${LIST}, 12)`);
    expect(entries.below(LIST, 12, 5)).toEqual([9, 3]);
    expect(entries.above(LIST, 3, 5)).toEqual([9, 12]);
  });

  test("is taken apart row by row when much of it goes", async () => {
    const ids = Array.from({ length: 2560 }, (_, at) => 1 + 40 * at);
    await store.write(() => entries.add(LIST, ids));
    await store.write(() => ids.slice(0, 1000).forEach((id) => entries.drop(LIST, id)));
    expect(entries.above(LIST, 0, 3)).toEqual(ids.slice(1000, 1003));
    expect(rows()).toBe(7);
  });

  test("is as it was where the transaction that drops from it fails", async () => {
    await store.write(() => entries.add(LIST, [1, 2, 3]));
    const failing = store.write(() => {
      entries.drop(LIST, 2);
      throw new Error("no");
    });
    expect(await failing.catch(String)).toBe("Error: no");
    await store.write(() => entries.add(LIST, [4]));
    expect(entries.above(LIST, 0, 9)).toEqual([1, 2, 3, 4]);
  });

  test("holds what the transaction did to it, for whoever reads in it", async () => {
    await store.write(() => entries.add(LIST, [1, 2, 3]));
    await store.write(() => {
      entries.drop(LIST, 2);
      entries.add(LIST, [4, 5]);
      entries.drop(LIST, 5);
      expect(entries.above(LIST, 0, 9)).toEqual([1, 3, 4]);
      expect(entries.below(LIST, 9, 9)).toEqual([4, 3, 1]);
      for (const id of [1, 3, 4]) entries.drop(LIST, id);
      expect(entries.isEmpty(LIST)).toBe(true);
      entries.add(LIST, [6]);
      expect(entries.clear(LIST, 9)).toBe(1);
    });
    expect(rows()).toBe(0);
  });

  test("that is cleared goes row by row", async () => {
    await store.write(() => entries.add(LIST, [1, FAR + 1, 2 * FAR + 1]));
    expect(
      await store.write(() => [entries.clear(LIST, 2), entries.clear(LIST, 2), entries.clear(LIST, 2)]),
    ).toEqual([2, 1, 0]);
  });
});

test("of a long list one packed row is read where that holds all that is asked", async () => {
  await store.write(() =>
    entries.add(
      LIST,
      Array.from({ length: 5000 }, (_, at) => at + 1),
    ),
  );
  using prepared = spyOn(disk.sqlite, "prepare");
  const fresh = new Entries(store);
  const walks = prepared.mock.results.map(({ value }) => spyOn(value as { all: () => unknown[] }, "all"));
  const read = () => walks.flatMap(({ mock }) => mock.results.flatMap(({ value }) => value)).length;
  expect([fresh.below(LIST, 6000, 8).at(0), read()]).toEqual([5000, 1]);
  expect([fresh.above(LIST, 0, 100).at(-1), read()]).toEqual([100, 2]);
  expect([fresh.below(LIST, 6000, 5000).length, read() - 2 < 2 * rows()]).toEqual([5000, true]);
});
