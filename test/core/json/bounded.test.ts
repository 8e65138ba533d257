import { expect, test } from "bun:test";
import { readBounded } from "../../../src/core/json/bounded.ts";

const BOUNDS = { bytesMax: 40, depthMax: 3, nodesMax: 5 };
const read = (source: unknown) => readBounded(source, "A filter", BOUNDS);

test("a document within its bounds is what was given", () => {
  expect(read({ a: [1, null] })).toEqual({ ok: true, json: { a: [1, null] } });
});

test.each([
  ["nests too deep", { a: { b: { c: {} } } }, "/a/b/c", "A filter nests at most 3 levels deep."],
  ["has too many parts", [1, 2, 3, 4, 5, 6], "", "A filter has at most 5 keys and list elements."],
  ["weighs too much", "ä".repeat(20), "", "A filter is at most 40 bytes of JSON."],
  ["holds what JSON has not", { a: [Number.NaN] }, "/a/0", "This is not a JSON value."],
  ["holds nothing where a value belongs", { a: undefined }, "/a", "This is not a JSON value."],
] as const)("a document that %s is told where", (_, source, pointer, detail) => {
  expect(read(source)).toEqual({ ok: false, fault: { pointer, detail } });
});
