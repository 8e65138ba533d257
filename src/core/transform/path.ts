import { INDEX, isObject, type Json, ownField } from "../json/value.ts";
import { limit } from "../limits.ts";

/**
 * A place in a document: the names on the way to it. A number among them indexes an array, or names an
 * object's field.
 */
export type Path = readonly string[];

export type ParsedPath = { ok: true; path: Path } | { ok: false; detail: string };

const PATH_NAMES_MAX = limit("pathNamesMax");

/** The name that means every element of an array, in `pick` and `omit`. */
export const EVERY = "*";

const LONE_BACKSLASH = /\\(?!\.)/;
const DOT_BETWEEN_NAMES = /(?<!\\)\./;

/**
 * Reads a dotted path: `\.` is a literal dot; other backslashes and empty names are refused, and so is
 * `*`, except as a whole name where `wildcards` are allowed.
 */
export function parsePath(source: unknown, wildcards: boolean): ParsedPath {
  if (typeof source !== "string") return refuse("A path is a string like data.customer.id.");
  if (LONE_BACKSLASH.test(source))
    return refuse("A backslash stands only before a dot: \\. is a dot in a name.");
  const hasEscapes = source.includes("\\");
  const names = source.split(hasEscapes ? DOT_BETWEEN_NAMES : ".", PATH_NAMES_MAX + 1);
  if (names.length > PATH_NAMES_MAX) return refuse(`A path has at most ${PATH_NAMES_MAX} names.`);
  for (const name of names) {
    if (name === "") return refuse("A path has no empty names.");
    if (name.includes(EVERY) && !(wildcards && name === EVERY)) return refuse(starFault(wildcards));
  }
  return { ok: true, path: hasEscapes ? names.map((name) => name.replaceAll("\\.", ".")) : names };
}

function starFault(wildcards: boolean): string {
  return wildcards ? "In pick and omit * is a whole name: items.*.id." : "Only pick and omit take *.";
}

function refuse(detail: string): ParsedPath {
  return { ok: false, detail };
}

/** The element's index that a name means in this array; -1 for a name, and for an index beyond the end. */
export function indexIn(array: Json[], name: string): number {
  if (!INDEX.test(name)) return -1;
  const index = Number(name);
  return index < array.length ? index : -1;
}

/** The value at a name, own fields only; undefined where there is none. */
export function childOf(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return value[indexIn(value, name)];
  return isObject(value) ? ownField(value, name) : undefined;
}

/** The value at a path; undefined where there is none. */
export function valueAt(body: Json, path: Path): Json | undefined {
  let value: Json | undefined = body;
  for (const name of path) value = childOf(value, name);
  return value;
}
