import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/core/json/value.ts";
import { compileSchema } from "../../../src/core/schema/schema.ts";

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

function faultsOf(schema: Json): { pointer: string; detail: string }[] {
  const compiled = compileSchema(schema);
  return compiled.ok ? [] : compiled.faults;
}

function isValid(schema: Json, data: Json): boolean {
  const compiled = compileSchema(schema);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.schema.validate(data).length === 0;
}

const tree: Json = {
  $id: "https://example.com/tree",
  type: "object",
  properties: { value: { type: "integer" }, children: { type: "array", items: { $ref: "#" } } },
  required: ["value"],
};

describe("a reference", () => {
  const rows: [name: string, schema: Json, valid: Json, invalid: Json][] = [
    [
      "to the root recurses with the data",
      tree,
      { value: 1, children: [{ value: 2, children: [] }] },
      { value: 1, children: [{ value: "x" }] },
    ],
    [
      "by the root's own URI",
      {
        $id: "https://example.com/s",
        properties: { a: { $ref: "https://example.com/s#/$defs/n" } },
        $defs: { n: { type: "integer" } },
      },
      { a: 1 },
      { a: "x" },
    ],
    [
      "by an anchor",
      { properties: { a: { $ref: "#n" } }, $defs: { x: { $anchor: "n", type: "integer" } } },
      { a: 1 },
      { a: "x" },
    ],
    [
      "to a bundled schema",
      {
        $id: "https://example.com/a/s",
        $ref: "item",
        $defs: { i: { $id: "item", $ref: "#/$defs/t", $defs: { t: { type: "integer" } } } },
      },
      1,
      "x",
    ],
    [
      "with ~0, ~1 and % in it",
      { properties: { a: { $ref: "#/$defs/t~0i~1l%25e" } }, $defs: { "t~i/l%e": { type: "integer" } } },
      { a: 1 },
      { a: "x" },
    ],
    [
      "to an element of a list",
      { allOf: [{ type: "integer" }, { properties: {} }], properties: { a: { $ref: "#/allOf/0" } } },
      1,
      "x",
    ],
    [
      "to a place that no keyword knows",
      {
        properties: { a: { $ref: "#/components/schemas/n" } },
        components: { schemas: { n: { type: "integer" } } },
      },
      { a: 1 },
      { a: "x" },
    ],
    [
      "to such a place in a bundled schema, whose own references count from there",
      {
        $id: "https://example.com/root",
        properties: { a: { $ref: "inner#/extra/n" } },
        $defs: {
          i: { $id: "inner", $defs: { t: { type: "integer" } }, extra: { n: { $ref: "#/$defs/t" } } },
        },
      },
      { a: 1 },
      { a: "x" },
    ],
    [
      "to true and false",
      {
        properties: { a: { $ref: "#/$defs/yes" }, b: { $ref: "#/$defs/no" } },
        $defs: { yes: true, no: false },
      },
      { a: 1 },
      { b: 1 },
    ],
    [
      "through a chain",
      {
        $ref: "#/$defs/a",
        $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/c" }, c: { type: "integer" } },
      },
      1,
      "x",
    ],
    [
      "of draft-07 to a plain name",
      {
        $schema: DRAFT_07,
        properties: { a: { $ref: "#n" } },
        definitions: { x: { $id: "#n", type: "integer" } },
      },
      { a: 1 },
      { a: "x" },
    ],
    [
      "of draft-07 hides the $id beside it",
      {
        $schema: DRAFT_07,
        $id: "http://example.com/a",
        properties: { a: { $id: "http://example.com/b", $ref: "#/definitions/n" } },
        definitions: { n: { type: "integer" } },
      },
      { a: 1 },
      { a: "x" },
    ],
    ["is not seen in enum and const", { const: { $ref: "#/nowhere" } }, { $ref: "#/nowhere" }, 1],
    [
      "named like a field is a field",
      { properties: { $ref: { type: "string" } } },
      { $ref: "x" },
      { $ref: 1 },
    ],
  ];
  for (const [name, schema, valid, invalid] of rows) {
    test(name, () => {
      expect(isValid(schema, valid)).toBe(true);
      expect(isValid(schema, invalid)).toBe(false);
    });
  }
});

describe("a dynamic reference", () => {
  const bundle = (extension: Json): Json => ({
    $id: "https://example.com/strict",
    $dynamicAnchor: "node",
    $ref: "tree",
    ...(extension as { [key: string]: Json }),
    $defs: {
      tree: {
        $id: "tree",
        $dynamicAnchor: "node",
        type: "object",
        properties: { data: true, children: { type: "array", items: { $dynamicRef: "#node" } } },
      },
    },
  });

  test("means the outermost schema with its anchor", () => {
    const strict = bundle({ unevaluatedProperties: false });
    expect(isValid(strict, { children: [{ data: 1 }] })).toBe(true);
    expect(isValid(strict, { children: [{ daat: 1 }] })).toBe(false);
    expect(isValid(bundle({}), { children: [{ daat: 1 }] })).toBe(true);
  });

  test("to an anchor that is not dynamic is a plain reference", () => {
    const schema: Json = {
      properties: { a: { $dynamicRef: "#n" } },
      $defs: { x: { $anchor: "n", type: "integer" } },
    };
    expect(isValid(schema, { a: 1 })).toBe(true);
    expect(isValid(schema, { a: "x" })).toBe(false);
  });
});

describe("refused", () => {
  const outside = /leads out of this schema/;
  const rows: [schema: Json, pointer: string, detail: RegExp][] = [
    [{ $ref: "https://example.com/other.json" }, "/$ref", outside],
    [{ properties: { a: { $ref: "other.json#/a" } } }, "/properties/a/$ref", outside],
    [{ $ref: "https://json-schema.org/draft/2020-12/schema" }, "/$ref", outside],
    [{ $id: "https://example.com/s", $ref: "http://example.com/s" }, "/$ref", outside],
    [{ $ref: "file:///etc/passwd" }, "/$ref", outside],
    [{ $ref: "http://[" }, "/$ref", outside],
    [{ $ref: "#%zz" }, "/$ref", outside],
    [{ $dynamicRef: "https://example.com/x#n" }, "/$dynamicRef", outside],
    [{ $ref: "#/$defs/missing" }, "/$ref", /There is no schema at/],
    [{ $ref: "#missing" }, "/$ref", /There is no schema at/],
    [{ items: { $ref: "#/title" }, title: "text" }, "/items/$ref", /There is no schema at/],
    [{ $defs: { a: { $ref: "#/__proto__" } } }, "/$defs/a/$ref", /There is no schema at/],
    [{ $defs: { a: { $ref: "#/constructor" } } }, "/$defs/a/$ref", /There is no schema at/],
    [{ $ref: "#" }, "", /refers to itself/],
    [{ allOf: [{ $ref: "#" }] }, "", /refers to itself/],
    [
      {
        $ref: "#/$defs/a",
        $defs: { a: { anyOf: [true, { $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } },
      },
      "/$defs/a",
      /refers to itself/,
    ],
    [{ $defs: { a: { if: { $ref: "#/$defs/a" } } } }, "/$defs/a", /refers to itself/],
    [{ $defs: { a: { dependentSchemas: { x: { $ref: "#/$defs/a" } } } } }, "/$defs/a", /refers to itself/],
    [{ $id: "#fragment" }, "/$id", /has no fragment/],
    [{ $id: "http://[" }, "/$id", /takes a URI/],
    [{ $defs: { a: { $id: "x" }, b: { $id: "x" } } }, "/$defs/b/$id", /Two schemas/],
    [{ $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, "/$defs/b/$anchor", /Two schemas/],
    [{ $anchor: "not a name" }, "/$anchor", /takes a name/],
    [{ $dynamicAnchor: "" }, "/$dynamicAnchor", /takes a name/],
  ];
  for (const [schema, pointer, detail] of rows) {
    test(JSON.stringify(schema), () => {
      expect(faultsOf(schema)).toContainEqual({ pointer, detail: expect.stringMatching(detail) });
    });
  }
});
