import type { Fault } from "../errors.ts";

/** A parsed JSON document. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** True for a JSON object: not null, not an array, not missing. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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

/**
 * What a document written by a customer may weigh: bytes of its JSON, levels (the root is 1), keys plus
 * list elements.
 */
export interface Bounds {
  bytesMax: number;
  depthMax: number;
  nodesMax: number;
}

export type Bounded = { ok: true; json: Json } | { ok: false; fault: Fault };

/**
 * Holds a customer's document against its bounds before anything else reads it, in time that the bounds
 * limit. `noun` begins the sentence of the fault ("A filter").
 */
export function readBounded(source: unknown, noun: string, bounds: Bounds): Bounded {
  const walk: Walk = { noun, bounds, nodes: 0, path: [] };
  const detail = findFault(source, walk);
  if (detail !== null) {
    const place = walk.nodes > bounds.nodesMax ? [] : walk.path;
    return { ok: false, fault: { pointer: place.reduce(childPointer, ""), detail } };
  }
  if (Buffer.byteLength(JSON.stringify(source)) > bounds.bytesMax) {
    return {
      ok: false,
      fault: { pointer: "", detail: `${noun} is at most ${bounds.bytesMax} bytes of JSON.` },
    };
  }
  return { ok: true, json: source as Json };
}

interface Walk {
  readonly noun: string;
  readonly bounds: Bounds;
  nodes: number;
  /** Where the walk stands; after a fault, where it is. */
  readonly path: string[];
}

/** The first thing wrong below the walk's place, as a sentence. */
function findFault(value: unknown, walk: Walk): string | null {
  if (typeof value !== "object" || value === null)
    return isScalar(value) ? null : "This is not a JSON value.";
  const { noun, bounds, path } = walk;
  if (path.length >= bounds.depthMax) return `${noun} nests at most ${bounds.depthMax} levels deep.`;
  for (const name of Object.keys(value)) {
    if (++walk.nodes > bounds.nodesMax)
      return `${noun} has at most ${bounds.nodesMax} keys and list elements.`;
    path.push(name);
    const fault = findFault(Reflect.get(value, name), walk);
    if (fault !== null) return fault;
    path.pop();
  }
  return null;
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}
