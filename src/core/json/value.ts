/** A parsed JSON document. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** True for a JSON object: not null, not an array, not missing. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that a text spells; null where it spells something else, or nothing. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The object's own field of this name; `__proto__` and `constructor` are names like any other. */
export function ownField(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The JSON Pointer (RFC 6901) of a field or element below `parent`. */
export function childPointer(parent: string, name: string | number): string {
  if (typeof name === "number") return `${parent}/${name}`;
  return `${parent}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

const EXCERPT_CHARACTERS = 80;

/** The value as JSON, cut to a length that fits into a sentence. */
export function excerpt(value: Json): string {
  const text =
    typeof value === "string" ? JSON.stringify(value.slice(0, EXCERPT_CHARACTERS)) : shorten(value);
  return text.length <= EXCERPT_CHARACTERS ? text : `${text.slice(0, EXCERPT_CHARACTERS)}…`;
}

function shorten(value: Exclude<Json, string>): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return value === null || typeof value !== "object" ? String(value) : "an object";
}

/** A name that an array's element may have: of `01` there is none. */
export const INDEX = /^(?:0|[1-9][0-9]*)$/;
