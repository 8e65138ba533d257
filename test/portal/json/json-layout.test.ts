/** Bodies of strangers, laid out for reading. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { layOut } from "../../../src/portal/json/json-layout.ts";

test("JSON is laid out as JSON.stringify would, whatever it holds", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(layOut(text)).toBe(JSON.stringify(JSON.parse(text), null, 2));
    }),
    { numRuns: 300 },
  );
});

test("the spelling of numbers and the order of keys survive", () => {
  expect(layOut('{"b":12345678901234567890,"a":1.0}')).toBe('{\n  "b": 12345678901234567890,\n  "a": 1.0\n}');
});

test("what is no JSON is not laid out", () => {
  expect(layOut("<html>")).toBeNull();
  expect(layOut('{"a":')).toBeNull();
});
