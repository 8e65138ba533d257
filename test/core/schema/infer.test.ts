import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Json } from "../../../src/core/json/value.ts";
import { compileSchema } from "../../../src/core/schema/schema.ts";
import { SchemaInference } from "../../../src/core/schema/infer.ts";

function inferSchema(samples: readonly Json[]): Json {
  const inference = new SchemaInference();
  for (const sample of samples) inference.add(sample);
  return inference.propose();
}

const $schema = "https://json-schema.org/draft/2020-12/schema";

describe("the proposal", () => {
  const rows: [name: string, samples: Json[], proposal: { [keyword: string]: Json }][] = [
    ["of nothing says nothing", [], {}],
    ["names the type", [{}], { type: "object" }],
    ["names all types that were seen", [1, "a", null], { type: ["integer", "null", "string"] }],
    ["says number where some are not whole", [1, 1.5], { type: "number" }],
    ["says integer where all are whole", [1, 2], { type: "integer" }],
    [
      "requires what was always there",
      [{ a: 1, b: "x" }, { a: 2 }],
      { type: "object", properties: { a: { type: "integer" }, b: { type: "string" } }, required: ["a"] },
    ],
    [
      "requires nothing where nothing was always there",
      [{ a: 1 }, {}],
      { type: "object", properties: { a: { type: "integer" } } },
    ],
    [
      "counts null as being there",
      [{ a: null }, { a: 1 }],
      { type: "object", properties: { a: { type: ["integer", "null"] } }, required: ["a"] },
    ],
    [
      "merges the elements of lists",
      [{ l: [1, "a"] }, { l: [] }],
      {
        type: "object",
        properties: { l: { type: "array", items: { type: ["integer", "string"] } } },
        required: ["l"],
      },
    ],
    ["says nothing of elements never seen", [[]], { type: "array" }],
    [
      "merges objects in lists",
      [[{ a: 1, b: 2 }, { a: 3 }]],
      {
        type: "array",
        items: {
          type: "object",
          properties: { a: { type: "integer" }, b: { type: "integer" } },
          required: ["a"],
        },
      },
    ],
    [
      "guesses no enum",
      [{ s: "open" }, { s: "open" }],
      { type: "object", properties: { s: { type: "string" } }, required: ["s"] },
    ],
    [
      "keeps names that reach for prototypes",
      [JSON.parse('{"__proto__":1,"constructor":2}')],
      {
        type: "object",
        properties: JSON.parse('{"__proto__":{"type":"integer"},"constructor":{"type":"integer"}}'),
        required: ["__proto__", "constructor"],
      },
    ],
  ];
  for (const [name, samples, proposal] of rows) {
    test(name, () =>
      expect(JSON.stringify(inferSchema(samples))).toBe(JSON.stringify({ $schema, ...proposal })),
    );
  }

  test("does not list the keys of a map", () => {
    const map = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`id${index}`, 1]));
    expect(inferSchema([{ map }])).toEqual({
      $schema,
      type: "object",
      properties: { map: { type: "object" } },
      required: ["map"],
    });
    expect(inferSchema([{ ["x".repeat(200)]: 1 }])).toEqual({ $schema, type: "object" });
  });
});

describe("the proposal is a schema of ours, whatever the samples are", () => {
  function nested(levels: number): Json {
    return levels === 0 ? 1 : { a: [nested(levels - 1)] };
  }

  function wide(levels: number): Json {
    if (levels === 0) return 1;
    return Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`name${index}`, wide(levels - 1)]));
  }

  const rows: [string, Json[]][] = [
    ["deep", [nested(31)]],
    ["wide", [wide(4)]],
    [
      "wide at the top",
      [
        Object.fromEntries(
          Array.from({ length: 100 }, (_, index) => [`${"é".repeat(120)}${index}`, wide(1)]),
        ),
      ],
    ],
  ];
  for (const [name, samples] of rows) {
    test(name, () => {
      const compiled = compileSchema(inferSchema(samples));
      expect(compiled.ok ? [] : compiled.faults).toEqual([]);
      for (const sample of samples) expect(compiled.ok && compiled.schema.validate(sample)).toEqual([]);
    });
  }

  test("and every random sample satisfies it", () => {
    const sample = fc.jsonValue({ maxDepth: 5 }).map((value): Json => JSON.parse(JSON.stringify(value)));
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 5 }), (samples) => {
        const compiled = compileSchema(inferSchema(samples));
        expect(compiled.ok).toBe(true);
        for (const one of samples) expect(compiled.ok && compiled.schema.validate(one)).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });
});
