import fc from "fast-check";
import type { Json } from "../../../src/core/json/value.ts";

export type JsonObject = { [key: string]: Json };

export function objectOf(fields: [string, Json][]): JsonObject {
  return Object.fromEntries(fields);
}

/** Values and objects out of these names and scalars; an inner object has at most `fieldsMax` fields. */
export function randomJson(
  name: fc.Arbitrary<string>,
  scalar: fc.Arbitrary<Json>,
  fieldsMax: number,
): { value: fc.Arbitrary<Json>; object: fc.Arbitrary<JsonObject> } {
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: "medium" },
      scalar,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.array(fc.tuple(name, tie("value")), { maxLength: fieldsMax }).map(objectOf),
    ),
  }));
  return { value, object: fc.array(fc.tuple(name, value), { maxLength: 5 }).map(objectOf) };
}
