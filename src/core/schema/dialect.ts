import type { Json } from "../json/value.ts";

export type Dialect = "2020-12" | "draft-07";

const DIALECTS = new Map<Json, Dialect>([
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2020-12/schema#", "2020-12"],
  ["http://json-schema.org/draft-07/schema", "draft-07"],
  ["http://json-schema.org/draft-07/schema#", "draft-07"],
  ["https://json-schema.org/draft-07/schema", "draft-07"],
  ["https://json-schema.org/draft-07/schema#", "draft-07"],
]);

/**
 * What a schema's `$schema` says it is written in; 2020-12 without one, null for a dialect that is
 * not accepted.
 */
export function dialectOf(operand: Json | undefined): Dialect | null {
  return operand === undefined ? "2020-12" : (DIALECTS.get(operand) ?? null);
}
