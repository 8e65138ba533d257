/**
 * What one evaluation of a filter may cost: steps, not milliseconds, so that the same event is always
 * judged alike.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileFilter, type Filter } from "../../../src/core/filter/filter.ts";
import type { Json } from "../../../src/core/json/value.ts";
import { limit } from "../../../src/core/limits.ts";

const STEPS_MAX = limit("filterStepsMax");
/** The last comparison of an evaluation may exceed the budget: by the fields of one object of a megabyte. */
const OVERSHOOT_MAX = 600_000;

function filterOf(source: Json): Filter {
  const compiled = compileFilter(source);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.filter;
}

/** A filter of `count` clauses on `data.x`, all of which must hold. */
function all(count: number, clause: (at: number) => Json): Filter {
  return filterOf({ data: { x: { $and: Array.from({ length: count }, (_, at) => clause(at)) } } });
}

const numbers = (count: number): Json => Array.from({ length: count }, (_, at) => at % 2);
const wide = Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`k${at}`, 1]));
/** What a search by the built-in engine takes seconds for. */
const middle = `${"a".repeat(3000)}b${"a".repeat(3000)}`;

const hostile: [string, Filter, Json][] = [
  ["a list of 400,000 numbers, 120 clauses", all(120, (at) => ({ $neq: at + 5 })), numbers(400_000)],
  [
    "a list of 100,000 objects, 60 clauses",
    all(60, (at) => ({ $not: { a: at + 5 } })),
    Array.from({ length: 100_000 }, () => ({ a: 1 })),
  ],
  [
    "lists in a list",
    all(60, (at) => ({ $neq: [1, at + 5] })),
    Array.from({ length: 100_000 }, () => [1, 2]),
  ],
  [
    "lists, none of which is one of 250 objects",
    filterOf({ data: { x: { $in: Array.from({ length: 250 }, () => ({})) } } }),
    Array.from({ length: 20_000 }, () => []),
  ],
  [
    "an object of 90,000 fields, none of 250 objects",
    filterOf({ data: { x: { $nin: Array.from({ length: 250 }, () => ({})) } } }),
    wide,
  ],
  ["an object of 90,000 fields", all(80, () => ({ $neq: { k7: 1 } })), wide],
  [
    "a text made to hold up a search",
    filterOf({ data: { x: { $contains: middle } } }),
    "a".repeat(1_000_000),
  ],
  [
    "long texts that are nearly equal",
    all(14, (at) => ({ $neq: `${"a".repeat(1000)}${at % 10}` })),
    Array.from({ length: 1000 }, () => `${"a".repeat(1000)}b`),
  ],
  [
    "long texts in objects, none of which is one of the list",
    filterOf({
      data: { x: { $in: Array.from({ length: 14 }, (_, at) => ({ a: `${"a".repeat(1000)}${at % 10}` })) } },
    }),
    Array.from({ length: 1000 }, () => ({ a: `${"a".repeat(1000)}b` })),
  ],
  [
    "long texts that one of a list may be",
    all(14, (at) => ({ $nin: [`${"a".repeat(1000)}${at % 10}`] })),
    Array.from({ length: 1000 }, () => `${"a".repeat(1000)}b`),
  ],
  [
    "long texts that begin alike",
    all(60, () => ({ $not: { $gt: `${"a".repeat(120)}b` } })),
    Array.from({ length: 8000 }, () => "a".repeat(130)),
  ],
];

describe("an event that takes more steps than an evaluation may", () => {
  test.each(hostile)("%s: ends soon, and does not match", (_name, filter, x) => {
    const envelope: Json = { type: "a.b", data: { x } };
    const { judgement, steps } = filter.evaluate(envelope);
    expect([judgement, filter.matches(envelope)]).toEqual(["exhausted", false]);
    expect(steps).toBeLessThan(STEPS_MAX + OVERSHOOT_MAX);
    expect(filter.explain(envelope)).toEqual({
      matched: false,
      explanation: "Judging this event takes more than 600000 steps, so it does not match.",
    });
  });

  test("matches neither a filter nor its opposite", () => {
    const envelope: Json = { data: { x: numbers(400_000) } };
    const positive: Json = { data: { x: { $in: [5, 6] }, $or: [{ x: 7 }, { x: 8 }] } };
    for (const source of [positive, { $not: positive }, { $not: { $not: positive } }]) {
      expect(filterOf({ $and: [{ data: { x: { $neq: 9 } } }, source] }).evaluate(envelope).judgement).toBe(
        "exhausted",
      );
    }
  });
});

describe("within the steps every judgement is exact", () => {
  test("one clause over the longest list that an event may hold", () => {
    const x = numbers(524_000);
    const envelope: Json = { data: { x } };
    expect(filterOf({ data: { x: 7 } }).evaluate(envelope).judgement).toBe("unmatched");
    expect(filterOf({ data: { x: { $not: { $eq: 7 } } } }).evaluate(envelope).judgement).toBe("matched");
    expect(filterOf({ data: { x: { $neq: 7 } } }).evaluate(envelope).judgement).toBe("matched");
    expect(filterOf({ data: { x: { $nin: [5, "a"] } } }).evaluate(envelope).judgement).toBe("matched");
    expect(filterOf({ data: { x: { $lt: 0 } } }).evaluate(envelope).judgement).toBe("unmatched");
  });

  test("a usual event takes few", () => {
    const envelope: Json = {
      type: "invoice.paid",
      data: { customer: "c_7", total: 990, lines: [{ sku: "a" }] },
    };
    const filter = filterOf({ data: { customer: "c_7", total: { $gte: 100 }, lines: { sku: "a" } } });
    expect(filter.evaluate(envelope)).toEqual({ judgement: "matched", steps: expect.any(Number) });
    expect(filter.evaluate(envelope).steps).toBeLessThan(20);
  });

  test("$contains finds what the built-in search finds, also with long parts", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 60 });
    const part = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 0, maxLength: 12 });
    const property = fc.property(text, part, (x, operand) => {
      expect(filterOf({ data: { x: { $contains: operand } } }).matches({ data: { x } })).toBe(
        x.includes(operand),
      );
    });
    fc.assert(property, { numRuns: 5000 });
  });

  test("a filter and its opposite never agree, in lists as long as the steps allow", () => {
    const property = fc.property(fc.integer({ min: 0, max: 3 }), fc.nat({ max: 1500 }), (wanted, length) => {
      const envelope: Json = {
        data: { x: Array.from({ length }, (_, at) => ({ n: at % 3, s: ["a", "b"] })) },
      };
      const source: Json = { data: { x: { n: wanted, s: { $nin: ["c", wanted] } } } };
      expect(filterOf({ $not: source }).matches(envelope)).toBe(!filterOf(source).matches(envelope));
    });
    fc.assert(property, { numRuns: 500 });
  });
});
