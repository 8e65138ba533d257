import { expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { spansAt } from "../../../src/core/json/spans.ts";
import { isObject, type Json } from "../../../src/core/json/value.ts";
import { randomJson } from "./random.ts";

/** The texts at the path. */
function at(text: string, path: string[]): string[] {
  return spansAt(text, path).map(({ start, end }) => text.slice(start, end));
}

/** The same by the parsed value. */
function valuesAt(value: Json, [name, ...rest]: string[]): Json[] {
  if (name === undefined) return [value];
  if (Array.isArray(value)) {
    const parts = name === "*" ? value : value.filter((_, index) => String(index) === name);
    return parts.flatMap((part) => valuesAt(part, rest));
  }
  if (!isObject(value) || name === "*" || !Object.hasOwn(value, name)) return [];
  return valuesAt(value[name] as Json, rest);
}

test("what stands at a path is found as it is spelled", () => {
  const text = ' {"a": [ {"b":1.50} , {"b": "x"} ], "n": 12345678901234567890, "a.b": null} ';
  expect(at(text, [])).toEqual([text.trim()]);
  expect(at(text, ["n"])).toEqual(["12345678901234567890"]);
  expect(at(text, ["a", "*", "b"])).toEqual(["1.50", '"x"']);
  expect(at(text, ["a", "1", "b"])).toEqual(['"x"']);
  expect(at(text, ["a.b"])).toEqual(["null"]);
  for (const nowhere of ["b", "a.01", "a.2", "a.b", "n.0", "*", "a.*.c", "a.-1"])
    expect(at(text, nowhere.split("."))).toEqual([]);
});

test("the last of two members of one name is taken, as JSON.parse takes it", () => {
  expect(at(String.raw`{"a":1,"\u0061":2}`, ["a"])).toEqual(["2"]);
});

test("it is what a walk over the parsed value finds", () => {
  const name = fc.constantFrom("a", "b", "0", "1", "*", "", '"', "__proto__");
  const { value } = randomJson(name, fc.oneof(fc.integer(), fc.string(), fc.constant(null)), 4);
  const space = fc.constantFrom(undefined, 1, "\t");
  fc.assert(
    fc.property(value, fc.array(name, { minLength: 1, maxLength: 4 }), space, (json, path, indent) => {
      const text = JSON.stringify(json, null, indent);
      const found = at(text, path).map((part) => JSON.parse(part) as Json);
      expect(found).toEqual(valuesAt(JSON.parse(text), path));
    }),
    { numRuns: 1000 },
  );
});

test("a long path reads the text once", () => {
  const path = Array.from({ length: 60 }, () => "a");
  const text = `${'{"a":'.repeat(60)}1${',"b":[0]}'.repeat(60)}`;
  using looked = spyOn(String.prototype, "charCodeAt");
  expect(at(text, path)).toEqual(["1"]);
  expect(looked.mock.calls.length).toBeLessThan(20 * text.length);
});
