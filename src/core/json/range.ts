import { QUOTE, stringEnd } from "./json.ts";
import { childPointer } from "./value.ts";

/**
 * Numbers that JSON can spell and a double cannot hold (`1e400`). JSON.parse makes them infinite, and
 * JSON.stringify makes `null` of that: what is sent on as it was written keeps them, what is written anew
 * would change them in silence.
 */

/** A greater exponent has three digits; with two, such a number needs more than 200 digits. */
const GREAT_EXPONENT = /\d[eE]\+?\d{3}/;
const STRIDE = 100;

/**
 * The JSON Pointer of the first number in `value` that a double cannot hold; null: it holds all. `text`
 * spells the value, or more.
 */
export function findOutOfRange(text: string, value: unknown): string | null {
  return mayBeOutOfRange(text) && spellsOutOfRange(text) ? pointerOfInfinite(value) : null;
}

/** False for nearly every text, in a fraction of the time that a walk over its value takes. */
function mayBeOutOfRange(text: string): boolean {
  return GREAT_EXPONENT.test(text) || hasLongNumber(text);
}

/** 200 digits in a row cover two neighbours of every hundredth place. */
function hasLongNumber(text: string): boolean {
  for (let at = STRIDE; at < text.length; at += STRIDE) {
    if (isDigit(text, at) && isDigit(text, at - STRIDE) && areDigits(text, at - STRIDE, at)) return true;
  }
  return false;
}

function areDigits(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (!isDigit(text, at)) return false;
  return true;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

/**
 * One pass over the text: a walk over the value, which may have half a million parts, is for what is
 * refused alone.
 */
function spellsOutOfRange(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === QUOTE) at = stringEnd(text, at) - 1;
    else if (isDigit(text, at)) {
      const end = numberEnd(text, at);
      if (end - at >= SHORTEST && Number(text.slice(at, end)) === Infinity) return true;
      at = end - 1;
    }
  }
  return false;
}

/** `1e309`. */
const SHORTEST = 5;

function numberEnd(text: string, from: number): number {
  let at = from;
  while (isDigit(text, at) || IN_NUMBER.has(text.charCodeAt(at))) at++;
  return at;
}

/** `.`, `e`, `E`, `+` and `-`. */
const IN_NUMBER = new Set([46, 101, 69, 43, 45]);

function pointerOfInfinite(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : "";
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value)) return pointerInList(value);
  for (const name of Object.keys(value)) {
    const below = pointerOfInfinite(Reflect.get(value, name));
    if (below !== null) return childPointer("", name) + below;
  }
  return null;
}

function pointerInList(values: readonly unknown[]): string | null {
  for (let at = 0; at < values.length; at++) {
    const below = pointerOfInfinite(values[at]);
    if (below !== null) return childPointer("", at) + below;
  }
  return null;
}
