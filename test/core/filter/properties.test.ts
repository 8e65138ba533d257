import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileFilter } from "../../../src/core/filter/filter.ts";
import type { Json } from "../../../src/core/json/value.ts";
import { type JsonObject, objectOf, randomJson } from "../json/random.ts";

/** Small worlds, so that random filters often meet what they ask for. */
const NAMES = ["a", "b", "__proto__", "constructor", "0", "x.y"];
const name = fc.constantFrom(...NAMES);
const scalar = fc.constantFrom<Json>(null, true, false, 0, 1, 2, "", "a", "ab", "b", "1");

const { value, object: document } = randomJson(name, scalar, 3);

const comparison = fc.oneof(
  fc.tuple(fc.constantFrom("$eq", "$neq"), value),
  fc.tuple(fc.constantFrom("$gt", "$gte", "$lt", "$lte"), fc.constantFrom<Json>(0, 1, 2, "", "a", "ab")),
  fc.tuple(fc.constantFrom("$in", "$nin"), fc.array(value, { minLength: 1, maxLength: 3 })),
  fc.tuple(fc.constantFrom("$startsWith", "$endsWith", "$contains"), fc.constantFrom<Json>("", "a", "b")),
  fc.tuple(fc.constant("$exist"), fc.boolean()),
);

/** Objects that may stand under a field (`condition`) and as a whole filter (`fields`). */
const { condition, fields } = fc.letrec<{ condition: JsonObject; fields: JsonObject; under: Json }>((tie) => {
  const logic = (inner: fc.Arbitrary<JsonObject>) =>
    fc.oneof<fc.Arbitrary<[string, Json]>[]>(
      fc.tuple(fc.constantFrom("$and", "$or"), fc.array(inner, { minLength: 1, maxLength: 3 })),
      fc.tuple(fc.constant("$not"), inner),
    );
  const object = (...entries: fc.Arbitrary<[string, Json]>[]) =>
    fc.array(fc.oneof(...entries), { minLength: 1, maxLength: 3 }).map(objectOf);
  return {
    under: fc.oneof(
      { maxDepth: 5 },
      value.filter((plain) => typeof plain !== "object" || plain === null || Array.isArray(plain)),
      tie("condition"),
    ),
    condition: fc.oneof(
      { maxDepth: 5 },
      object(comparison),
      object(comparison, logic(tie("condition"))),
      tie("fields"),
    ),
    fields: fc.oneof(
      { maxDepth: 5 },
      object(fc.tuple(name, tie("under"))),
      object(fc.tuple(name, tie("under")), logic(tie("fields"))),
    ),
  };
});

function matches(source: Json, subject: Json): boolean {
  const compiled = compileFilter(source);
  if (!compiled.ok) throw new Error(`${JSON.stringify(source)}: ${JSON.stringify(compiled.faults)}`);
  const matched = compiled.filter.matches(subject);
  expect(compiled.filter.explain(subject).matched).toBe(matched);
  return matched;
}

/** Filters that the bounds admit; larger ones are another test's matter. */
function fits(source: Json): boolean {
  return compileFilter(source).ok;
}

const RUNS = { numRuns: 5000 };

/**
 * The table of operators once more, as an interpreter without any of the code under test. MISSING is no
 * JSON value.
 */
const MISSING = undefined;
type Subject = Json | undefined;

function same(a: Subject, b: Json): boolean {
  return a !== MISSING && canonical(a) === canonical(b);
}

function canonical(json: Json): string {
  if (Array.isArray(json)) return `[${json.map(canonical).join()}]`;
  if (typeof json !== "object" || json === null) return JSON.stringify(json);
  const entries = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`).join()}}`;
}

function ordered(subject: Subject, operand: Json, ...signs: number[]): boolean {
  if (typeof subject !== typeof operand || subject === null || operand === null || subject === MISSING)
    return false;
  return signs.includes(subject === operand ? 0 : subject > operand ? 1 : -1);
}

function text(subject: Subject, operand: Json, pattern: (escaped: string) => string): boolean {
  const escaped = typeof operand === "string" ? operand.replaceAll(/[^a-z0-9]/g, "\\$&") : "";
  return typeof subject === "string" && new RegExp(pattern(escaped), "s").test(subject);
}

const POSITIVE: Record<string, (subject: Subject, operand: Json) => boolean> = {
  $eq: same,
  $in: (subject, operand) => (operand as Json[]).filter((member) => same(subject, member)).length > 0,
  $gt: (subject, operand) => ordered(subject, operand, 1),
  $gte: (subject, operand) => ordered(subject, operand, 0, 1),
  $lt: (subject, operand) => ordered(subject, operand, -1),
  $lte: (subject, operand) => ordered(subject, operand, 0, -1),
  $startsWith: (subject, operand) => text(subject, operand, (part) => `^${part}`),
  $endsWith: (subject, operand) => text(subject, operand, (part) => `${part}$`),
  $contains: (subject, operand) => text(subject, operand, (part) => part),
};

function reference(source: Json, subject: Subject, maySpread: boolean): boolean {
  const elements = maySpread && Array.isArray(subject) ? subject : [];
  if (typeof source !== "object" || source === null || Array.isArray(source)) {
    return [subject, ...elements].some((one) => same(one, source));
  }
  const hasFields = Object.keys(source).some((key) => !key.startsWith("$"));
  if (hasFields && maySpread && Array.isArray(subject))
    return subject.some((one) => reference(source, one, false));
  return Object.entries(source).every(([key, operand]) => {
    const inner = maySpread && !hasFields;
    if (key === "$and") return (operand as Json[]).every((part) => reference(part, subject, inner));
    if (key === "$or") return (operand as Json[]).some((part) => reference(part, subject, inner));
    if (key === "$not") return !reference(operand, subject, inner);
    if (key === "$neq") return !reference({ $eq: operand }, subject, inner);
    if (key === "$nin") return !reference({ $in: operand }, subject, inner);
    if (key === "$exist") return (subject === MISSING) !== operand;
    const positive = Object.hasOwn(POSITIVE, key) ? POSITIVE[key] : undefined;
    if (positive !== undefined) return [subject, ...elements].some((one) => positive(one, operand));
    const isObject = typeof subject === "object" && subject !== null && !Array.isArray(subject);
    const own = isObject ? Object.entries(subject).find(([field]) => field === key)?.[1] : MISSING;
    return reference(operand, own, true);
  });
}

test("a filter says what a naive reading of the table says", () => {
  let matched = 0;
  fc.assert(
    fc.property(fields.filter(fits), document, (filter, subject) => {
      const verdict = reference(filter, subject, true);
      if (verdict) matched++;
      expect(matches(filter, subject)).toBe(verdict);
    }),
    RUNS,
  );
  expect(matched).toBeGreaterThan(RUNS.numRuns / 20);
  expect(matched).toBeLessThan((RUNS.numRuns * 19) / 20);
});

test("a condition on one field says what a naive reading of the table says", () => {
  fc.assert(
    fc.property(condition, value, (operand, subject) => {
      fc.pre(fits({ a: operand }));
      expect(matches({ a: operand }, { a: subject })).toBe(reference({ a: operand }, { a: subject }, true));
      expect(matches({ a: operand }, {})).toBe(reference({ a: operand }, {}, true));
    }),
    RUNS,
  );
});

test("$not at the top is true exactly where the filter is false", () => {
  fc.assert(
    fc.property(fields, document, (filter, subject) => {
      fc.pre(fits({ $not: filter }));
      expect(matches({ $not: filter }, subject)).toBe(!matches(filter, subject));
    }),
    RUNS,
  );
});

test("$not under a field is true exactly where the condition is false, missing fields included", () => {
  fc.assert(
    fc.property(condition, document, (inner, subject) => {
      fc.pre(fits({ a: { $not: inner } }));
      expect(matches({ a: { $not: inner } }, subject)).toBe(!matches({ a: inner }, subject));
    }),
    RUNS,
  );
});

test("$not at any depth is true exactly where its clause is false for the same value", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 3 }),
      condition,
      value,
      (path, inner, leaf) => {
        const under = (last: Json): Json => path.reduceRight<Json>((below, key) => ({ [key]: below }), last);
        fc.pre(fits(under({ $not: inner })));
        expect(matches(under({ $not: inner }), under(leaf))).toBe(!matches(under(inner), under(leaf)));
      },
    ),
    RUNS,
  );
});

test("$neq and $nin are the complements of $eq and $in", () => {
  fc.assert(
    fc.property(
      value,
      fc.array(value, { minLength: 1, maxLength: 3 }),
      document,
      (operand, list, subject) => {
        expect(matches({ a: { $neq: operand } }, subject)).toBe(!matches({ a: { $eq: operand } }, subject));
        expect(matches({ a: { $nin: list } }, subject)).toBe(!matches({ a: { $in: list } }, subject));
      },
    ),
    RUNS,
  );
});

test("a filter changes nothing that it reads", () => {
  fc.assert(
    fc.property(fields.filter(fits), document, (filter, subject) => {
      const before = JSON.stringify([filter, subject]);
      matches(filter, subject);
      expect(JSON.stringify([filter, subject])).toBe(before);
    }),
    { numRuns: 1000 },
  );
});
