/** Form bodies as several providers sign them: every name with every value, sorted. */

const decoder = new TextDecoder();

/** A form's fields by name, each with its values in order. */
export function readForm(body: Uint8Array): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(decoder.decode(body))) {
    fields.set(name, [...(fields.get(name) ?? []), value]);
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
