import { type Budget, stepsToCompare } from "../structures/budget.ts";
import { equalJson } from "../json/equality.ts";
import type { Json } from "../json/value.ts";

/** What an operator judges: the value of a field or of one element; undefined where the field is missing. */
export type Subject = Json | undefined;
/** Takes from the budget what it costs beyond one step. */
export type Test = (subject: Subject, budget: Budget) => boolean;

/** One comparison operator of the filter language. */
export interface Operator {
  /** What its operand must be, for people. */
  operand: string;
  accepts(operand: Json): boolean;
  /** The test of one value, made once for each filter; it allocates nothing. */
  test(operand: Json): Test;
  /**
   * True where the operator is the exact complement of its test: over an array, no element may satisfy it.
   */
  complement?: true;
}

type Order = (subject: number | string, bound: number | string) => boolean;

function ordering(holds: Order): Operator {
  return {
    operand: "a number or a string",
    accepts: (operand) => typeof operand === "number" || typeof operand === "string",
    test(operand) {
      if (typeof operand !== "number" && typeof operand !== "string") return () => false;
      const type = typeof operand;
      const steps = typeof operand === "string" ? stepsToCompare(operand.length) : 0;
      return (subject, budget) => {
        if (typeof subject !== type) return false;
        budget.stepsLeft -= steps;
        return holds(subject as number | string, operand);
      };
    },
  };
}

function textual(holds: (subject: string, part: string, budget: Budget) => boolean): Operator {
  return {
    operand: "a string",
    accepts: (operand) => typeof operand === "string",
    test(operand) {
      const part = operand as string;
      const steps = stepsToCompare(part.length);
      return (subject, budget) => {
        if (typeof subject !== "string" || subject.length < part.length) return false;
        budget.stepsLeft -= steps;
        return holds(subject, part, budget);
      };
    },
  };
}

/**
 * The built-in search runs over this much of the part only: with a long one a hostile text holds it up
 * for seconds.
 */
const HEAD_CHARACTERS = 4;
/** Characters that are searched in a step. */
const SEARCHED_A_STEP = 8;

/**
 * Whether the part stands in the text; each place where it may begin is looked at, and paid for, by itself.
 */
function contains(text: string, part: string, budget: Budget): boolean {
  budget.stepsLeft -= Math.floor(text.length / SEARCHED_A_STEP);
  if (part.length <= HEAD_CHARACTERS) return text.includes(part);
  const head = part.slice(0, HEAD_CHARACTERS);
  const steps = 2 + stepsToCompare(part.length);
  for (let at = text.indexOf(head); at >= 0; at = text.indexOf(head, at + 1)) {
    budget.stepsLeft -= steps;
    if (budget.stepsLeft < 0) return false;
    if (text.startsWith(part, at)) return true;
  }
  return false;
}

function isScalar(value: Subject): boolean {
  return typeof value !== "object" || value === null;
}

function lengthOf(value: Subject): number {
  return typeof value === "string" ? value.length : 0;
}

/**
 * Scalars by a look-up, as a list may be long and an array under the field too; lists and objects one after
 * the other.
 */
function memberTest(list: Json): Test {
  const members = list as Json[];
  const scalars = new Set<Subject>(members.filter(isScalar));
  const others = members.filter((member) => !isScalar(member));
  const lengthMax = members.reduce<number>((max, member) => Math.max(max, lengthOf(member)), 0);
  return (subject, budget) => {
    budget.stepsLeft -= stepsToCompare(Math.min(lengthOf(subject), lengthMax));
    if (isScalar(subject)) return scalars.has(subject);
    budget.stepsLeft -= others.length;
    // One comparison may take more than what is left: what comes once that is used up means nothing.
    return others.some((other) => budget.stepsLeft >= 0 && equalJson(subject, other, budget));
  };
}

/** `$eq`, and what a plain value under a field name means. */
export const EQUALITY: Operator = {
  operand: "a JSON value",
  accepts: () => true,
  test: (operand) => (subject, budget) => equalJson(subject, operand, budget),
};

const membership: Operator = {
  operand: "a list with at least one value",
  accepts: (operand) => Array.isArray(operand) && operand.length > 0,
  test: memberTest,
};

const existence: Operator = {
  operand: "true or false",
  accepts: (operand) => typeof operand === "boolean",
  test: (operand) => (subject) => (subject !== undefined) === operand,
};

/**
 * The table of operators (src/docs/filters.md); strings are ordered by UTF-16 code unit, which is how
 * JavaScript compares them.
 */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ["$eq", EQUALITY],
  ["$neq", { ...EQUALITY, complement: true }],
  ["$gt", ordering((subject, bound) => subject > bound)],
  ["$gte", ordering((subject, bound) => subject >= bound)],
  ["$lt", ordering((subject, bound) => subject < bound)],
  ["$lte", ordering((subject, bound) => subject <= bound)],
  ["$in", membership],
  ["$nin", { ...membership, complement: true }],
  ["$startsWith", textual((subject, part) => subject.startsWith(part))],
  ["$endsWith", textual((subject, part) => subject.endsWith(part))],
  ["$contains", textual(contains)],
  ["$exist", existence],
]);

/** The operators that combine clauses; they are allowed at every level. */
export const COMBINATORS: ReadonlySet<string> = new Set(["$and", "$or", "$not"]);
