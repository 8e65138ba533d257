/** What a value takes in memory, about. */
import { expect, test } from "bun:test";
import { countOf, weightOf } from "../../../src/core/json/weight.ts";

test("many small parts weigh more than one long text of the same length", () => {
  const parts = Array.from({ length: 500 }, () => 1);
  expect(weightOf(parts)).toBeGreaterThan((50 * weightOf("x".repeat(JSON.stringify(parts).length))) / 2);
  expect(weightOf({ a: [1, 2], b: "text" })).toBe(22 + 100 * 4);
});

test("a text takes two bytes for each character by one that is above U+00FF, or half of one", () => {
  const ascii = "x".repeat(1000);
  expect([ascii, `${ascii}é`, `${ascii}ā`].map(weightOf)).toEqual([1002, 1003, 2006]);
  expect(weightOf(`${ascii}\ud800`)).toBeGreaterThan(2000);
});

test("what JSON has no text for weighs nothing", () => {
  expect([weightOf(undefined), countOf("", /x/g), countOf("axbx", /x/g)]).toEqual([0, 0, 2]);
});
