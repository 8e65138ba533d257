import { excerpt, isObject, type Json } from "../json/value.ts";
import type { SchemaPart } from "./part.ts";
import type { Check, Run } from "./run.ts";
import { ValueSet } from "./value-set.ts";

/** The keywords that look at one value alone: its type, its equality, its number, its text. */

const TYPES = new Map<string, (value: Json) => boolean>([
  ["null", (value) => value === null],
  ["boolean", (value) => typeof value === "boolean"],
  ["integer", (value) => Number.isInteger(value)],
  ["number", (value) => typeof value === "number"],
  ["string", (value) => typeof value === "string"],
  ["array", (value) => Array.isArray(value)],
  ["object", isObject],
]);

export function compileType(part: SchemaPart): Check | null {
  const operand = part.get("type");
  if (operand === undefined) return null;
  const list = Array.isArray(operand) ? operand : [operand];
  const names = list.filter((name) => typeof name === "string");
  const tests = names.map((name) => TYPES.get(name)).filter((test) => test !== undefined);
  if (tests.length === 0 || tests.length < list.length || new Set(names).size < names.length) {
    return part.refuse(
      ["type"],
      `"type" is one of ${[...TYPES.keys()].join(", ")}, or a list of different ones.`,
    );
  }
  const wanted = names.join(" or ");
  return (value, run) => {
    for (const test of tests) if (test(value)) return true;
    return run.fail(() => `The type must be ${wanted}; this is ${excerpt(value)}.`);
  };
}

export function compileEnum(part: SchemaPart): Check | null {
  const operand = part.get("enum");
  if (operand === undefined) return null;
  if (!Array.isArray(operand)) return part.refuse(["enum"], '"enum" takes a list.');
  const allowed = new ValueSet(operand);
  const text = excerptOfList(operand);
  return (value, run) =>
    allowed.has(value, run) || run.fail(() => `The value must be one of ${text}; this is ${excerpt(value)}.`);
}

const ENUM_SHOWN = 10;

function excerptOfList(values: Json[]): string {
  const shown = values.slice(0, ENUM_SHOWN).map(excerpt).join(", ");
  return values.length > ENUM_SHOWN ? `${shown} and ${values.length - ENUM_SHOWN} more` : shown;
}

export function compileConst(part: SchemaPart): Check | null {
  const operand = part.get("const");
  if (operand === undefined) return null;
  const allowed = new ValueSet([operand]);
  return (value, run) => allowed.has(value, run) || run.fail(() => `The value must be ${excerpt(operand)}.`);
}

/** One bound of a number: `holds` compares the value with the operand. */
function compileBound(keyword: string, words: string, holds: (value: number, bound: number) => boolean) {
  return (part: SchemaPart): Check | null => {
    const bound = part.number(keyword);
    if (bound === null) return null;
    return (value, run) => {
      if (typeof value !== "number" || holds(value, bound)) return true;
      return run.fail(() => `The number must be ${words} ${bound}; this is ${value}.`);
    };
  };
}

export const compileMinimum = compileBound("minimum", "at least", (value, bound) => value >= bound);
export const compileMaximum = compileBound("maximum", "at most", (value, bound) => value <= bound);
export const compileAbove = compileBound("exclusiveMinimum", "above", (value, bound) => value > bound);
export const compileBelow = compileBound("exclusiveMaximum", "below", (value, bound) => value < bound);

/** Beside those for each power of ten between the exponents. */
const MULTIPLE_STEPS = 50;

export function compileMultiple(part: SchemaPart): Check | null {
  const divisor = part.number("multipleOf");
  if (divisor === null) return null;
  if (divisor <= 0) return part.refuse(["multipleOf"], '"multipleOf" takes a number above 0.');
  const decimal = decimalOf(divisor);
  return (value, run) => {
    if (typeof value !== "number") return true;
    run.spend(MULTIPLE_STEPS);
    const areSafe = Number.isSafeInteger(value) && Number.isSafeInteger(divisor);
    const holds = areSafe ? value % divisor === 0 : isMultiple(decimalOf(value), decimal, run);
    return holds || run.fail(() => `The number must be a multiple of ${divisor}; this is ${value}.`);
  };
}

/** Exact in decimals: 0.3 is a multiple of 0.1, which a division of doubles denies. */
function isMultiple(value: Decimal, divisor: Decimal, run: Run): boolean {
  run.spend(Math.abs(value.exponent - divisor.exponent));
  if (run.isOver) return false;
  const exponent = Math.min(value.exponent, divisor.exponent);
  return scaled(value, exponent) % scaled(divisor, exponent) === 0n;
}

interface Decimal {
  digits: bigint;
  exponent: number;
}

function decimalOf(value: number): Decimal {
  const [mantissa = "", exponent = "0"] = String(value).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

function scaled(decimal: Decimal, exponent: number): bigint {
  return decimal.digits * 10n ** BigInt(decimal.exponent - exponent);
}

export function compileLength(part: SchemaPart): Check | null {
  const min = part.count("minLength");
  const max = part.count("maxLength");
  if (min === null && max === null) return null;
  return (value, run) => {
    if (typeof value !== "string") return true;
    const length = countCodePoints(value, run);
    if (min !== null && length < min) return run.fail(() => `The text must have at least ${min} characters.`);
    return max === null || length <= max || run.fail(() => `The text must have at most ${max} characters.`);
  };
}

function countCodePoints(text: string, run: Run): number {
  run.spend(text.length >> 2);
  let count = 0;
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

export function compileTextPattern(part: SchemaPart): Check | null {
  const source = part.text("pattern");
  const pattern = source === null ? null : part.pattern(source, ["pattern"]);
  if (source === null || pattern === null) return null;
  return (value, run) => {
    if (typeof value !== "string" || pattern.foundIn(value, run)) return true;
    return run.fail(() => `The text must match the pattern ${excerpt(source)}.`);
  };
}
