/** Several lists read as one, newest first. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { LISTS_MERGED_MAX, mergeBelow } from "../../src/store/lists.ts";

/** Walks to the end as a page does: each call goes on below the last key of the one before. */
function walk(lists: readonly (readonly number[])[], count: number): number[] {
  const found: number[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const read = (list: number, most: number) =>
      (lists[list] ?? [])
        .filter((id) => id < before)
        .slice(0, most)
        .map((id) => ({ id }));
    const page = mergeBelow([...lists.keys()], count, read);
    expect(page.length).toBeLessThanOrEqual(count);
    const last = page.at(-1);
    if (last === undefined) return found;
    found.push(...page);
    before = last;
  }
}

test("however many lists there are, a walk meets every entry once, in order", () => {
  const list = fc
    .uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 40 })
    .map((ids) => ids.sort((a, b) => b - a));
  const lists = fc.oneof(
    fc.array(list, { maxLength: 5 }),
    fc.array(list, { minLength: LISTS_MERGED_MAX + 1, maxLength: LISTS_MERGED_MAX + 10 }),
  );
  fc.assert(
    fc.property(lists, fc.integer({ min: 1, max: 60 }), (all, count) => {
      const expected = [...new Set(all.flat())].sort((a, b) => b - a);
      expect(walk(all, count)).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});
