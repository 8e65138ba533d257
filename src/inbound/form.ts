import { limit } from "../core/limits.ts";
import { once } from "../core/structures/once.ts";
import type { InboundRequest } from "./provider.ts";
import { decodeUtf8 } from "./utf8.ts";

/** Form bodies, also as several providers sign them: every name with every value, sorted. */

/** Fields by name, each with its values in order. */
export type Fields<Value> = ReadonlyMap<string, readonly Value[]>;

/** True where a form has more fields than are worked through. */
function isTooLong(form: string): boolean {
  let count = 1;
  for (let at = form.indexOf("&"); at >= 0; at = form.indexOf("&", at + 1)) {
    if (++count > limit("formFieldsMax")) return true;
  }
  return false;
}

export function byName<Value>(pairs: Iterable<readonly [string, Value]>): Fields<Value> {
  const fields = new Map<string, Value[]>();
  for (const [name, value] of pairs) {
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return fields;
}

/** What a form begins with: a name and its sign. No JSON does, no markup, no form in parts. */
const BEGINNING = /^(?!--)[^\s=&"'<{[:/?][^\s=&"'<:/?]*=/;

/** Escapes of what is not ASCII. */
const ESCAPES = /(?:%[89A-F][0-9A-F])+/gi;

/** False where they are no UTF-8: each of them would become the same letter, U+FFFD. */
function areEscapesUtf8(form: string): boolean {
  try {
    decodeURIComponent(form.match(ESCAPES)?.join(" ") ?? "");
    return true;
  } catch {
    return false;
  }
}

/** The value of a field whose escapes are no UTF-8, as it was written. */
export class Escaped {
  constructor(private readonly text: string) {}

  /** What it stands for. */
  bytes(): Buffer {
    const written = Buffer.from(this.text.replaceAll("+", " ")).toString("latin1");
    const toByte = (_all: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
    return Buffer.from(written.replace(/%([0-9A-F]{2})/gi, toByte), "latin1");
  }
}

/** Of one field; a name that is no UTF-8 stays as it was written. */
function readField(text: string): readonly [string, string | Escaped] {
  const sign = `${text}=`.indexOf("=");
  const [name, value] = [text.slice(0, sign), text.slice(sign + 1)];
  const readable = areEscapesUtf8(name) ? textOf(name) : name;
  return [readable, areEscapesUtf8(value) ? textOf(value) : new Escaped(value)];
}

/** What escaped text stands for. */
function textOf(escaped: string): string {
  return new URLSearchParams(`=${escaped}`).get("") ?? "";
}

function fieldsOf(form: string): Iterable<readonly [string, string | Escaped]> {
  if (areEscapesUtf8(form)) return new URLSearchParams(form);
  const fields = form.split("&").filter((field) => field !== "");
  return fields.map(readField);
}

/**
 * A form's fields, none of nothing; null where it is no form, has too many, or its text is not UTF-8. Read
 * once, as handshake, proof, identity and event all ask for it.
 */
export const readFormFields = once(
  ({ body }: Pick<InboundRequest, "body">): Fields<string | Escaped> | null => {
    const text = decodeUtf8(body);
    if (text === null || isTooLong(text)) return null;
    return text === "" || BEGINNING.test(text) ? byName(fieldsOf(text)) : null;
  },
);

/** The same where all of it is signed; null also where an escape is no UTF-8: no text is what was signed. */
export function readForm(request: Pick<InboundRequest, "body">): Fields<string> | null {
  const fields = readFormFields(request);
  return fields && areTexts(fields) ? fields : null;
}

function areTexts(fields: Fields<string | Escaped>): fields is Fields<string> {
  return [...fields.values()].every((values) => values.every((value) => typeof value === "string"));
}

/** The text of a field that came once; null where it is no text, or came again, as whatever it did. */
export function onlyOne(values: readonly unknown[] = []): string | null {
  const [first] = values;
  return values.length === 1 && typeof first === "string" ? first : null;
}

/** By UTF-16 code units, as JavaScript's own sort has it. */
export function sorted(texts: Iterable<string>): string[] {
  return [...texts].sort();
}

/**
 * Names in order, each followed by its value; `valuesOf` says in which order several values of one name come.
 */
export function joinFields(
  fields: Fields<string>,
  valuesOf: (values: readonly string[]) => readonly string[],
): string {
  let joined = "";
  for (const name of sorted(fields.keys())) {
    const values = fields.get(name) ?? [];
    for (const value of values.length === 1 ? values : valuesOf(values)) joined += name + value;
  }
  return joined;
}
