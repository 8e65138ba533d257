import type { Json } from "../../../src/core/json/value.ts";
import { compileTransformations, type Transformed } from "../../../src/core/transform/transform.ts";

/** Transformations of one step, and what they make of a body. */

export function apply(operations: Json, body: Json): Transformed {
  const compiled = compileTransformations(operations);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.transformation.apply(body);
}

/** What is sent, in the very text: fields of a strange name and the order of all others show in it. */
export function sent(operations: Json, body: Json): string {
  const transformed = apply(operations, body);
  return transformed.ok ? JSON.stringify(transformed.body) : `malformed: ${transformed.reason}`;
}

export function pick(...paths: string[]): Json {
  return [{ op: "pick", paths }];
}

export function omit(...paths: string[]): Json {
  return [{ op: "omit", paths }];
}

export function rename(from: string, to: string): Json {
  return [{ op: "rename", from, to }];
}

export function set(path: string, value: Json): Json {
  return [{ op: "set", path, value }];
}
