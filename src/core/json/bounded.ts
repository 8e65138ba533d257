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
