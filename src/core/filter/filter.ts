import type { Fault } from "../errors.ts";
import { All, allOf, Any, type Clause, Comparison, Field, Not, type Place, SomeElement } from "./clauses.ts";
import { COMBINATORS, EQUALITY, OPERATORS } from "./operators.ts";
import { type Requirement, requirementsOf } from "./requirements.ts";
import { type Bounds, readBounded } from "../json/bounded.ts";
import { childPointer, isObject, type Json, type JsonObject } from "../json/value.ts";
import { limit } from "../limits.ts";

/** `exhausted`: judging takes more steps than an evaluation may; it counts as not matching. */
type FilterResult = "matched" | "unmatched" | "exhausted";

/** A judgement with the steps that it took: some 10 ns each. */
export interface Evaluation {
  judgement: FilterResult;
  steps: number;
}

/**
 * Whether an envelope passes; `explanation` names the clause that said no by its JSON Pointer in the filter,
 * and why.
 */
type FilterVerdict = { matched: true } | { matched: false; explanation: string };

/**
 * A compiled filter. All calls are pure and bounded: they end after the limit `filterStepsMax`, whatever the
 * envelope is.
 */
export interface Filter {
  /** What has to be there for it to match. */
  readonly requirements: readonly Requirement[];
  matches(envelope: Json): boolean;
  /** `stepsMax`: what it may take, `filterStepsMax` unless given. */
  evaluate(envelope: Json, stepsMax?: number): Evaluation;
  explain(envelope: Json): FilterVerdict;
}

const STEPS_MAX = limit("filterStepsMax");
const BOUNDS: Bounds = {
  bytesMax: limit("filterBytesMax"),
  depthMax: limit("filterDepthMax"),
  nodesMax: limit("filterNodesMax"),
};

/**
 * What is known while a condition is compiled. `top`: it judges the envelope itself, which no operator
 * may compare.
 */
interface Scope extends Place {
  top: boolean;
  faults: Fault[];
}

/**
 * Compiles a filter over the envelope `{type, timestamp, data}`, once, when it is saved.
 * Refused with every fault found, each with its pointer relative to the filter.
 */
export function compileFilter(
  source: unknown,
): { ok: true; filter: Filter } | { ok: false; faults: Fault[] } {
  const bounded = readBounded(source, "A filter", BOUNDS);
  if (!bounded.ok) return { ok: false, faults: [bounded.fault] };
  if (!isObject(bounded.json))
    return { ok: false, faults: [{ pointer: "", detail: "A filter is an object." }] };
  const scope: Scope = { pointer: "", spread: false, top: true, faults: [] };
  const isEmpty = Object.keys(bounded.json).length === 0;
  const clause = isEmpty ? new All([]) : compileObject(bounded.json, scope);
  if (scope.faults.length > 0) return { ok: false, faults: scope.faults };
  return { ok: true, filter: filterOf(clause, requirementsOf(bounded.json)) };
}

function filterOf(clause: Clause, requirements: readonly Requirement[]): Filter {
  const evaluate = (envelope: Json, stepsMax = STEPS_MAX): Evaluation => {
    const budget = { stepsLeft: stepsMax };
    const holds = clause.holds(envelope, budget);
    const steps = stepsMax - budget.stepsLeft;
    if (budget.stepsLeft < 0) return { judgement: "exhausted", steps };
    return { judgement: holds ? "matched" : "unmatched", steps };
  };
  return {
    requirements,
    evaluate,
    matches: (envelope) => evaluate(envelope).judgement === "matched",
    explain: (envelope) => explain(clause, envelope),
  };
}

const EXHAUSTED = `Judging this event takes more than ${STEPS_MAX} steps, so it does not match.`;

function explain(clause: Clause, envelope: Json): FilterVerdict {
  const budget = { stepsLeft: STEPS_MAX };
  const explanation = clause.explain(envelope, budget);
  if (budget.stepsLeft < 0) return { matched: false, explanation: EXHAUSTED };
  return explanation === null ? { matched: true } : { matched: false, explanation };
}

/** What stands under a field name: a value to equal, or an object of operators or of field names. */
function compileValue(value: Json, scope: Scope): Clause {
  return isObject(value)
    ? compileObject(value, scope)
    : new Comparison(EQUALITY, value, scope.pointer, scope.spread);
}

/** An object of field names or of operators; its keys are ANDed. */
function compileObject(source: JsonObject, scope: Scope): Clause {
  const names = Object.keys(source);
  if (names.length === 0) return refuse(scope, "An empty object says nothing; leave the key out.");
  const hasFields = names.some((name) => !name.startsWith("$"));
  const inner = hasFields ? { ...scope, spread: false } : scope;
  const clauses = names.map((name) => compileKey(name, source[name] as Json, inner, hasFields));
  const clause = allOf(clauses);
  return hasFields && scope.spread ? new SomeElement(clause, scope.pointer) : clause;
}

function compileKey(name: string, value: Json, scope: Scope, besideFields: boolean): Clause {
  const place = { ...scope, pointer: childPointer(scope.pointer, name) };
  if (!name.startsWith("$"))
    return new Field(name, compileValue(value, { ...place, spread: true, top: false }));
  if (COMBINATORS.has(name)) return compileCombinator(name, value, place);
  const operator = OPERATORS.get(name);
  if (operator === undefined) return refuse(place, `"${name}" is no operator; known are ${KNOWN}.`);
  if (scope.top)
    return refuse(place, `"${name}" needs a field; at the top only $and, $or and $not may stand.`);
  if (besideFields) return refuse(place, `"${name}" cannot stand beside field names in one object.`);
  if (!operator.accepts(value)) return refuse(place, `"${name}" takes ${operator.operand}.`);
  return new Comparison(operator, value, place.pointer, place.spread);
}

const KNOWN = [...OPERATORS.keys(), ...COMBINATORS].join(", ");

function compileCombinator(name: string, value: Json, scope: Scope): Clause {
  if (name === "$not") {
    if (!isObject(value)) return refuse(scope, '"$not" takes an object of operators or of fields.');
    return new Not(compileObject(value, scope), scope.pointer);
  }
  if (!Array.isArray(value) || value.length === 0)
    return refuse(scope, `"${name}" takes a list with at least one object.`);
  const clauses = value.map((element, index) => {
    const place = { ...scope, pointer: childPointer(scope.pointer, index) };
    return isObject(element)
      ? compileObject(element, place)
      : refuse(place, "An object of operators or of fields must stand here.");
  });
  return name === "$and" ? allOf(clauses) : new Any(clauses, scope.pointer);
}

/** Notes the fault; the clause that stands in never judges, as a filter with faults is not made. */
function refuse(scope: Scope, detail: string): Clause {
  scope.faults.push({ pointer: scope.pointer, detail });
  return new All([]);
}
