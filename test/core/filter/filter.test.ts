import { describe, expect, test } from "bun:test";
import { compileFilter, type Filter } from "../../../src/core/filter/filter.ts";
import type { Json } from "../../../src/core/json/value.ts";

function filterOf(source: unknown): Filter {
  const compiled = compileFilter(source);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.filter;
}

const MISSING = Symbol("missing");
type Value = Json | typeof MISSING;

/** The envelope whose field `data.v` has the value. */
function envelope(value: Value): Json {
  const data: Json = value === MISSING ? {} : { v: value };
  return { type: "order.paid", timestamp: "2026-11-20T09:00:00.000Z", data };
}

interface Row {
  condition: Json;
  holds: Value[];
  fails: Value[];
}

/** The table of operators (src/docs/filters.md), row by row: `condition` stands under the field `data.v`. */
const ROWS: Row[] = [
  // "field": value
  {
    condition: "a",
    holds: ["a", ["a"], ["b", "a"]],
    fails: ["A", "ab", "", null, [], [["a"]], { a: "a" }, MISSING],
  },
  { condition: 1, holds: [1, 1.0, [0, 1]], fails: ["1", true, 0, [], [[1]], MISSING] },
  { condition: 0, holds: [0, -0], fails: [false, "", null, "0", MISSING] },
  { condition: true, holds: [true, [true]], fails: [1, "true", false, MISSING] },
  { condition: null, holds: [null, [null]], fails: [MISSING, [], 0, "", false, "null"] },
  {
    condition: [1, 2],
    holds: [[1, 2], [[1, 2]], [0, [1, 2]]],
    fails: [[2, 1], [1], [1, 2, 3], 1, [["1", 2]], MISSING],
  },
  { condition: [], holds: [[], [[]], [1, []]], fails: [[1], null, {}, MISSING] },
  {
    condition: [{ a: 1, b: 2 }],
    holds: [[{ b: 2, a: 1 }]],
    fails: [[{ a: 1 }], [{ a: 1, b: 2, c: 3 }], { a: 1, b: 2 }],
  },
  // $eq, $neq
  { condition: { $eq: 5 }, holds: [5, [4, 5]], fails: ["5", 4, [], null, MISSING] },
  { condition: { $eq: null }, holds: [null, [1, null]], fails: [MISSING, 0, []] },
  { condition: { $eq: {} }, holds: [{}, [{}]], fails: [[], { a: 1 }, null, MISSING] },
  {
    condition: { $eq: { a: [1, { b: 2 }], c: 3 } },
    holds: [{ c: 3, a: [1, { b: 2 }] }],
    fails: [{ a: [1, { b: 2 }] }, { c: 3, a: [{ b: 2 }, 1] }],
  },
  { condition: { $eq: { $gt: 1 } }, holds: [{ $gt: 1 }], fails: [2, { $gt: 2 }] },
  { condition: { $neq: 5 }, holds: ["5", 4, [], [4], null, MISSING], fails: [5, [4, 5]] },
  { condition: { $neq: null }, holds: [0, MISSING, []], fails: [null, [null]] },
  {
    condition: { $neq: { a: 1 } },
    holds: [{ a: 2 }, { a: 1, b: 1 }, MISSING],
    fails: [{ a: 1 }, [{ a: 1 }]],
  },
  // $gt $gte $lt $lte
  { condition: { $gt: 5 }, holds: [5.1, 6, [1, 9]], fails: [5, 4, "6", null, true, [], [[9]], {}, MISSING] },
  { condition: { $gte: 5 }, holds: [5, 6, [5]], fails: [4.99, "5", null, MISSING] },
  { condition: { $lt: 5 }, holds: [4, -1, [9, 1]], fails: [5, "4", null, false, [], MISSING] },
  { condition: { $lte: 5 }, holds: [5, 4], fails: [5.01, "5", null, MISSING] },
  { condition: { $gt: "b" }, holds: ["c", "ba", "é", ["a", "c"]], fails: ["b", "a", "B", 99, null, MISSING] },
  {
    condition: { $gte: "2026-01-01" },
    holds: ["2026-01-01", "2026-11-20T09:00:00.000Z"],
    fails: ["2025-12-31", 2026],
  },
  { condition: { $lt: "b" }, holds: ["a", "B", ""], fails: ["b", "c", 1, MISSING] },
  { condition: { $lte: "b" }, holds: ["b", "a"], fails: ["ba", null] },
  // By UTF-16 code unit the astral 😀 (D83D…) stands before U+FF61, by code point behind it.
  { condition: { $lt: "\uff61" }, holds: ["😀"], fails: ["\uff61", "\uffee"] },
  { condition: { $gt: 1, $lt: 5 }, holds: [2, [0, 9], [9, 0]], fails: [0, 9, [0], [9], MISSING] },
  // $in, $nin
  {
    condition: { $in: [1, "a", null] },
    holds: [1, "a", null, ["x", "a"]],
    fails: [2, "1", [], [[1]], MISSING],
  },
  {
    condition: { $in: [[1], { a: 1 }] },
    holds: [[1], { a: 1 }, [[1]], [{ a: 1 }]],
    fails: [1, { a: 2 }, MISSING],
  },
  { condition: { $nin: [1, "a"] }, holds: [2, "1", null, [], ["x"], MISSING], fails: [1, "a", ["x", "a"]] },
  // $startsWith, $endsWith, $contains
  {
    condition: { $startsWith: "ab" },
    holds: ["ab", "abc", ["x", "abc"]],
    fails: ["a", "xab", "AB", 1, null, ["xab"], MISSING],
  },
  { condition: { $endsWith: "yz" }, holds: ["yz", "xyz", ["xyz"]], fails: ["yzx", "z", {}, MISSING] },
  {
    condition: { $contains: "b" },
    holds: ["b", "abc", ["abc"]],
    fails: ["ac", ["ac"], [["b"]], { b: 1 }, 1, MISSING],
  },
  { condition: { $contains: "" }, holds: ["", "a"], fails: [1, null, MISSING] },
  { condition: { $contains: ".*" }, holds: ["a.*b"], fails: ["ab"] },
  { condition: { $startsWith: "é😀" }, holds: ["é😀!"], fails: ["e\u0301😀"] },
  // $exist
  { condition: { $exist: true }, holds: [1, null, false, "", [], {}, [null]], fails: [MISSING] },
  { condition: { $exist: false }, holds: [MISSING], fails: [1, null, false, "", [], {}] },
  // $and, $or, $not under a field
  { condition: { $and: [{ $gt: 1 }, { $lt: 5 }] }, holds: [2, [0, 9]], fails: [1, 5, MISSING] },
  { condition: { $or: [{ $lt: 1 }, { $gt: 5 }] }, holds: [0, 6, [3, 6]], fails: [3, [3], "x", MISSING] },
  { condition: { $not: { $gt: 5 } }, holds: [5, "x", [], [1], null, MISSING], fails: [6, [1, 6]] },
  { condition: { $not: { $exist: true } }, holds: [MISSING], fails: [null, 1] },
  { condition: { $not: { $not: { $eq: 1 } } }, holds: [1, [1]], fails: [2, MISSING] },
  { condition: { $gt: 0, $not: { $in: [3, 4] } }, holds: [1, 5], fails: [0, 3, 4, MISSING] },
  {
    condition: { $or: [{ $eq: "x" }, { name: "y" }] },
    holds: ["x", { name: "y" }, [{ name: "y" }]],
    fails: [{ name: "x" }, MISSING],
  },
  {
    condition: { $not: { name: "y" } },
    holds: [{ name: "x" }, {}, 5, [], [{ name: "x" }], MISSING],
    fails: [{ name: "y" }, [{ name: "x" }, { name: "y" }]],
  },
  // an object descends
  {
    condition: { a: 1 },
    holds: [{ a: 1 }, { a: [1] }, [{ a: 2 }, { a: 1 }]],
    fails: [{}, { a: "1" }, [], [[{ a: 1 }]], 1, null, MISSING],
  },
  {
    condition: { a: { b: { c: true } } },
    holds: [{ a: { b: { c: true } } }, [{ a: [{ b: { c: true } }] }]],
    fails: [{ a: { c: true } }, { a: null }, MISSING],
  },
  {
    condition: { a: { $exist: false } },
    holds: [{}, { b: 1 }, 5, "text", null, MISSING, [{ b: 1 }]],
    fails: [{ a: null }, [], [{ a: 1 }]],
  },
  // over an array one element satisfies all of an object of field names
  {
    condition: { sku: "x", quantity: { $gt: 1 } },
    holds: [
      [
        { sku: "y", quantity: 9 },
        { sku: "x", quantity: 2 },
      ],
    ],
    fails: [
      [
        { sku: "x", quantity: 1 },
        { sku: "y", quantity: 2 },
      ],
    ],
  },
  {
    condition: { sku: "x", $or: [{ quantity: 1 }, { quantity: 2 }] },
    holds: [[{ sku: "x", quantity: 2 }]],
    fails: [[{ sku: "x" }, { sku: "y", quantity: 2 }]],
  },
  {
    condition: { sku: "x", $not: { quantity: 1 } },
    holds: [
      [
        { sku: "x", quantity: 1 },
        { sku: "x", quantity: 2 },
      ],
      { sku: "x" },
    ],
    fails: [[{ sku: "x", quantity: 1 }, { sku: "y" }]],
  },
  // … and an element that is an array is not looked into
  {
    condition: { a: { $exist: false }, $or: [{ $eq: 5 }, { $startsWith: "x" }] },
    holds: [5, [5], ["xy"]],
    fails: [[[5]], [["xy"]], [{ a: 1 }]],
  },
  {
    condition: { a: { $exist: false }, $or: [{ b: 1 }] },
    holds: [{ b: 1 }, [{ b: 1 }]],
    fails: [[[{ b: 1 }]]],
  },
  // … but without a field name each clause is for itself
  {
    condition: { $and: [{ sku: "x" }, { quantity: 2 }] },
    holds: [[{ sku: "x" }, { quantity: 2 }]],
    fails: [[{ sku: "x" }]],
  },
  // names
  { condition: { "a.b": 1 }, holds: [{ "a.b": 1 }], fails: [{ a: { b: 1 } }] },
  { condition: { "": 1 }, holds: [{ "": 1 }], fails: [{}] },
  { condition: { "0": 1 }, holds: [{ "0": 1 }], fails: [[1], "1"] },
  { condition: { length: { $exist: true } }, holds: [{ length: 3 }], fails: ["abc", [1, 2], {}] },
  { condition: { "naïve ☃": "ok" }, holds: [{ "naïve ☃": "ok" }], fails: [{ "naive ☃": "ok" }] },
];

describe("a condition under a field", () => {
  for (const { condition, holds, fails } of ROWS) {
    test(JSON.stringify(condition), () => {
      const filter = filterOf({ data: { v: condition } });
      for (const value of holds) expect([value, filter.matches(envelope(value))]).toEqual([value, true]);
      for (const value of fails) expect([value, filter.matches(envelope(value))]).toEqual([value, false]);
    });
  }
});

describe("the whole filter", () => {
  const event: Json = { type: "order.paid", data: { amount: 50, tags: ["eu"] } };

  test("an empty one admits everything", () => {
    expect(filterOf({}).matches(event)).toBe(true);
    expect(filterOf({}).matches({})).toBe(true);
  });

  test("its keys are ANDed", () => {
    expect(filterOf({ type: "order.paid", data: { amount: { $gte: 50 } } }).matches(event)).toBe(true);
    expect(filterOf({ type: "order.paid", data: { amount: { $gt: 50 } } }).matches(event)).toBe(false);
    expect(filterOf({ type: "order.lost", data: { amount: { $gte: 50 } } }).matches(event)).toBe(false);
  });

  test("$and, $or and $not stand at the top, also beside field names", () => {
    const source = {
      type: { $startsWith: "order." },
      $or: [{ data: { amount: 1 } }, { data: { tags: "eu" } }],
      $not: { data: { tags: "us" } },
    };
    expect(filterOf(source).matches(event)).toBe(true);
    expect(filterOf(source).matches({ type: "order.paid", data: { amount: 1, tags: ["us"] } })).toBe(false);
    expect(filterOf(source).matches({ type: "order.paid", data: { amount: 2, tags: [] } })).toBe(false);
    expect(filterOf(source).matches({ type: "invoice.paid", data: { amount: 1 } })).toBe(false);
    expect(
      filterOf({ $and: [{ type: "order.paid" }, { $not: { data: { amount: 49 } } }] }).matches(event),
    ).toBe(true);
  });

  test("does not see what an object inherits", () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const exists = filterOf(JSON.parse(`{"data":{"${name}":{"$exist":true}}}`));
      expect([name, exists.matches({ data: {} })]).toEqual([name, false]);
      expect([name, exists.matches(JSON.parse(`{"data":{"${name}":1}}`))]).toEqual([name, true]);
    }
    const polluting = filterOf(JSON.parse('{"data":{"__proto__":{"polluted":true}}}'));
    expect(polluting.matches(JSON.parse('{"data":{"__proto__":{"polluted":true}}}'))).toBe(true);
    expect(polluting.matches({ data: {} })).toBe(false);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

describe("the explanation names the clause that said no", () => {
  const event: Json = {
    type: "order.paid",
    data: { amount: 50, items: [{ sku: "a" }], note: "x".repeat(500) },
  };
  const rows: [string, Json, string][] = [
    [
      "a comparison",
      { data: { amount: { $gt: 100 } } },
      "/data/amount/$gt said no: it asks for 100, the value is 50.",
    ],
    [
      "a plain value",
      { type: "order.lost" },
      '/type said no: it asks for "order.lost", the value is "order.paid".',
    ],
    [
      "a missing field",
      { data: { total: { $gt: 1 } } },
      "/data/total/$gt said no: it asks for 1, the field is missing.",
    ],
    [
      "the first of several",
      { type: "order.paid", data: { amount: { $gte: 50, $lt: 50 } } },
      "/data/amount/$lt said no: it asks for 50, the value is 50.",
    ],
    [
      "$and",
      { $and: [{ type: "order.paid" }, { data: { amount: 1 } }] },
      "/$and/1/data/amount said no: it asks for 1, the value is 50.",
    ],
    [
      "$or",
      { data: { amount: { $or: [{ $eq: 1 }, { $eq: 2 }] } } },
      "/data/amount/$or said no: none of its 2 clauses holds.",
    ],
    ["$not", { data: { amount: { $not: { $eq: 50 } } } }, "/data/amount/$not said no: what it denies holds."],
    [
      "an object over an array",
      { data: { items: { sku: "b" } } },
      "/data/items said no: none of the 1 elements satisfies all of it.",
    ],
    [
      "a list",
      { data: { items: { $in: [1, 2] } } },
      "/data/items/$in said no: it asks for a list of 2, the value is a list of 1.",
    ],
    ["a name with a slash", { "a/b~": 1 }, "/a~1b~0 said no: it asks for 1, the field is missing."],
  ];
  for (const [name, source, explanation] of rows) {
    test(name, () => expect(filterOf(source).explain(event)).toEqual({ matched: false, explanation }));
  }

  test("and shows no more of a long value than a sentence holds", () => {
    const verdict = filterOf({ data: { note: "y" } }).explain(event);
    expect(verdict.matched ? "" : verdict.explanation).toHaveLength(
      '/data/note said no: it asks for "y", the value is .'.length + 81,
    );
  });

  test("and a match needs none", () => {
    expect(filterOf({ type: "order.paid" }).explain(event)).toEqual({ matched: true });
  });
});
