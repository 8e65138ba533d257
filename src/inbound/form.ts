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

/**
 * A form's fields, none of nothing; null where it is no form, has too many, or is not UTF-8, its escapes
 * among it. Read once, as handshake, proof, identity and event all ask for it.
 */
export const readForm = once(({ body }: Pick<InboundRequest, "body">): Fields<string> | null => {
  const text = decodeUtf8(body);
  if (text === null || isTooLong(text) || !areEscapesUtf8(text)) return null;
  return text === "" || BEGINNING.test(text) ? byName(new URLSearchParams(text)) : null;
});

/** The text of a field that came once; null where it is a file, or came again, as whatever it did. */
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
