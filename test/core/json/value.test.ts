import { describe, expect, test } from "bun:test";
import { childPointer, excerpt, isObject, type JsonObject, ownField } from "../../../src/core/json/value.ts";

describe("a JSON object", () => {
  test("is one without fields, too", () => {
    expect([{}, { a: 1 }, JSON.parse('{"__proto__": 1}')].every(isObject)).toBe(true);
  });

  test("is not null, a list, a scalar, or missing", () => {
    expect([null, undefined, [], [{}], "{}", 1, true].some(isObject)).toBe(false);
  });
});

test("a field is the object's own, whatever its name", () => {
  const object = JSON.parse('{"__proto__": 1, "a": null}') as JsonObject;
  expect(["__proto__", "a", "constructor"].map((name) => ownField(object, name))).toEqual([
    1,
    null,
    undefined,
  ]);
});

test("a pointer escapes what has a meaning in it", () => {
  expect(childPointer(childPointer("", "a/b~c"), 3)).toBe("/a~1b~0c/3");
});

test.each([
  ["a text in its quotes", 'say "hi"', '"say \\"hi\\""'],
  ["a long text cut", "x".repeat(200), `"${"x".repeat(79)}…`],
  ["a list as its length", [1, 2], "a list of 2"],
  ["an object as one", { a: 1 }, "an object"],
  ["null as itself", null, "null"],
] as const)("an excerpt shows %s", (_, value, text) => {
  expect(excerpt(value as never)).toBe(text);
});
