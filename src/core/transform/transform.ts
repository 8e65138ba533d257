import type { Fault } from "../errors.ts";
import { readBounded } from "../json/bounded.ts";
import { childPointer, isObject, type Json } from "../json/value.ts";
import { findOutOfRange } from "../json/range.ts";
import { countOf, weightOf } from "../json/weight.ts";
import { limit } from "../limits.ts";
import { atOnce, type Pieces } from "../structures/turn-queue.ts";
import { OPERATIONS, type Step, type Transformed } from "./operations.ts";

export type { Transformed } from "./operations.ts";

/** The transformed body as JSON, or why there is none. */
export type Written = { ok: true; text: string } | { ok: false; reason: string };

/**
 * A compiled list of operations. Pure and bounded: the body is never changed; the result may share parts
 * with it.
 */
export interface Transformation {
  /** What it takes in memory, about. */
  readonly weight: number;
  apply(body: Json): Transformed;
  /** The same, with a pause after each part of the work, in which others may go first. */
  parts(body: Json): Pieces<Transformed>;
}

const OPERATIONS_MAX = limit("transformationsMax");
const RESULT_BYTES_MAX = limit("transformedBytesMax");
const STEPS_MAX = limit("transformationStepsMax");

type Compiled = { ok: true; transformation: Transformation } | { ok: false; faults: Fault[] };

/**
 * Compiles an endpoint's list of operations. Refused with every fault found, each with its pointer relative
 * to the list.
 */
export function compileTransformations(source: unknown): Compiled {
  return atOnce(compileInPieces(source, limit("transformationsBytesMax")));
}

/**
 * The same, with a pause before each operation. One that is stored may be larger: an earlier version took it.
 */
export function* compileInPieces(source: unknown, bytesMax: number): Pieces<Compiled> {
  const bounds = { bytesMax, depthMax: limit("jsonDepthMax"), nodesMax: bytesMax };
  const bounded = readBounded(source, "A list of transformations", bounds);
  if (!bounded.ok) return { ok: false, faults: [bounded.fault] };
  if (!Array.isArray(bounded.json)) return refuse("Transformations are a list of operations.");
  if (bounded.json.length > OPERATIONS_MAX)
    return refuse(`There are at most ${OPERATIONS_MAX} transformations.`);
  const faults: Fault[] = [];
  const steps: Step[] = [];
  for (const [index, operation] of bounded.json.entries()) {
    yield 0;
    steps.push(compileOperation(operation, `/${index}`, faults));
  }
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, transformation: transformationOf(steps, compiledWeight(bounded.json)) };
}

function refuse(detail: string): Compiled {
  return { ok: false, faults: [{ pointer: "", detail }] };
}

/** A fault stands in the list of faults; the step in its place never runs. */
function compileOperation(source: Json, pointer: string, faults: Fault[]): Step {
  const never: Step = (body) => ({ ok: true, body });
  if (!isObject(source)) {
    faults.push({
      pointer,
      detail: 'An operation is an object like {"op": "omit", "paths": ["data.secret"]}.',
    });
    return never;
  }
  const name = typeof source.op === "string" ? source.op : "";
  const kind = OPERATIONS.get(name);
  if (kind === undefined) {
    faults.push({ pointer: `${pointer}/op`, detail: `"op" is one of ${[...OPERATIONS.keys()].join(", ")}.` });
    return never;
  }
  for (const field of Object.keys(source)) {
    if (field === "op" || kind.fields.includes(field)) continue;
    faults.push({
      pointer: childPointer(pointer, field),
      detail: `${name} takes only ${kind.fields.join(", ")}.`,
    });
  }
  return kind.compile({ source, pointer, faults });
}

/** What a name of a path takes once it is compiled, about. */
const NAME_BYTES = 300;

function compiledWeight(list: Json): number {
  const names = countOf(JSON.stringify(list), /[.]|",/g);
  return weightOf(list) + NAME_BYTES * names;
}

function transformationOf(steps: readonly Step[], weight: number): Transformation {
  return {
    weight,
    apply: (body) => atOnce(applySteps(steps, body)),
    parts: (body) => applySteps(steps, body),
  };
}

/** Yields between parts of the work. */
function* applySteps(steps: readonly Step[], body: Json): Pieces<Transformed> {
  const budget = { stepsLeft: STEPS_MAX };
  let result = body;
  for (const [index, step] of steps.entries()) {
    const next = step(result, budget);
    if (budget.stepsLeft < 0)
      return { ok: false, reason: `The transformations take more than ${STEPS_MAX} steps.` };
    if (!next.ok) return { ok: false, reason: `Transformation ${index + 1} failed: ${next.reason}.` };
    result = next.body;
    yield;
  }
  if (result !== body && isTooLong(result)) {
    return { ok: false, reason: `The transformed body is longer than ${RESULT_BYTES_MAX} bytes.` };
  }
  return { ok: true, body: result };
}

/**
 * The text of what the operations made of the body that `source` spells. A number that no double holds would
 * become `null`; where the operations took it out, it is in nobody's way.
 */
export function writeTransformed(source: string, result: Transformed): Written {
  if (!result.ok) return result;
  const pointer = findOutOfRange(source, result.body);
  if (pointer === null) return { ok: true, text: JSON.stringify(result.body) };
  return { ok: false, reason: `The number at ${pointer} is beyond the range of a double: omit it.` };
}

function isTooLong(body: Json): boolean {
  return Buffer.byteLength(JSON.stringify(body)) > RESULT_BYTES_MAX;
}
