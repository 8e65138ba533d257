import { childPointer, isObject, type Json, type JsonObject, ownField } from "../json/value.ts";

/** What has to stand at a path for a filter to hold: a necessary condition, by which filters are indexed. */
export interface Requirement {
  path: readonly string[];
  value: string | number;
  /** The path as one text, with a hash for what is long in it: made once, as indexes are made often. */
  place: string;
}

/**
 * The equalities with a text or a number that a filter asks for by all means: those that are only ANDed.
 * `source` is a filter that was accepted.
 */
export function requirementsOf(source: Json): Requirement[] {
  const found: Requirement[] = [];
  if (isObject(source)) collect(source, TOP, found);
  return found;
}

type At = Pick<Requirement, "path" | "place">;

const TOP: At = { path: [], place: "" };

function collect(object: JsonObject, at: At, found: Requirement[]): void {
  for (const [name, value] of Object.entries(object)) {
    if (name === "$eq") note(value, at, found);
    else if (name === "$and") for (const part of value as JsonObject[]) collect(part, at, found);
    else if (!name.startsWith("$") && isObject(value)) collect(value, below(at, name), found);
    else if (!name.startsWith("$")) note(value, below(at, name), found);
  }
}

/** Other values are shared by too many to tell filters apart. */
function note(value: Json, at: At, found: Requirement[]): void {
  if (typeof value === "string" || typeof value === "number") found.push({ ...at, value });
}

const PLACE_LENGTH_MAX = 200;

/**
 * A long name stands in the path of each field below it, of which a filter may have hundreds: it is hashed
 * once for all of them. Only a hash begins with "#", so that no path is taken for another's.
 */
function below({ path, place }: At, name: string): At {
  const text = childPointer(place, name);
  return { path: [...path, name], place: text.length <= PLACE_LENGTH_MAX ? text : `#${hashOf(text)}` };
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

/** More values are not worth an index. */
const VALUES_MAX = 64;

/**
 * All values at a path, those in lists on the way and at its end among them: where one of these does not
 * satisfy a requirement, no filter with it holds. Null where they are too many to be looked at.
 */
export function valuesAt(envelope: Json, path: readonly string[]): Json[] | null {
  let level: Json[] | null = [envelope];
  for (const name of path) level = level && spread(fieldsOf(level, name));
  return level;
}

function fieldsOf(level: readonly Json[], name: string): Json[] {
  const fields: Json[] = [];
  for (const value of level) {
    const field = isObject(value) ? ownField(value, name) : undefined;
    if (field !== undefined) fields.push(field);
  }
  return fields;
}

/** A list is looked at element by element, one level deep. */
function spread(level: readonly Json[]): Json[] | null {
  const count = level.reduce<number>((sum, value) => sum + (Array.isArray(value) ? value.length : 1), 0);
  return count > VALUES_MAX
    ? null
    : level.flatMap((value): Json[] => (Array.isArray(value) ? value : [value]));
}
