import type { Fault } from "../errors.ts";
import { type Bounds, readBounded } from "../json/bounded.ts";
import { isObject, type Json } from "../json/value.ts";
import { limit } from "../limits.ts";
import { SchemaCompiler } from "./compiler.ts";
import { dialectOf } from "./dialect.ts";
import { judge, Run, type SchemaNode } from "./run.ts";

/** A compiled JSON Schema. */
export interface EventSchema {
  /**
   * What the data violates, with pointers relative to the data; empty where it is valid. Bounded in steps:
   * data that needs more of them answers one fault that says so.
   */
  validate(data: Json): Fault[];
  /** What it takes in memory, about. */
  readonly weight: number;
}

const BOUNDS: Bounds = {
  bytesMax: limit("schemaBytesMax"),
  depthMax: limit("schemaDepthMax"),
  nodesMax: limit("schemaNodesMax"),
};

/**
 * Compiles the JSON Schema of an event type: 2020-12, or draft-07 where `$schema` says so. It is
 * interpreted, never turned into code; refused with pointers into the schema where it is wrong, too large,
 * or refers elsewhere.
 */
export function compileSchema(
  source: unknown,
): { ok: true; schema: EventSchema } | { ok: false; faults: Fault[] } {
  const bounded = readBounded(source, "A schema", BOUNDS);
  if (!bounded.ok) return { ok: false, faults: [bounded.fault] };
  if (!isObject(bounded.json)) return refuse("", "A schema is an object.");
  const dialect = dialectOf(bounded.json.$schema);
  if (dialect === null)
    return refuse("/$schema", "The dialects are JSON Schema 2020-12 and draft-07, named by their URIs.");
  const compiler = new SchemaCompiler(bounded.json, dialect);
  const root = compiler.compileDocument();
  if (compiler.faults.length > 0) return { ok: false, faults: compiler.faults };
  return { ok: true, schema: { validate: (data) => validate(root, data), weight: compiler.weight } };
}

function refuse(pointer: string, detail: string): { ok: false; faults: Fault[] } {
  return { ok: false, faults: [{ pointer, detail }] };
}

function validate(root: SchemaNode, data: Json): Fault[] {
  const run = new Run();
  const holds = judge(root, data, run, null);
  if (run.isOver) return [{ pointer: "", detail: "Judging this data by its schema takes too many steps." }];
  return holds ? [] : run.faults;
}
