import { childPointer } from "./json-value.ts";

/**
 * Numbers that JSON can spell and a double cannot hold (`1e400`). JSON.parse makes them infinite, and JSON.stringify makes `null` of
 * that: what is sent on as it was written keeps them, what is written anew would change them in silence.
 */

/** A greater exponent has three digits; with two, such a number needs more than 200 digits. */
const GREAT_EXPONENT = /\d[eE]\+?\d{3}/;
const STRIDE = 100;

/** The JSON Pointer of the first number in `value` that a double cannot hold; null: it holds all. `text` spells the value, or more. */
export function findOutOfRange(text: string, value: unknown): string | null {
  return mayBeOutOfRange(text) ? pointerOfInfinite(value) : null;
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

function pointerOfInfinite(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : "";
  if (typeof value !== "object" || value === null) return null;
  for (const name of Object.keys(value)) {
    const below = pointerOfInfinite(Reflect.get(value, name));
    if (below !== null) return childPointer("", name) + below;
  }
  return null;
}
