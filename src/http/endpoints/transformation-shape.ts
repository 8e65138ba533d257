import { type TProperties, Type } from "@sinclair/typebox";
import { limit } from "../../core/limits.ts";
import { OPERATIONS } from "../../core/transform/operations.ts";
import { oneOf, shownAs, taggedBy } from "../shared/shapes.ts";

/**
 * What reshapes a body. Checked as far as `op`: the compiler (core/transform/transform.ts) says better what
 * is wrong with the rest.
 */

const operationShape = Type.Unsafe<Record<string, unknown>>(
  Type.Object({ op: oneOf([...OPERATIONS.keys()]) }, { additionalProperties: true }),
);

/** Dotted; `\.` is a dot in a name. */
function pathText(name: string, description: string) {
  const below = limit("pathNamesMax") - 1;
  return Type.String({ pattern: `^${name}(\\.${name}){0,${below}}$`, description, examples: ["data.id"] });
}

const NAME = "([^.*\\\\]|\\\\\\.)+";
const path = (description: string) => pathText(NAME, description);
const paths = Type.Array(pathText(`(${NAME}|\\*)`, "Dotted; `*` is every element of an array."), {
  minItems: 1,
  maxItems: limit("pathsMax"),
});

/** How the fields of each operation of core/transform/operations.ts are shown. */
const FIELDS: Readonly<Record<string, TProperties>> = {
  pick: { paths },
  omit: { paths },
  rename: { from: path("Where the value is."), to: path("Where it goes.") },
  set: { path: path("Where the value goes."), value: Type.Unknown({ description: "Any JSON value." }) },
  unwrap: { path: path("The object that becomes the whole body.") },
  wrap: { key: Type.String({ minLength: 1, description: "The one field that holds the body then." }) },
};

const variants = [...OPERATIONS].map(([op, { fields }]) => {
  const shown = FIELDS[op];
  if (Object.keys(shown ?? {}).join() !== fields.join())
    throw new Error(`FIELDS of transformation-shape.ts lacks ${op} with ${fields.join(", ")}`);
  const $id = `${op.charAt(0).toUpperCase()}${op.slice(1)}Operation`;
  return [op, Type.Object({ op: Type.Literal(op), ...shown }, { $id, additionalProperties: false })] as const;
});

const shownOperation = { ...taggedBy("op", Object.fromEntries(variants)), $id: "Operation" };

const bounds = { maxItems: limit("transformationsMax") };

export const transformationsShape = shownAs(
  Type.Array(operationShape, bounds),
  Type.Array(shownOperation, bounds),
);
