import type { Fault } from "../errors.ts";
import { childPointer, type Json } from "./value.ts";

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
 * Holds a customer's document against its bounds before anything else reads it. A list is counted before its
 * elements are looked at, and nothing is read beyond the bounds. `noun` begins the sentence of the fault
 * ("A filter").
 */
export function readBounded(source: unknown, noun: string, bounds: Bounds): Bounded {
  const walk: Walk = { noun, bounds, nodes: 0, bytes: 0, path: [] };
  const detail = findFault(source, walk) ?? findExcess(walk, 0, byteLengthBeyond(source, walk));
  if (detail === null) return { ok: true, json: source as Json };
  const place = isExceeded(walk) ? [] : walk.path;
  return { ok: false, fault: { pointer: place.reduce(childPointer, ""), detail } };
}

interface Walk {
  readonly noun: string;
  readonly bounds: Bounds;
  nodes: number;
  /** What the JSON of all that was met has at the least. */
  bytes: number;
  /** Where the walk stands; after a fault, where it is. */
  readonly path: (string | number)[];
}

/** A comma or bracket, and a value of one digit. */
const NODE_BYTES = 2;
/** The quotes of a name and its colon. */
const NAME_BYTES = 3;

/** The first thing wrong below the walk's place, as a sentence. */
function findFault(value: unknown, walk: Walk): string | null {
  if (typeof value === "string") return findExcess(walk, 0, value.length);
  if (typeof value !== "object" || value === null)
    return isScalar(value) ? null : "This is not a JSON value.";
  const { noun, bounds, path } = walk;
  if (path.length >= bounds.depthMax) return `${noun} nests at most ${bounds.depthMax} levels deep.`;
  return Array.isArray(value) ? findInList(value, walk) : findInObject(value, walk);
}

function findInList(values: readonly unknown[], walk: Walk): string | null {
  const excess = findExcess(walk, values.length, NODE_BYTES * values.length);
  if (excess !== null) return excess;
  for (let at = 0; at < values.length; at++) {
    const fault = findBelow(at, values[at], walk);
    if (fault !== null) return fault;
  }
  return null;
}

/** Names one by one: all of them at once would be written out before the first is counted. */
function findInObject(value: object, walk: Walk): string | null {
  for (const name in value) {
    const fault =
      findExcess(walk, 1, NODE_BYTES + NAME_BYTES + name.length) ??
      findBelow(name, Reflect.get(value, name), walk);
    if (fault !== null) return fault;
  }
  return null;
}

function findBelow(name: string | number, value: unknown, walk: Walk): string | null {
  walk.path.push(name);
  const fault = findFault(value, walk);
  if (fault === null) walk.path.pop();
  return fault;
}

/** Counts what was met; where that is too much, says so. */
function findExcess(walk: Walk, nodes: number, bytes: number): string | null {
  walk.nodes += nodes;
  walk.bytes += bytes;
  if (!isExceeded(walk)) return null;
  const { noun, bounds } = walk;
  return walk.nodes > bounds.nodesMax
    ? `${noun} has at most ${bounds.nodesMax} keys and list elements.`
    : `${noun} is at most ${bounds.bytesMax} bytes of JSON.`;
}

function isExceeded({ nodes, bytes, bounds }: Walk): boolean {
  return nodes > bounds.nodesMax || bytes > bounds.bytesMax;
}

/** How many bytes the JSON of a document within the walk's bounds has beyond those that were counted. */
function byteLengthBeyond(source: unknown, { bytes }: Walk): number {
  return Buffer.byteLength(JSON.stringify(source)) - bytes;
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === "boolean" || Number.isFinite(value);
}
