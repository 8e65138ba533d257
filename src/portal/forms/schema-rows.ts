import { isObject } from "../../core/json/value.ts";

/** A JSON Schema as rows of a table: one for each field, with its path, as far as people read it. */
export interface SchemaRow {
  /** Dotted; `[]` stands for each element of a list, `*` for a field of any name. */
  path: string;
  depth: number;
  /** "string", "integer or null", "list of string". */
  types: readonly string[];
  isList: boolean;
  isRequired: boolean;
  description: string | null;
  /** What else must hold: the name of a keyword and its value as JSON. */
  rules: readonly (readonly [name: string, value: string])[];
}

type Schema = Readonly<Record<string, unknown>>;

const DEPTH_MAX = 8;
const ROWS_MAX = 500;
const RULES = [
  "const",
  "enum",
  "format",
  "pattern",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "default",
] as const;

export function schemaRows(schema: Schema): SchemaRow[] {
  const rows: SchemaRow[] = [];
  addFields(schema, schema, "", 0, rows);
  return rows;
}

/** True where the schema says more than the rows can show: what depends, or is one of several. */
export function saysMore(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(saysMore);
  if (!isObject(schema)) return false;
  const more = ["oneOf", "anyOf", "not", "if", "dependentRequired", "dependentSchemas", "prefixItems"];
  return more.some((name) => Object.hasOwn(schema, name)) || Object.values(schema).some(saysMore);
}

function addFields(root: Schema, given: unknown, path: string, depth: number, rows: SchemaRow[]): void {
  if (depth > DEPTH_MAX) return;
  for (const part of partsOf(root, given)) {
    const required = Array.isArray(part["required"]) ? part["required"] : [];
    for (const [name, field] of Object.entries(objectAt(part, "properties"))) {
      addField(root, field, { path: `${path}${name}`, depth, isRequired: required.includes(name) }, rows);
    }
    const others = part["additionalProperties"];
    if (isObject(others)) addField(root, others, { path: `${path}*`, depth, isRequired: false }, rows);
  }
}

function addField(
  root: Schema,
  given: unknown,
  place: Pick<SchemaRow, "path" | "depth" | "isRequired">,
  rows: SchemaRow[],
): void {
  if (rows.length >= ROWS_MAX) return;
  const parts = partsOf(root, given);
  const own = Object.assign({}, ...parts.toReversed()) as Schema;
  const items = own["items"];
  const isList = isObject(items) && namesOf(own).includes("array");
  const element = isList ? (Object.assign({}, ...partsOf(root, items).toReversed()) as Schema) : own;
  const { description } = own;
  rows.push({
    ...place,
    types: namesOf(element),
    isList,
    description: typeof description === "string" ? description : null,
    rules: [...rulesOf(own), ...(isList ? rulesOf(element) : [])],
  });
  const below = isList ? items : given;
  addFields(root, below, isList ? `${place.path}[].` : `${place.path}.`, place.depth + 1, rows);
}

/** The schema itself, what it refers to, and all that must hold with it. */
function partsOf(root: Schema, given: unknown, left = DEPTH_MAX): Schema[] {
  if (!isObject(given) || left === 0) return [];
  const all = Array.isArray(given["allOf"]) ? given["allOf"] : [];
  const ref = typeof given["$ref"] === "string" ? [resolve(root, given["$ref"])] : [];
  return [given, ...[...ref, ...all].flatMap((part) => partsOf(root, part, left - 1))];
}

/** `#/$defs/money`; nothing where it leads elsewhere. */
function resolve(root: Schema, ref: string): unknown {
  if (!ref.startsWith("#")) return undefined;
  const names = ref.slice(1).split("/").slice(1);
  let found: unknown = root;
  for (const name of names) {
    const key = decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~");
    found =
      (isObject(found) || Array.isArray(found)) && Object.hasOwn(found, key)
        ? (found as Schema)[key]
        : undefined;
  }
  return found;
}

function namesOf(schema: Schema): string[] {
  const { type } = schema;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((name) => typeof name === "string");
  if (Object.hasOwn(schema, "properties")) return ["object"];
  const known = Array.isArray(schema["enum"])
    ? schema["enum"]
    : Object.hasOwn(schema, "const")
      ? [schema["const"]]
      : [];
  return [
    ...new Set(
      known.map((value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)),
    ),
  ];
}

function rulesOf(schema: Schema): [string, string][] {
  return RULES.filter((name) => Object.hasOwn(schema, name)).map((name) => [name, wordsOf(schema[name])]);
}

function wordsOf(value: unknown): string {
  return Array.isArray(value) ? value.map((one) => JSON.stringify(one)).join(", ") : JSON.stringify(value);
}

function objectAt(schema: Schema, name: string): Schema {
  const found = schema[name];
  return isObject(found) ? found : {};
}
