import { describe, expect, spyOn, test } from "bun:test";
import type { Json } from "../../../src/core/json/value.ts";
import { limit } from "../../../src/core/limits.ts";
import { compileSchema, type EventSchema } from "../../../src/core/schema/schema.ts";

function schemaOf(source: Json): EventSchema {
  const compiled = compileSchema(source);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.schema;
}

describe("what violates a schema is answered with pointers into the data", () => {
  const order = schemaOf({
    type: "object",
    required: ["id", "items"],
    properties: {
      id: { type: "string", pattern: "^ord_" },
      items: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          required: ["sku"],
          properties: { sku: { type: "string" }, quantity: { type: "integer", minimum: 1 } },
          additionalProperties: false,
        },
      },
      "a/b~c": { type: "number" },
      state: { enum: ["paid", "open"] },
      either: { anyOf: [{ type: "string" }, { type: "object", required: ["x"] }] },
    },
  });
  const good: { [field: string]: Json } = { id: "ord_1", items: [{ sku: "a" }] };
  const rows: [name: string, data: Json, faults: [pointer: string, detail: string][]][] = [
    ["nothing", good, []],
    ["the type of the whole", [], [["", "The type must be object; this is a list of 0."]]],
    ["a missing field", { items: [{ sku: "a" }] }, [["/id", "This field is required."]]],
    ["a wrong type", { ...good, items: {} }, [["/items", "The type must be array; this is an object."]]],
    ["a pattern", { ...good, id: "x" }, [["/id", 'The text must match the pattern "^ord_".']]],
    [
      "an enum",
      { ...good, state: "lost" },
      [["/state", 'The value must be one of "paid", "open"; this is "lost".']],
    ],
    [
      "a name with a slash and a tilde",
      { ...good, "a/b~c": "1" },
      [["/a~1b~0c", 'The type must be number; this is "1".']],
    ],
    [
      "an alternative",
      { ...good, either: 1 },
      [["/either", 'The value fits none of the 2 alternatives of "anyOf".']],
    ],
    [
      "an additional field",
      { ...good, items: [{ sku: "a", color: 1 }] },
      [["/items/0/color", "Nothing is allowed here."]],
    ],
    [
      "several places",
      { id: 5, items: [{ sku: "a" }, { quantity: 0 }] },
      [
        ["/id", "The type must be string; this is 5."],
        ["/items/1/sku", "This field is required."],
        ["/items/1/quantity", "The number must be at least 1; this is 0."],
      ],
    ],
  ];
  for (const [name, data, faults] of rows) {
    test(name, () => {
      const found = order.validate(data).map(({ pointer, detail }): [string, string] => [pointer, detail]);
      expect(found).toEqual(faults);
    });
  }

  test("at most twenty, so that the answer stays readable", () => {
    expect(
      schemaOf({ items: { type: "string" } }).validate(Array.from({ length: 1000 }, () => 1)),
    ).toHaveLength(20);
  });

  test("and fewer where their pointers are long", () => {
    const data = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => ["x".repeat(10_000) + index, 1]),
    );
    expect(schemaOf({ additionalProperties: false }).validate(data)).toHaveLength(2);
  });

  test("and one schema judges many documents, each on its own", () => {
    for (let round = 0; round < 3; round++) {
      expect(order.validate({})).toHaveLength(2);
      expect(order.validate(good)).toEqual([]);
    }
  });
});

describe("a schema that is itself wrong is refused with a pointer", () => {
  const draft07 = "http://json-schema.org/draft-07/schema#";
  const rows: [source: unknown, pointer: string][] = [
    [true, ""],
    [false, ""],
    [null, ""],
    [[], ""],
    ["object", ""],
    [undefined, ""],
    [{ const: 1n }, "/const"],
    [{ $schema: "http://json-schema.org/draft-04/schema#" }, "/$schema"],
    [{ $schema: "https://json-schema.org/draft/2019-09/schema" }, "/$schema"],
    [{ $schema: "https://example.com/meta" }, "/$schema"],
    [{ $schema: 7 }, "/$schema"],
    [{ properties: { a: { $schema: draft07 } } }, "/properties/a/$schema"],
    [{ type: "strnig" }, "/type"],
    [{ type: [] }, "/type"],
    [{ type: ["string", "string"] }, "/type"],
    [{ type: ["string", 1] }, "/type"],
    [{ type: null }, "/type"],
    [{ enum: "a" }, "/enum"],
    [{ minimum: "1" }, "/minimum"],
    [{ exclusiveMinimum: true }, "/exclusiveMinimum"],
    [{ multipleOf: 0 }, "/multipleOf"],
    [{ multipleOf: -1 }, "/multipleOf"],
    [{ minLength: -1 }, "/minLength"],
    [{ maxLength: 1.5 }, "/maxLength"],
    [{ minItems: "1" }, "/minItems"],
    [{ maxProperties: null }, "/maxProperties"],
    [{ minContains: -1 }, "/minContains"],
    [{ uniqueItems: "yes" }, "/uniqueItems"],
    [{ pattern: 1 }, "/pattern"],
    [{ pattern: "(" }, "/pattern"],
    [{ patternProperties: { "(": true } }, "/patternProperties/("],
    [{ required: "a" }, "/required"],
    [{ required: true }, "/required"],
    [{ required: ["a", "a"] }, "/required"],
    [{ required: [1] }, "/required"],
    [{ properties: [] }, "/properties"],
    [{ properties: { a: { type: "x" } } }, "/properties/a/type"],
    [{ properties: { a: 1 } }, "/properties/a"],
    [{ properties: { "a/b": null } }, "/properties/a~1b"],
    [{ additionalProperties: "no" }, "/additionalProperties"],
    [{ propertyNames: [] }, "/propertyNames"],
    [{ items: [{ type: "string" }] }, "/items"],
    [{ items: 5 }, "/items"],
    [{ prefixItems: {} }, "/prefixItems"],
    [{ prefixItems: [] }, "/prefixItems"],
    [{ prefixItems: [true, 3] }, "/prefixItems/1"],
    [{ contains: 1 }, "/contains"],
    [{ unevaluatedItems: 1 }, "/unevaluatedItems"],
    [{ unevaluatedProperties: null }, "/unevaluatedProperties"],
    [{ allOf: [] }, "/allOf"],
    [{ anyOf: {} }, "/anyOf"],
    [{ oneOf: [true, "x"] }, "/oneOf/1"],
    [{ not: null }, "/not"],
    [{ if: 1 }, "/if"],
    [{ else: "x" }, "/else"],
    [{ dependentRequired: { a: "b" } }, "/dependentRequired/a"],
    [{ dependentRequired: [] }, "/dependentRequired"],
    [{ dependentSchemas: { a: ["b"] } }, "/dependentSchemas/a"],
    [{ dependencies: { a: 1 } }, "/dependencies/a"],
    [{ $defs: { a: { minimum: null } } }, "/$defs/a/minimum"],
    [{ $defs: [] }, "/$defs"],
    [{ definitions: { a: 1 } }, "/definitions/a"],
    [{ $ref: 1 }, "/$ref"],
    [{ $id: 1 }, "/$id"],
    [{ title: 1 }, "/title"],
    [{ format: {} }, "/format"],
    [{ examples: {} }, "/examples"],
    [{ deprecated: "yes" }, "/deprecated"],
    [{ contentSchema: 1 }, "/contentSchema"],
    [{ $schema: draft07, items: [1] }, "/items/0"],
    [{ $schema: draft07, additionalItems: 1 }, "/additionalItems"],
  ];
  for (const [source, pointer] of rows) {
    test(`${Bun.inspect(source).replaceAll(/\s+/g, " ")} at "${pointer}"`, () => {
      const compiled = compileSchema(source);
      const faults = compiled.ok ? [] : compiled.faults;
      expect(faults.map((fault) => fault.pointer)).toEqual([pointer]);
      for (const { detail } of faults) expect(detail).toMatch(/\.$/);
    });
  }

  test("all faults at once", () => {
    const compiled = compileSchema({
      type: "x",
      properties: { a: { minimum: "1" }, b: { $ref: "#/nowhere" } },
    });
    expect(compiled.ok ? [] : compiled.faults.map((fault) => fault.pointer)).toEqual([
      "/type",
      "/properties/a/minimum",
      "/properties/b/$ref",
    ]);
  });

  test("what a dialect does not know is no fault", () => {
    expect(compileSchema({ $schema: draft07, prefixItems: 1, $defs: 1, minContains: "x" }).ok).toBe(true);
    expect(compileSchema({ type: "object", "x-internal": { type: 1 }, typo: [] }).ok).toBe(true);
  });
});

describe("the bounds of a schema", () => {
  function nested(levels: number): Json {
    return levels === 1 ? {} : { not: nested(levels - 1) };
  }

  test("32 levels are accepted, 33 refused where the last begins", () => {
    expect(compileSchema(nested(32)).ok).toBe(true);
    const compiled = compileSchema(nested(33));
    expect(compiled.ok ? [] : compiled.faults).toEqual([
      { pointer: "/not".repeat(32), detail: "A schema nests at most 32 levels deep." },
    ]);
  });

  test("32 KiB are accepted, one byte more refused", () => {
    const room = limit("schemaBytesMax") - '{"title":""}'.length;
    expect(compileSchema({ title: "x".repeat(room) }).ok).toBe(true);
    const compiled = compileSchema({ title: "x".repeat(room + 1) });
    expect(compiled.ok ? [] : compiled.faults).toEqual([
      { pointer: "", detail: "A schema is at most 32768 bytes of JSON." },
    ]);
  });

  test("a nesting bomb is refused without being walked through", () => {
    expect(compileSchema(JSON.parse(`${'{"not":'.repeat(50_000)}{}${"}".repeat(50_000)}`)).ok).toBe(false);
  });
});

test.each<[keyword: string, operand: Json, data: Json]>([
  ["type", "null", "long"],
  ["enum", ["a"], "long"],
  ["pattern", "^a", "long"],
  ["const", "a", "long"],
  ["propertyNames", { maxLength: 1 }, { long: 1 }],
  ["uniqueItems", true, ["long", "long"]],
])("what violates %s is put into words only where somebody reads them", (keyword, operand, data) => {
  const rule = { [keyword]: operand };
  const tried = schemaOf({ if: { anyOf: [rule, rule] }, contains: rule, oneOf: [rule, { not: rule }] });
  const asked = schemaOf(rule);
  using written = spyOn(JSON, "stringify");
  expect(tried.validate(data)).toEqual(expect.any(Array));
  const unread = written.mock.calls.length;
  expect(asked.validate(data)).toHaveLength(1);
  expect([unread, written.mock.calls.length]).toEqual([0, 1]);
});
