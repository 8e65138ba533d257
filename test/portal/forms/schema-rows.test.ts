/** A schema as people read it: one row for each field. */
import { describe, expect, test } from "bun:test";
import { saysMore, schemaRows } from "../../../src/portal/forms/schema-rows.ts";

const paths = (schema: Record<string, unknown>) => schemaRows(schema).map(({ path }) => path);

describe("rows of a schema", () => {
  test("name each field by its path, through objects and lists", () => {
    const line = { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] };
    const rows = schemaRows({
      properties: {
        total: { type: ["integer", "null"], minimum: 0, description: "In cents." },
        lines: { type: "array", items: line, maxItems: 9 },
      },
      required: ["total"],
    });
    expect(rows).toEqual([
      {
        path: "total",
        depth: 0,
        types: ["integer", "null"],
        isList: false,
        isRequired: true,
        description: "In cents.",
        rules: [["minimum", "0"]],
      },
      {
        path: "lines",
        depth: 0,
        types: ["object"],
        isList: true,
        isRequired: false,
        description: null,
        rules: [["maxItems", "9"]],
      },
      {
        path: "lines[].sku",
        depth: 1,
        types: ["string"],
        isList: false,
        isRequired: true,
        description: null,
        rules: [],
      },
    ]);
  });

  test("follow what the schema refers to within itself, and end where it refers to itself", () => {
    const schema = {
      $defs: { money: { type: "object", properties: { cents: { type: "integer" } } } },
      properties: { price: { $ref: "#/$defs/money" }, other: { $ref: "https://elsewhere.example" } },
    };
    expect(paths(schema)).toEqual(["price", "price.cents", "other"]);
    const node = { properties: { next: { $ref: "#/$defs/node" } } };
    expect(paths({ $defs: { node }, ...node }).length).toBeLessThan(20);
    expect(paths({ allOf: [{ $ref: "#" }], properties: { a: {} } })[0]).toBe("a");
  });

  test("take a field's type from its values where it has no other", () => {
    const rows = schemaRows({ properties: { a: { enum: ["x", null] }, b: { const: 3 }, c: {} } });
    expect(rows.map(({ types }) => types)).toEqual([["string", "null"], ["number"], []]);
    expect(rows[0]?.rules).toEqual([["enum", '"x", null']]);
  });

  test("stay few, whatever is thrown at them", () => {
    const wide = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`f${at}`, { $ref: "#" }]));
    expect(schemaRows({ properties: wide }).length).toBe(500);
    expect(paths({ properties: { __proto__x: { type: "string" }, constructor: {} } })).toEqual([
      "__proto__x",
      "constructor",
    ]);
    expect(paths({ properties: [], required: "all", items: 3 })).toEqual([]);
  });
});

test("what rows cannot show is said", () => {
  expect(saysMore({ properties: { a: { type: "string" } } })).toBe(false);
  expect(saysMore({ properties: { a: { oneOf: [{ type: "string" }] } } })).toBe(true);
});
