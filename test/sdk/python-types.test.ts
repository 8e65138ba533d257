import { expect, test } from "bun:test";
import type { Schema } from "../../sdk/build/document.ts";
import { typeOf, unionOf, writeTypes } from "../../sdk/build/python-types.ts";
import { ORDERS } from "./orders.ts";

const TEXT = { type: "string" };
const OBJECT = { type: "object" };

/** What is declared for the schema, without what stands above. */
function declarationOf(schema: Schema): string {
  const components = { parameters: {}, schemas: { Order: schema } };
  const [, declared = ""] = /TypedDict\n\n([^]*)/.exec(writeTypes({ ...ORDERS, components })) ?? [];
  return declared.trim();
}

test.each<[Schema, string]>([
  [TEXT, "str"],
  [{ type: "integer" }, "int"],
  [{ type: "number" }, "float"],
  [{ type: "boolean" }, "bool"],
  [{}, "Any"],
  [{ const: "http", ...TEXT }, 'Literal["http"]'],
  [{ const: true, type: "boolean" }, "Literal[True]"],
  [{ enum: ["a", 'b"'], ...TEXT }, 'Literal["a", "b\\""]'],
  [{ anyOf: [TEXT, { type: "null" }, TEXT] }, "str | None"],
  [{ oneOf: [TEXT, { $ref: "#/components/schemas/Order" }] }, "str | Order"],
  [{ type: "array", items: TEXT }, "list[str]"],
  [{ type: "array" }, "list[Any]"],
  [{ ...OBJECT, additionalProperties: true, properties: {} }, "dict[str, Any]"],
  [{ ...OBJECT, additionalProperties: TEXT }, "dict[str, str]"],
  [{ ...OBJECT, patternProperties: { "^(.*)$": TEXT } }, "dict[str, str]"],
])("%j is %s", (schema, type) => {
  expect(typeOf(schema)).toBe(type);
});

test("what it does not know is an error, and so is an object that has no name", () => {
  expect(() => typeOf({ type: "date" })).toThrow('There is no type of Python for {"type":"date"}');
  expect(() => typeOf({ ...OBJECT, properties: { a: TEXT } })).toThrow("There is no name for ");
});

test("each alternative is said once", () => {
  expect(unionOf(["A", "None", "A"])).toBe("A | None");
});

test("an object is a TypedDict, with what is said of its members", () => {
  const properties = { id: { ...TEXT, description: 'The "id".' }, note: TEXT };
  expect(declarationOf({ ...OBJECT, required: ["id"], properties })).toBe(
    ["class Order(TypedDict):", "    id: str", '    "The \\"id\\"."', "    note: NotRequired[str]"].join(
      "\n",
    ),
  );
});

test("one that takes no member is a TypedDict without any", () => {
  expect(declarationOf({ ...OBJECT, additionalProperties: false })).toBe("class Order(TypedDict):\n    pass");
});

test("an object within another is declared before it, under both names", () => {
  const inner = { ...OBJECT, required: ["at"], properties: { at: TEXT } };
  const properties = { last_parts: { type: "array", items: inner } };
  expect(declarationOf({ ...OBJECT, required: ["last_parts"], properties })).toBe(
    [
      ...["class OrderLastPart(TypedDict):", "    at: str", "", ""],
      ...["class Order(TypedDict):", "    last_parts: list[OrderLastPart]"],
    ].join("\n"),
  );
});

test("members that cannot be written in a class are given as texts", () => {
  const properties = { from: TEXT, "webhook-id": { enum: ["a"] } };
  expect(declarationOf({ ...OBJECT, required: ["from"], properties })).toBe(
    'Order = TypedDict("Order", {"from": "str", "webhook-id": "NotRequired[Literal[\\"a\\"]]"})',
  );
});

test("all else is an alias, as a text, as it may name what comes later", () => {
  expect(declarationOf({ anyOf: [TEXT, { $ref: "#/components/schemas/Later" }] })).toBe(
    'Order: TypeAlias = "str | Later"',
  );
});
