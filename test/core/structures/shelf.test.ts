import { expect, test } from "bun:test";
import { Shelf, Shelves } from "../../../src/core/structures/shelf.ts";

/** A row whose key can be seen to be read. */
function rowsOf(keys: readonly number[]) {
  const seen = { reads: 0 };
  const rows = keys.map((key) => ({
    get id() {
      seen.reads++;
      return key;
    },
  }));
  return { seen, rows };
}

const idsOf = (walk: Iterable<{ id: number }>) => [...walk].map(({ id }) => id);

test("whatever the order they come in, rows are walked from the newest down, below a key", () => {
  const shelf = new Shelf<{ id: number }>();
  for (const id of [5, 1, 9, 3, 7, 3]) shelf.set({ id });
  expect(idsOf(shelf.below())).toEqual([9, 7, 5, 3, 1]);
  expect(idsOf(shelf.below(7))).toEqual([5, 3, 1]);
  expect(idsOf(shelf.below(6))).toEqual([5, 3, 1]);
  expect(idsOf(shelf.below(1))).toEqual([]);
  shelf.delete(5);
  shelf.delete(4);
  expect([shelf.size, shelf.get(3)?.id, shelf.get(5), shelf.get(4)]).toEqual([4, 3, undefined, undefined]);
});

test("a walk goes on where it is while rows come, change and go", () => {
  const shelf = new Shelf<{ id: number; text?: string }>();
  for (const id of [1, 2, 3, 4, 5]) shelf.set({ id });
  const walk = shelf.below();
  expect([walk.next().value?.id, walk.next().value?.id]).toEqual([5, 4]);
  shelf.delete(4);
  shelf.delete(5);
  shelf.delete(3);
  shelf.set({ id: 6 });
  shelf.set({ id: 2, text: "changed" });
  expect([...walk]).toEqual([{ id: 2, text: "changed" }, { id: 1 }]);
});

test("a page of very many reads few of their keys", () => {
  const { seen, rows } = rowsOf(Array.from({ length: 100_000 }, (_, n) => n));
  const shelf = new Shelf<{ id: number }>();
  for (const row of rows) shelf.set(row);
  seen.reads = 0;
  const walk = shelf.below(70_000);
  expect([walk.next().value?.id, walk.next().value?.id]).toEqual([69_999, 69_998]);
  expect(seen.reads).toBeLessThan(60);
});

test("weights are those of the rows that are there, each owner's for itself", () => {
  const shelves = new Shelves<string, { id: number }>();
  shelves.set("a", { id: 1 }, 10);
  shelves.set("a", { id: 2 }, 5);
  shelves.set("b", { id: 3 }, 7);
  shelves.set("a", { id: 1 }, 4);
  expect([shelves.of("a").weight, shelves.of("b").weight, shelves.of("c").weight]).toEqual([9, 7, 0]);
  shelves.delete("a", 2);
  shelves.delete("a", 9);
  shelves.delete("c", 1);
  expect([shelves.of("a").weight, shelves.of("a").size]).toEqual([4, 1]);
  shelves.delete("a", 1);
  expect([shelves.of("a").weight, shelves.of("a").size]).toEqual([0, 0]);
});
