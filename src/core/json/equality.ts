import { type Budget, stepsToCompare } from "../structures/budget.ts";
import { isObject, type Json, type JsonObject, ownField } from "./value.ts";

/** What a list or an object costs beyond its parts. */
const COMPOSITE_STEPS = 2;
/** For each field of an object whose fields are listed, as a large one has them in a table. */
const FIELD_STEPS = 6;

/**
 * Deep equality with strict types; the order of an object's keys does not count. A missing value equals
 * nothing. Takes what it costs from the budget, and ends however little is left: it is bounded by the size of
 * `b` and the fields of `a`.
 */
export function equalJson(a: Json | undefined, b: Json, budget: Budget): boolean {
  if (typeof b === "string" && typeof a === "string" && a.length === b.length)
    budget.stepsLeft -= stepsToCompare(b.length);
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && equalElements(a, b, budget);
  return isObject(a) && isObject(b) && equalFields(a, b, budget);
}

function equalElements(a: Json[], b: Json[], budget: Budget): boolean {
  budget.stepsLeft -= COMPOSITE_STEPS;
  if (a.length !== b.length) return false;
  budget.stepsLeft -= b.length;
  return b.every((element, index) => equalJson(a[index], element, budget));
}

/** The fields of `a` are counted last, and seldom: that takes a list of them. */
function equalFields(a: JsonObject, b: JsonObject, budget: Budget): boolean {
  const names = Object.keys(b);
  budget.stepsLeft -= COMPOSITE_STEPS + names.length;
  if (!names.every((name) => equalJson(ownField(a, name), b[name] as Json, budget))) return false;
  const count = Object.keys(a).length;
  budget.stepsLeft -= count * FIELD_STEPS;
  return count === names.length;
}
