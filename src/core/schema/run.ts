import { type Budget, stepsToCompare } from "../structures/budget.ts";
import type { Fault } from "../errors.ts";
import { childPointer, type Json, type JsonObject } from "../json/value.ts";
import { limit } from "../limits.ts";

/**
 * Judges one value by one part of a schema. Answers whether it holds, and reports to the run what does not.
 * `seen` collects what has been evaluated where an `unevaluated…` keyword waits for it, and is null
 * elsewhere.
 */
export type Check = (value: Json, run: Run, seen: Seen | null) => boolean;

/** One compiled schema or sub-schema. */
export interface SchemaNode {
  /** Its JSON Pointer in the document, joined of its parents' and written out only where a fault tells it. */
  pointer: string;
  checks: Check[];
  /** The nearest schema around it with an `$id`, or the whole document. */
  resource: Resource;
  /** True where it holds `unevaluatedProperties` or `unevaluatedItems`. */
  collects: boolean;
  /** The nodes that judge the same value as this one does; a cycle of them would never end. */
  inPlace: SchemaNode[];
}

/** A schema that has a URI of its own, with the names that lead into it. */
export interface Resource {
  uri: string;
  source: JsonObject;
  pointer: string;
  anchors: Map<string, SchemaNode>;
  dynamicAnchors: Map<string, SchemaNode>;
}

/** What has been evaluated of one object or array. */
export class Seen {
  readonly names = new Set<string>();
  readonly indexes = new Set<number>();
  /** Every element before this index. */
  itemsBefore = 0;
  allNames = false;

  merge(other: Seen, run: Run): void {
    run.spend(other.names.size + other.indexes.size);
    for (const name of other.names) {
      run.spend(stepsToCompare(name.length));
      this.names.add(name);
    }
    for (const index of other.indexes) this.indexes.add(index);
    this.itemsBefore = Math.max(this.itemsBefore, other.itemsBefore);
    this.allNames ||= other.allNames;
  }
}

const JUDGE_STEPS = 3;
const CHECK_STEPS = 2;

/**
 * Schemas inside schemas while one value is judged; more is a web of references, and would use up the stack.
 */
const DEPTH_MAX = 2000;

/** What a person reads of a long list of faults, in entries and in characters of their pointers. */
const FAULTS_MAX = 20;
const POINTERS_LENGTH_MAX = 16 * 1024;

/** The state of one validation. */
export class Run implements Budget {
  stepsLeft = limit("schemaStepsMax");
  readonly faults: Fault[] = [];
  /** Where in the data the run stands. */
  readonly path: (string | number)[] = [];
  /** The resources entered on the way here, for `$dynamicRef`. */
  readonly scope: Resource[] = [];
  depth = 0;
  /** Above zero while alternatives are tried, whose faults nobody reads. */
  #tries = 0;
  #pointersLength = 0;

  spend(steps: number): void {
    this.stepsLeft -= steps;
  }

  /** True once the budget is used up: every answer is false from then on. */
  get isOver(): boolean {
    return this.stepsLeft < 0;
  }

  /** True where further faults would not be kept, so that the first one decides. */
  get isQuiet(): boolean {
    return (
      this.isOver ||
      this.#tries > 0 ||
      this.faults.length >= FAULTS_MAX ||
      this.#pointersLength > POINTERS_LENGTH_MAX
    );
  }

  /**
   * Reports a fault here, or at a child of the value here. Always false, the verdict of the check that
   * calls it. `detail` is called only where the sentence is kept: it costs many times a step.
   */
  fail(detail: () => string, child?: string): false {
    if (this.isQuiet) return false;
    const names = child === undefined ? this.path : [...this.path, child];
    // A character that is escaped in a pointer takes as long as many that are not.
    for (const name of names) this.spend(typeof name === "string" ? name.length : 1);
    if (this.isOver) return false;
    const pointer = names.reduce<string>(childPointer, "");
    this.#pointersLength += pointer.length;
    this.faults.push({ pointer, detail: detail() });
    return false;
  }

  /** Whether the value would hold; reports nothing. */
  tries(node: SchemaNode, value: Json, seen: Seen | null): boolean {
    this.#tries++;
    const holds = judge(node, value, this, seen);
    this.#tries--;
    return holds;
  }

  /** Judges a child of the value here. */
  descend(node: SchemaNode, child: Json, name: string | number): boolean {
    this.path.push(name);
    const holds = judge(node, child, this, null);
    this.path.pop();
    return holds;
  }
}

/**
 * Judges a value by a schema. Once the budget is used up every answer is false, and the caller reports
 * only that.
 */
export function judge(node: SchemaNode, value: Json, run: Run, seen: Seen | null): boolean {
  run.spend(JUDGE_STEPS + CHECK_STEPS * node.checks.length);
  if (run.depth >= DEPTH_MAX) run.stepsLeft = -1;
  if (run.isOver) return false;
  const entersResource = run.scope.at(-1) !== node.resource;
  if (entersResource) run.scope.push(node.resource);
  run.depth++;
  const collected = node.collects ? new Seen() : seen;
  const holds = holdAll(node.checks, value, run, collected);
  run.depth--;
  if (entersResource) run.scope.pop();
  if (node.collects && collected !== null) seen?.merge(collected, run);
  return holds;
}

function holdAll(checks: readonly Check[], value: Json, run: Run, seen: Seen | null): boolean {
  let holds = true;
  for (const check of checks) {
    if (check(value, run, seen)) continue;
    holds = false;
    if (run.isQuiet) break;
  }
  return holds;
}
