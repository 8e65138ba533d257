/** Several lists read as one, in either direction. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Merge, NEWEST_FIRST, OLDEST_FIRST } from "../../src/store/merge.ts";

const DIRECTIONS = [
  { name: "newest first", order: NEWEST_FIRST, start: Number.MAX_SAFE_INTEGER },
  { name: "oldest first", order: OLDEST_FIRST, start: 0 },
] as const;

/** Lists to read, and what was read of them. */
class Reading {
  reads = 0;
  rows = 0;
  readonly #sorted;

  constructor(
    lists: readonly (readonly number[])[],
    private readonly order: (a: number, b: number) => number,
  ) {
    this.#sorted = lists.map((ids) => [...ids].sort(order));
  }

  walk(start: number): Merge {
    return new Merge([...this.#sorted.keys()], start, this.order, (list, from, most) => {
      const found = (this.#sorted[list] ?? []).filter((id) => this.order(id, from) > 0).slice(0, most);
      this.reads++;
      this.rows += found.length;
      return found;
    });
  }
}

function toTheEnd(walk: Merge, count: number): number[][] {
  const calls: number[][] = [];
  for (let keys = walk.next(count); keys.length > 0; keys = walk.next(count)) calls.push(keys);
  return calls;
}

describe.each(DIRECTIONS)("$name", ({ order, start }) => {
  test("however many lists there are, a walk meets every entry once, in order, and each step is full but the last", () => {
    const list = fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 40 });
    const lists = fc.oneof(
      fc.array(list, { maxLength: 5 }),
      fc.array(list, { minLength: 51, maxLength: 60 }),
    );
    fc.assert(
      fc.property(lists, fc.integer({ min: 1, max: 60 }), (all, count) => {
        const calls = toTheEnd(new Reading(all, order).walk(start), count);
        expect(calls.flat()).toEqual([...new Set(all.flat())].sort(order));
        for (const keys of calls.slice(0, -1)) expect(keys).toHaveLength(count);
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ["are mixed", (list: number, n: number) => n * 1000 + list + 1],
    ["lie behind each other", (list: number, n: number) => list * 300 + n + 1],
  ])(
    "of a thousand lists that %s only what is needed is read, and none is asked anew for each step",
    (_, idOf) => {
      const lists = Array.from({ length: 1000 }, (__, list) =>
        Array.from({ length: 300 }, (___, n) => idOf(list, n)),
      );
      const reading = new Reading(lists, order);
      const walk = reading.walk(start);
      expect(walk.next(250)).toHaveLength(250);
      expect(reading.rows).toBeLessThanOrEqual(9 * lists.length);
      expect(toTheEnd(walk, 250)).toHaveLength(1199);
      expect(reading.reads).toBeLessThanOrEqual(8 * lists.length);
    },
  );
});
