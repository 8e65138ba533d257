import { type Budget, stepsToCompare } from "../structures/budget.ts";
import type { Json, JsonObject } from "../json/value.ts";

/** A set of JSON values by equality: numbers by value, objects whatever the order of their keys. */
export class ValueSet {
  readonly #scalars = new Set<Json>();
  readonly #composites = new Set<string>();
  /** Of the texts among the scalars: a longer one is compared with none of them. */
  #lengthMax = 0;

  constructor(values: readonly Json[] = []) {
    for (const value of values) this.add(value, { stepsLeft: Infinity });
  }

  has(value: Json, budget: Budget): boolean {
    if (typeof value === "string")
      budget.stepsLeft -= stepsToCompare(Math.min(value.length, this.#lengthMax));
    if (typeof value !== "object" || value === null) return this.#scalars.has(value);
    return this.#composites.size > 0 && this.#composites.has(canonicalText(value, budget));
  }

  /** False where the value was already there. */
  add(value: Json, budget: Budget): boolean {
    budget.stepsLeft -= ADD_STEPS;
    if (typeof value === "string") {
      budget.stepsLeft -= stepsToCompare(value.length);
      this.#lengthMax = Math.max(this.#lengthMax, value.length);
    }
    const isScalar = typeof value !== "object" || value === null;
    const set: Set<Json> = isScalar ? this.#scalars : this.#composites;
    const sizeBefore = set.size;
    set.add(isScalar ? value : canonicalText(value, budget));
    return set.size > sizeBefore;
  }
}

const ADD_STEPS = 10;
const NODE_STEPS = 10;
/** Names are listed, sorted and written. */
const NAME_STEPS = 40;
/** Characters that are written, and for names also sorted, in a step. */
const WRITTEN_A_STEP = 4;

/** The same text for equal values and for no others; empty once the budget is used up. */
function canonicalText(value: Json, budget: Budget): string {
  const parts: string[] = [];
  write(value, parts, budget);
  return budget.stepsLeft < 0 ? "" : parts.join("");
}

/** Adds to `parts`, which are joined once: joined at each level, a long text would be copied by each. */
function write(value: Json, parts: string[], budget: Budget): void {
  budget.stepsLeft -= NODE_STEPS;
  if (typeof value === "string") budget.stepsLeft -= stepsToWrite(value);
  if (budget.stepsLeft < 0) return;
  if (typeof value !== "object" || value === null) parts.push(JSON.stringify(value));
  else if (Array.isArray(value)) writeElements(value, parts, budget);
  else writeFields(value, parts, budget);
}

function stepsToWrite(text: string): number {
  return Math.floor(text.length / WRITTEN_A_STEP);
}

function writeElements(array: Json[], parts: string[], budget: Budget): void {
  parts.push("[");
  for (const element of array) {
    if (budget.stepsLeft < 0) return;
    write(element, parts, budget);
    parts.push(",");
  }
  parts.push("]");
}

function writeFields(object: JsonObject, parts: string[], budget: Budget): void {
  const names = Object.keys(object);
  for (const name of names) budget.stepsLeft -= NAME_STEPS + stepsToWrite(name);
  if (budget.stepsLeft < 0) return;
  parts.push("{");
  for (const name of names.sort()) {
    parts.push(JSON.stringify(name), ":");
    write(object[name] as Json, parts, budget);
    parts.push(",");
  }
  parts.push("}");
}
