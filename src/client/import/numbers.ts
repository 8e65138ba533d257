import { isObject } from "../../core/json/value.ts";

/** Numbers that JavaScript cannot hold as they are written: Sealpost would keep another one. */

/** Stands in a document for such a number. As JSON it is written as it was. */
export class RoundedNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return RAW.rawJSON(this.text);
  }
}

/** Not yet among the types of the language. */
const RAW = JSON as typeof JSON & { rawJSON: (text: string) => unknown };

/** For JSON.parse: what would be rounded becomes a RoundedNumber. */
export function keepNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number") return value;
  const text = context?.source ?? String(value);
  return decimalOf(text) === decimalOf(String(value)) ? value : new RoundedNumber(text);
}

/** The same text for each way to write a number: its digits without zeros around them, and an exponent. */
function decimalOf(text: string): string {
  const [, whole = "", part = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  return end === 0 ? "0" : `${digits.slice(0, end)}e${Number(exponent) - part.length + digits.length - end}`;
}

/** The first number in a document that would be rounded, as it was written; null: none. */
export function roundedIn(value: unknown): string | null {
  if (value instanceof RoundedNumber) return value.text;
  const below = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  for (const one of below) {
    const found = roundedIn(one);
    if (found !== null) return found;
  }
  return null;
}
