import { equalJson, type Json } from "./json-value.ts";

/** What an operator judges: the value of a field or of one element; undefined where the field is missing. */
export type Subject = Json | undefined;
export type Test = (subject: Subject) => boolean;

/** One comparison operator of the filter language (contract section 7). */
export interface Operator {
  /** What its operand must be, for people. */
  operand: string;
  accepts(operand: Json): boolean;
  /** The test of one value, made once for each filter; it allocates nothing. */
  test(operand: Json): Test;
  /** True where the operator is the exact complement of its test: over an array, no element may satisfy it. */
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
      return (subject) => typeof subject === type && holds(subject as number | string, operand);
    },
  };
}

function textual(holds: (subject: string, part: string) => boolean): Operator {
  return {
    operand: "a string",
    accepts: (operand) => typeof operand === "string",
    test: (operand) => (subject) => typeof subject === "string" && holds(subject, operand as string),
  };
}

function isScalar(value: Subject): boolean {
  return typeof value !== "object" || value === null;
}

/** Scalars by a look-up, as a list may be long and an array under the field too; lists and objects one after the other. */
function memberTest(list: Json): Test {
  const members = list as Json[];
  const scalars = new Set<Subject>(members.filter(isScalar));
  const others = members.filter((member) => !isScalar(member));
  return (subject) => {
    if (isScalar(subject)) return scalars.has(subject);
    for (const other of others) if (equalJson(subject, other)) return true;
    return false;
  };
}

/** `$eq`, and what a plain value under a field name means. */
export const EQUALITY: Operator = {
  operand: "a JSON value",
  accepts: () => true,
  test: (operand) => (subject) => equalJson(subject, operand),
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

/** The operator table of the contract; strings are ordered by UTF-16 code unit, which is how JavaScript compares them. */
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
  ["$contains", textual((subject, part) => subject.includes(part))],
  ["$exist", existence],
]);

/** The operators that combine clauses; they are allowed at every level. */
export const COMBINATORS: ReadonlySet<string> = new Set(["$and", "$or", "$not"]);
