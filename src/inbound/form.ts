import { limit } from "../core/limits.ts";

/** Form bodies as several providers sign them: every name with every value, sorted. */

const decoder = new TextDecoder();

/** True where a form has more fields than are worked through. */
export function isTooLong(form: string): boolean {
  let count = 1;
  for (let at = form.indexOf("&"); at >= 0; at = form.indexOf("&", at + 1)) {
    if (++count > limit("formFieldsMax")) return true;
  }
  return false;
}

/** A form's fields by name, each with its values in order; null where there are too many. */
export function readForm(body: Uint8Array): Map<string, string[]> | null {
  const text = decoder.decode(body);
  if (isTooLong(text)) return null;
  const fields = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return fields;
}

/** By UTF-16 code units, as JavaScript's own sort has it. */
export function sorted(texts: Iterable<string>): string[] {
  return [...texts].sort();
}

/** Names in order, each followed by its value; `valuesOf` says in which order the values of one name come. */
export function joinFields(
  fields: ReadonlyMap<string, readonly string[]>,
  valuesOf: (values: readonly string[]) => readonly string[],
): string {
  return sorted(fields.keys())
    .flatMap((name) => valuesOf(fields.get(name) ?? []).map((value) => name + value))
    .join("");
}

export function isForm(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith("application/x-www-form-urlencoded") ?? false;
}
