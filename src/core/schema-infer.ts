import { isJsonObject, type Json, type JsonObject } from "./json-value.ts";

/** How deep a proposal describes; the next smaller depth is taken while it is too large to be a schema of ours. */
const DEPTHS: readonly number[] = [12, 6, 3, 1];

/** The size of a schema that is accepted, in bytes, with room for what people add. */
const PROPOSAL_BYTES_MAX = 24 * 1024;

/** An object with more names, or with longer ones, is a map by some id rather than a record. */
const NAMES_MAX = 100;
const NAME_LENGTH_MAX = 128;

/**
 * A first schema that all samples satisfy, from what they have in common (contract section 7, `infer-schema`): their types,
 * and `required` where a field was always there. Nothing is guessed that samples cannot show: no enums, no formats, no
 * bounds, and further fields are allowed.
 */
export function inferSchema(samples: readonly Json[]): Json {
  for (const depth of DEPTHS) {
    const schema = proposal(samples, depth);
    if (Buffer.byteLength(JSON.stringify(schema)) <= PROPOSAL_BYTES_MAX) return schema;
  }
  return proposal(samples, 0);
}

function proposal(samples: readonly Json[], depth: number): JsonObject {
  return { $schema: "https://json-schema.org/draft/2020-12/schema", ...describe(samples, depth) };
}

/** What is common to values that were seen at one place; `{}`, anything, where none was. */
function describe(values: readonly Json[], depth: number): JsonObject {
  const types = typesOf(values);
  const [type] = types;
  if (type === undefined) return {};
  const schema = { type: types.length === 1 ? type : types };
  if (depth === 0) return schema;
  return {
    ...schema,
    ...describeFields(values.filter(isJsonObject), depth),
    ...describeElements(values, depth),
  };
}

function typesOf(values: readonly Json[]): string[] {
  const types = new Set(values.map(typeOf));
  if (types.has("number")) types.delete("integer");
  return [...types].sort();
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function describeFields(objects: readonly JsonObject[], depth: number): JsonObject {
  const fields = new Map<string, Json[]>();
  for (const object of objects) {
    for (const [name, value] of Object.entries(object)) {
      const values = fields.get(name) ?? [];
      values.push(value);
      fields.set(name, values);
    }
  }
  const names = [...fields.keys()];
  const isMap = names.length > NAMES_MAX || names.some((name) => name.length > NAME_LENGTH_MAX);
  if (names.length === 0 || isMap) return {};
  const properties = [...fields].map(([name, values]) => [name, describe(values, depth - 1)] as const);
  const required = names.filter((name) => fields.get(name)?.length === objects.length);
  return { properties: Object.fromEntries(properties), ...(required.length > 0 ? { required } : {}) };
}

function describeElements(values: readonly Json[], depth: number): JsonObject {
  const elements = values.filter(Array.isArray).flat() as Json[];
  return elements.length === 0 ? {} : { items: describe(elements, depth - 1) };
}
