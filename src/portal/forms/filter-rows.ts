import { COMBINATORS } from "../../core/filter/operators.ts";
import { isObject, type Json, type JsonObject } from "../../core/json/value.ts";
import { parseExact } from "../json/exact-json.ts";

/**
 * A filter as rows of field, operator and value, and back: whatever the filter is, it comes back as it was.
 * What rows cannot show ($and, $or, $not) is a row that holds its JSON.
 */

/** `is`: the value stands under the field itself. `json`: a part that stays as it is. */
export const OPERATORS = [
  "is",
  "$eq",
  "$neq",
  "$gt",
  "$gte",
  "$lt",
  "$lte",
  "$in",
  "$nin",
  "$startsWith",
  "$endsWith",
  "$contains",
  "$exist",
] as const;
export type Operator = (typeof OPERATORS)[number] | "json";

export interface Row {
  /** Names from the body down; of a `json` row the last one is its operator. */
  path: string[];
  operator: Operator;
  value: Json;
}

export function toRows(filter: JsonObject): Row[] {
  return rowsOf(filter, []);
}

function rowsOf(object: JsonObject, above: string[]): Row[] {
  return Object.entries(object).flatMap(([name, value]): Row[] => {
    const path = [...above, name];
    if (name.startsWith("$")) {
      const isOperator = (OPERATORS as readonly string[]).includes(name);
      return isOperator && above.length > 0
        ? [{ path: above, operator: name as Operator, value }]
        : [{ path, operator: "json", value }];
    }
    if (isObject(value) && Object.keys(value).length > 0) return rowsOf(value, path);
    return [{ path, operator: "is", value }];
  });
}

/**
 * Rows that cannot stand beside each other in one object, such as two values for one field, are joined by
 * `$and`.
 */
export function toFilter(rows: readonly Row[]): JsonObject {
  const filter: JsonObject = {};
  const others: Json[] = [];
  for (const row of rows) {
    if (!put(filter, keysOf(row), row.value)) others.push(alone(keysOf(row), row.value));
  }
  if (others.length === 0) return filter;
  const known = Object.hasOwn(filter, "$and") ? filter["$and"] : [];
  return { ...filter, $and: [...(Array.isArray(known) ? known : []), ...others] };
}

function keysOf({ path, operator }: Row): string[] {
  return operator === "is" || operator === "json" ? path : [...path, operator];
}

/** False where its place is taken. */
function put(target: JsonObject, [name = "", ...below]: string[], value: Json): boolean {
  const known = Object.hasOwn(target, name) ? target[name] : undefined;
  if (below.length === 0) {
    if (known !== undefined || mixes(target, name)) return false;
    define(target, name, value);
    return true;
  }
  if (known === undefined && !mixes(target, name)) {
    define(target, name, alone(below, value));
    return true;
  }
  // An empty object is a value, not a place.
  return isObject(known) && Object.keys(known).length > 0 && put(known, below, value);
}

/** Comparisons and field names do not stand in one object. */
function mixes(target: JsonObject, name: string): boolean {
  const kindOf = (one: string) => (COMBINATORS.has(one) ? null : one.startsWith("$"));
  const kind = kindOf(name);
  return kind !== null && Object.keys(target).some((one) => kindOf(one) === !kind);
}

function alone([name = "", ...below]: string[], value: Json): JsonObject {
  const object: JsonObject = {};
  define(object, name, below.length === 0 ? value : alone(below, value));
  return object;
}

/** Also where the name is `__proto__`. */
function define(object: JsonObject, name: string, value: Json): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** `data.customer.id`; a dot in a name is written `\.`. */
export function writePath(path: readonly string[]): string {
  return path.map((name) => name.replaceAll("\\", "\\\\").replaceAll(".", "\\.")).join(".");
}

export function readPath(text: string): string[] {
  // A name ends at every place: nothing is read twice.
  // oxlint-disable-next-line regexp/no-super-linear-move
  const names = [...text.matchAll(/((?:\\.|[^.\\]|\\$)*)(\.|$)/gs)];
  // The last match is the empty one behind the end, unless the text ends with a dot.
  const path: string[] = [];
  for (const [, name = "", end] of names) {
    path.push(name.replaceAll(/\\(.)/gs, "$1"));
    if (end === "") break;
  }
  return path;
}

/** A value as it is typed: text as it is, quoted only where it would read as something else. */
export function writeValue(value: Json, operator: Operator): string {
  if ((operator === "$in" || operator === "$nin") && Array.isArray(value)) {
    const text = value.map(writeScalar).join(", ");
    if (JSON.stringify(readValue(text, operator)) === JSON.stringify(value)) return text;
  }
  return writeScalar(value);
}

export function readValue(text: string, operator: Operator): Json {
  if (operator !== "$in" && operator !== "$nin") return readScalar(text);
  const whole = readScalar(text);
  if (Array.isArray(whole)) return whole;
  return text.split(",").map((part) => readScalar(part.trim()));
}

function writeScalar(value: Json): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return readScalar(value) === value && !/\p{Cc}/u.test(value) ? value : JSON.stringify(value);
}

function readScalar(text: string): Json {
  try {
    return parseExact(text) as Json;
  } catch {
    return text;
  }
}
