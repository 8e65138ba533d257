/**
 * What the editors of filters and transformations are made of: rows and back, places in a text, and
 * what changed.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Json } from "../../../src/core/json/value.ts";
import {
  OPERATORS,
  type Operator,
  readPath,
  readValue,
  toFilter,
  toRows,
  writePath,
  writeValue,
} from "../../../src/portal/forms/filter-rows.ts";
import { parseExact } from "../../../src/portal/json/exact-json.ts";
import { diffLines } from "../../../src/portal/json/json-diff.ts";
import { findPlaces } from "../../../src/portal/json/json-places.ts";

const name = fc.oneof(fc.constantFrom("type", "data", "a.b", "__proto__", "x/y~z"), fc.string());
const field = name.filter((text) => !text.startsWith("$"));
const comparison = fc.constantFrom(...OPERATORS.filter((one) => one !== "is"));
const json = fc.jsonValue() as fc.Arbitrary<Json>;
/** As an operand: what looks like an operator in it is none. */
const operand = json.filter((value) => !JSON.stringify(value).includes('"$'));

/** Filters as the service takes them: field names or comparisons, with combinators beside either. */
const { filter } = fc.letrec<{ filter: { [name: string]: Json }; under: Json }>((tie) => ({
  filter: fc.dictionary(
    fc.oneof(
      { weight: 5, arbitrary: field },
      { weight: 1, arbitrary: fc.constantFrom("$and", "$or", "$not") },
    ),
    tie("under"),
    { maxKeys: 4, noNullPrototype: true },
  ),
  under: fc.oneof(
    { maxDepth: 4 },
    operand,
    fc.dictionary(comparison, operand, { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
    tie("filter"),
  ),
}));

describe("rows", () => {
  test("give every filter back as it was, its order included", () => {
    fc.assert(
      fc.property(filter, (one) => {
        expect(JSON.stringify(toFilter(toRows(one)))).toBe(JSON.stringify(one));
      }),
      { numRuns: 500 },
    );
  });

  test("show each comparison, and keep as JSON what they cannot show", () => {
    const either = [{ data: { vip: true } }, { data: { total: 0 } }];
    expect(toRows({ type: "invoice.paid", data: { total: { $gte: 1, $lt: 9 } }, $or: either })).toEqual([
      { path: ["type"], operator: "is", value: "invoice.paid" },
      { path: ["data", "total"], operator: "$gte", value: 1 },
      { path: ["data", "total"], operator: "$lt", value: 9 },
      { path: ["$or"], operator: "json", value: either },
    ]);
  });

  test("that have no place in one object are joined by $and", () => {
    const path = ["data", "total"];
    const rows: { path: string[]; operator: Operator; value: Json }[] = [
      { path, operator: "is", value: 5 },
      { path, operator: "$gt", value: 1 },
      { path, operator: "is", value: 6 },
    ];
    expect(toFilter(rows)).toEqual({
      data: { total: 5 },
      $and: [{ data: { total: { $gt: 1 } } }, { data: { total: 6 } }],
    });
  });

  test("write paths and values so that they read the same", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (path) => {
        expect(readPath(writePath(path))).toEqual(path);
      }),
    );
    fc.assert(
      fc.property(json, fc.constantFrom(...OPERATORS), (value, operator) => {
        const text = writeValue(value, operator);
        const isList = operator === "$in" || operator === "$nin";
        fc.pre(!isList || Array.isArray(value));
        expect(JSON.stringify(readValue(text, operator))).toBe(JSON.stringify(value));
      }),
    );
    expect([writeValue("5", "is"), writeValue("paid", "is"), writeValue(["a", 1], "$in")]).toEqual([
      '"5"',
      "paid",
      "a, 1",
    ]);
  });
});

describe("places", () => {
  test("of every value are found by its pointer, and where it is no JSON, the line is named", () => {
    const text = '{\n  "a/b": [\n    1,\n    {"c": 2}\n  ],\n  "d": null\n}';
    const { lineOf, brokenAt } = findPlaces(text);
    expect(brokenAt).toBeNull();
    expect(["", "/a~1b", "/a~1b/0", "/a~1b/1/c", "/a~1b/1/none/deeper", "/d"].map(lineOf)).toEqual([
      1, 2, 3, 4, 4, 6,
    ]);
    expect(findPlaces('{\n  "a": 1,\n}').brokenAt).toBe(3);
    expect(findPlaces("").brokenAt).toBe(1);
  });

  test("a text is broken exactly where JSON.parse refuses it", () => {
    const parses = (text: string) => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    const cut = fc
      .tuple(fc.json(), fc.nat(40), fc.string({ maxLength: 2 }))
      .map(([text, at, put]) => text.slice(0, at) + put + text.slice(at + 1));
    fc.assert(
      fc.property(fc.oneof(fc.json(), cut), (text) => {
        expect([text, findPlaces(text).brokenAt === null]).toEqual([text, parses(text)]);
      }),
      { numRuns: 500 },
    );
  });
});

test("what changed leads from the one text to the other", () => {
  const lines = fc
    .array(fc.constantFrom("a", "b", "c", "{", "}"), { minLength: 1, maxLength: 12 })
    .map((all) => all.join("\n"));
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = diffLines(before, after);
      const without = (kind: string) =>
        diff
          .filter((line) => line.kind !== kind)
          .map(({ text }) => text)
          .join("\n");
      expect([without("new"), without("gone")]).toEqual([before, after]);
    }),
  );
  expect(diffLines("a\nb\nc", "a\nc").map(({ kind }) => kind)).toEqual(["same", "gone", "same"]);
});

describe("a number that no double holds", () => {
  test("is no JSON to an editor, and a text in a row: it is never sent as null", () => {
    for (const text of ["1e400", '{"data":{"n":-1e999}}', "[0,[1E+0400]]"]) {
      expect(() => parseExact(text)).toThrow();
      expect(readValue(text, "is")).toBe(text);
    }
    expect(parseExact('{"a":[1e308,null]}')).toEqual({ a: [1e308, null] });
  });
});
