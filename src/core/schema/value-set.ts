import type { Budget } from "../structures/budget.ts";
import type { Json, JsonObject } from "../json/value.ts";

/** A set of JSON values by equality: numbers by value, objects whatever the order of their keys. */
export class ValueSet {
  readonly #scalars = new Set<Json>();
  readonly #composites = new Set<string>();

  constructor(values: readonly Json[] = []) {
    for (const value of values) this.add(value, { stepsLeft: Infinity });
  }

  has(value: Json, budget: Budget): boolean {
    if (typeof value !== "object" || value === null) return this.#scalars.has(value);
    return this.#composites.size > 0 && this.#composites.has(canonicalText(value, budget));
  }

  /** False where the value was already there. */
  add(value: Json, budget: Budget): boolean {
    budget.stepsLeft -= ADD_STEPS;
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

/** The same text for equal values and for no others. Cut short once the budget is used up. */
function canonicalText(value: Json, budget: Budget): string {
  budget.stepsLeft -= NODE_STEPS;
  if (budget.stepsLeft < 0) return "";
  if (Array.isArray(value)) return `[${value.map((element) => canonicalText(element, budget)).join()}]`;
  if (typeof value === "object" && value !== null) return canonicalObject(value, budget);
  if (typeof value === "string") budget.stepsLeft -= value.length >> 2;
  return JSON.stringify(value);
}

function canonicalObject(object: JsonObject, budget: Budget): string {
  const names = Object.keys(object);
  budget.stepsLeft -= names.length * NAME_STEPS;
  if (budget.stepsLeft < 0) return "";
  names.sort();
  const fields = names.map(
    (name) => `${JSON.stringify(name)}:${canonicalText(object[name] as Json, budget)}`,
  );
  return `{${fields.join()}}`;
}
