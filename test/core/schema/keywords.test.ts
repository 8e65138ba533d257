import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/core/json/value.ts";
import { compileSchema } from "../../../src/core/schema/schema.ts";

/** What each keyword means, in the manner of the official JSON-Schema-Test-Suite. */

interface Row {
  schema: { [keyword: string]: Json };
  valid: Json[];
  invalid: Json[];
}

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";
const DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema";

function judgeAll(rows: Row[], dialect: string): void {
  for (const { schema, valid, invalid } of rows) {
    test(JSON.stringify(schema), () => {
      const compiled = compileSchema({ $schema: dialect, ...schema });
      if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
      for (const data of valid) expect([data, compiled.schema.validate(data)]).toEqual([data, []]);
      for (const data of invalid)
        expect([data, compiled.schema.validate(data).length > 0]).toEqual([data, true]);
    });
  }
}

/** Written as text, as an object literal with a `then` would look like a promise. */
function branches(condition: Json, consequence: Json, alternative: Json): { [keyword: string]: Json } {
  const [one, two, three] = [condition, consequence, alternative].map((part) => JSON.stringify(part));
  return JSON.parse(`{"if":${one},"then":${two},"else":${three}}`);
}

const protoField: Json = JSON.parse('{"__proto__":12}');
const protoText: Json = JSON.parse('{"__proto__":"foo"}');
const protoSchema: { [keyword: string]: Json } = JSON.parse(
  '{"properties":{"__proto__":{"type":"number"},"constructor":{"type":"number"}}}',
);

const COMMON: Row[] = [
  { schema: {}, valid: [1, "a", null, {}, []], invalid: [] },
  { schema: { type: "integer" }, valid: [1, 1.0, -3, 1e300], invalid: [1.1, "1", true, null, {}, []] },
  { schema: { type: "number" }, valid: [1, 1.1], invalid: ["1", null] },
  { schema: { type: "string" }, valid: ["", "1"], invalid: [1, null, []] },
  { schema: { type: "object" }, valid: [{}], invalid: [[], null, "{}"] },
  { schema: { type: "array" }, valid: [[]], invalid: [{}, "[]", null] },
  { schema: { type: "boolean" }, valid: [true, false], invalid: [0, "", null] },
  { schema: { type: "null" }, valid: [null], invalid: [0, false, "", {}] },
  { schema: { type: ["integer", "null"] }, valid: [1, null], invalid: [1.5, "null"] },
  {
    schema: { enum: [1, "a", null, [true], { a: 1, b: [2] }] },
    valid: [1, "a", null, [true], { b: [2], a: 1 }],
    invalid: [true, "1", [1], { a: 1 }, {}],
  },
  { schema: { enum: [0, false] }, valid: [0, false, -0], invalid: ["", null, [0]] },
  { schema: { enum: [] }, valid: [], invalid: [1, null] },
  { schema: { const: null }, valid: [null], invalid: [0, "", {}] },
  { schema: { const: { a: false } }, valid: [{ a: false }], invalid: [{ a: 0 }, {}, [false]] },
  { schema: { minimum: 1.1 }, valid: [1.1, 2, "x"], invalid: [0.6] },
  { schema: { maximum: 3 }, valid: [3, -1, "x"], invalid: [3.1] },
  { schema: { exclusiveMinimum: 1.1 }, valid: [1.2, null], invalid: [1.1, 0.6] },
  { schema: { exclusiveMaximum: 3 }, valid: [2.9], invalid: [3, 3.5] },
  { schema: { multipleOf: 2 }, valid: [10, 0, -4, "x"], invalid: [7] },
  { schema: { multipleOf: 0.01 }, valid: [0.07, 4.35, 19.99, 0, 1e22], invalid: [0.075] },
  { schema: { multipleOf: 0.0001 }, valid: [0.0075], invalid: [0.00751] },
  { schema: { type: "integer", multipleOf: 0.123456789 }, valid: [], invalid: [1e308] },
  { schema: { multipleOf: 1e-8 }, valid: [12391239123, 1e-7], invalid: [1e-9] },
  { schema: { minLength: 2 }, valid: ["ab", "é😀", 1], invalid: ["a", "😀"] },
  { schema: { maxLength: 2 }, valid: ["ab", "😀😀", "", []], invalid: ["abc", "a😀b"] },
  { schema: { pattern: "^a*$" }, valid: ["", "aaa", 1, null], invalid: ["aab"] },
  { schema: { pattern: "a+" }, valid: ["xxaayy"], invalid: ["xxyy"] },
  { schema: { minItems: 1, maxItems: 2 }, valid: [[1], [1, 2], "", {}], invalid: [[], [1, 2, 3]] },
  {
    schema: { uniqueItems: true },
    valid: [[1, 2], [1, true], [0, false], [[1], [true]], [{ a: 1 }, { a: true }], ["1", 1], [], [{}, []]],
    invalid: [
      [1, 1],
      [1.0, 1],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [
        [[1], "x"],
        [[1], "x"],
      ],
      [null, 0, null],
    ],
  },
  { schema: { uniqueItems: false }, valid: [[1, 1]], invalid: [] },
  { schema: { contains: { minimum: 5 } }, valid: [[1, 5], 3, {}], invalid: [[1, 2], []] },
  {
    schema: { minProperties: 1, maxProperties: 2 },
    valid: [{ a: 1 }, { a: 1, b: 2 }, []],
    invalid: [{}, { a: 1, b: 2, c: 3 }],
  },
  {
    schema: { required: ["a", "toString"] },
    valid: [{ a: null, toString: 1 }, [], "x"],
    invalid: [{ a: 1 }, {}, { b: 1, toString: 1 }],
  },
  {
    schema: { required: ["a\nb", 'a"b', "a/b~c", ""] },
    valid: [{ "a\nb": 1, 'a"b': 1, "a/b~c": 1, "": 1 }],
    invalid: [{ "a\nb": 1 }],
  },
  {
    schema: { properties: { a: { type: "string" }, b: true, c: false } },
    valid: [{}, { a: "x", b: 1, d: 1 }, []],
    invalid: [{ a: 1 }, { c: 1 }],
  },
  { schema: protoSchema, valid: [{}, protoField, []], invalid: [protoText, { constructor: { length: 37 } }] },
  {
    schema: { patternProperties: { "f.*o": { type: "integer" }, "^b": false } },
    valid: [{ foo: 1, fooo: 2 }, { x: "y" }],
    invalid: [{ foo: "x" }, { bar: 1 }],
  },
  {
    schema: { properties: { a: {} }, patternProperties: { "^v": {} }, additionalProperties: false },
    valid: [{ a: 1, vroom: 2 }, {}],
    invalid: [{ a: 1, quux: 2 }],
  },
  { schema: { additionalProperties: { type: "boolean" } }, valid: [{ a: true }], invalid: [{ a: 1 }] },
  { schema: { propertyNames: { maxLength: 3 } }, valid: [{ abc: 1 }, {}, []], invalid: [{ abcd: 1 }] },
  { schema: { propertyNames: false }, valid: [{}], invalid: [{ a: 1 }] },
  {
    schema: { dependencies: { a: ["b"], c: { minProperties: 2 } } },
    valid: [{}, { b: 1 }, { a: 1, b: 2 }, { c: 1, d: 2 }, []],
    invalid: [{ a: 1 }, { c: 1 }],
  },
  { schema: { allOf: [{ minimum: 1 }, { maximum: 3 }] }, valid: [2], invalid: [0, 4] },
  { schema: { anyOf: [{ type: "integer" }, { minimum: 2 }] }, valid: [1, 2.5], invalid: [1.5] },
  { schema: { oneOf: [{ type: "integer" }, { minimum: 2 }] }, valid: [1, 2.5], invalid: [3, 1.5] },
  { schema: { oneOf: [true, true] }, valid: [], invalid: [1] },
  { schema: { not: { type: "integer" } }, valid: ["x"], invalid: [1] },
  { schema: { not: { not: { type: "integer" } } }, valid: [1], invalid: ["x"] },
  {
    schema: branches({ exclusiveMaximum: 0 }, { minimum: -10 }, { multipleOf: 2 }),
    valid: [-1, 4],
    invalid: [-100, 3],
  },
  { schema: JSON.parse('{"then":{"const":0}}'), valid: [1], invalid: [] },
  { schema: { format: "email" }, valid: ["no address"], invalid: [] },
  {
    schema: { definitions: { a: { type: "integer" } }, properties: { x: { $ref: "#/definitions/a" } } },
    valid: [{ x: 1 }],
    invalid: [{ x: "1" }],
  },
  { schema: { "x-made-up": { type: 5 }, constructor: 1 }, valid: [1, "a"], invalid: [] },
];

const IN_2020: Row[] = [
  { schema: { items: { type: "integer" } }, valid: [[1, 2], [], { "0": "x" }], invalid: [[1, "x"]] },
  {
    schema: { prefixItems: [{ type: "integer" }, { type: "string" }] },
    valid: [[1, "x"], [1], [], [1, "x", null]],
    invalid: [["x"]],
  },
  { schema: { prefixItems: [{}], items: false }, valid: [[1], []], invalid: [[1, 2]] },
  {
    schema: { contains: { const: 1 }, minContains: 2, maxContains: 3 },
    valid: [
      [1, 1],
      [1, 2, 1, 1],
    ],
    invalid: [[1], [1, 1, 1, 1], []],
  },
  { schema: { contains: { const: 1 }, minContains: 0 }, valid: [[], [2], [1]], invalid: [] },
  {
    schema: { dependentRequired: { a: ["b", "c"] } },
    valid: [{}, { b: 1 }, { a: 1, b: 1, c: 1 }],
    invalid: [{ a: 1, b: 1 }],
  },
  {
    schema: { dependentSchemas: { a: { properties: { b: { type: "integer" } } } } },
    valid: [{ b: "x" }, { a: 1, b: 1 }],
    invalid: [{ a: 1, b: "x" }],
  },
  {
    schema: { properties: { a: {} }, unevaluatedProperties: false },
    valid: [{}, { a: 1 }],
    invalid: [{ b: 1 }],
  },
  {
    schema: {
      allOf: [{ properties: { a: {} } }],
      properties: { b: {} },
      unevaluatedProperties: { type: "string" },
    },
    valid: [{ a: 1, b: 2, c: "x" }],
    invalid: [{ c: 1 }],
  },
  {
    schema: {
      anyOf: [
        { properties: { a: { const: 1 } }, required: ["a"] },
        { properties: { b: {} }, required: ["b"] },
      ],
      unevaluatedProperties: false,
    },
    valid: [{ a: 1 }, { b: 1 }, { a: 1, b: 2 }],
    invalid: [
      { a: 1, c: 1 },
      { a: 2, b: 1 },
    ],
  },
  {
    schema: {
      ...branches(
        { properties: { a: { const: 1 } }, required: ["a"] },
        { properties: { b: {} } },
        { properties: { c: {} } },
      ),
      unevaluatedProperties: false,
    },
    valid: [{ a: 1, b: 2 }, { c: 1 }],
    invalid: [{ a: 1, c: 1 }, { b: 1 }],
  },
  {
    schema: { not: { not: { properties: { a: {} } } }, unevaluatedProperties: false },
    valid: [{}],
    invalid: [{ a: 1 }],
  },
  {
    schema: { allOf: [{ properties: { a: {} } }, { unevaluatedProperties: false }] },
    valid: [{}],
    invalid: [{ a: 1 }],
  },
  {
    schema: {
      $ref: "#/$defs/base",
      properties: { b: {} },
      unevaluatedProperties: false,
      $defs: { base: { properties: { a: {} } } },
    },
    valid: [{ a: 1, b: 1 }],
    invalid: [{ c: 1 }],
  },
  {
    schema: { properties: { a: {} }, allOf: [{ unevaluatedProperties: false }], unevaluatedProperties: true },
    valid: [{}],
    invalid: [{ a: 1 }],
  },
  {
    schema: {
      allOf: [{ properties: { a: {} }, unevaluatedProperties: { type: "integer" } }],
      unevaluatedProperties: false,
    },
    valid: [{ a: "x", b: 1 }],
    invalid: [{ b: "x" }],
  },
  { schema: { prefixItems: [{}], unevaluatedItems: false }, valid: [[], [1]], invalid: [[1, 2]] },
  {
    schema: { contains: { type: "string" }, unevaluatedItems: { type: "integer" } },
    valid: [
      ["a", 1],
      [2, "b"],
    ],
    invalid: [["a", null]],
  },
  {
    schema: { allOf: [{ prefixItems: [{}, {}] }, { items: {} }], unevaluatedItems: false },
    valid: [[1, 2, 3]],
    invalid: [],
  },
  {
    schema: { anyOf: [{ prefixItems: [{ const: 1 }, {}] }, { prefixItems: [{}] }], unevaluatedItems: false },
    valid: [[1, 2], [3]],
    invalid: [[3, 2]],
  },
  { schema: { additionalItems: false, items: true }, valid: [[1]], invalid: [] },
  {
    schema: { $ref: "#/$defs/n", maximum: 5, $defs: { n: { type: "integer" } } },
    valid: [3],
    invalid: [9, "x"],
  },
];

const IN_DRAFT_07: Row[] = [
  { schema: { items: { type: "integer" } }, valid: [[1], []], invalid: [["x"]] },
  {
    schema: { items: [{ type: "integer" }, { type: "string" }] },
    valid: [[1, "x", null], [1], []],
    invalid: [["x"]],
  },
  { schema: { items: [{}], additionalItems: { type: "integer" } }, valid: [["x", 1]], invalid: [["x", "y"]] },
  { schema: { items: {}, additionalItems: false }, valid: [[1, 2]], invalid: [] },
  { schema: { contains: { const: 1 }, minContains: 2 }, valid: [[1]], invalid: [[2]] },
  {
    schema: {
      properties: { a: { $ref: "#/definitions/n", maximum: 5 } },
      definitions: { n: { type: "integer" } },
    },
    valid: [{ a: 9 }],
    invalid: [{ a: "x" }],
  },
  {
    schema: { prefixItems: [false], unevaluatedProperties: false, dependentRequired: { a: ["b"] } },
    valid: [[1], { a: 1 }],
    invalid: [],
  },
];

describe("both drafts: 2020-12", () => judgeAll(COMMON, DRAFT_2020));
describe("both drafts: draft-07", () => judgeAll(COMMON, DRAFT_07));
describe("only 2020-12", () => judgeAll(IN_2020, DRAFT_2020));
describe("only draft-07", () => judgeAll(IN_DRAFT_07, DRAFT_07));

test("a schema that does not name its dialect is 2020-12", () => {
  const compiled = compileSchema({ prefixItems: [{ type: "integer" }] });
  expect(compiled.ok && compiled.schema.validate(["x"])).toHaveLength(1);
});
