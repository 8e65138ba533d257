/** What an object, an array or an element takes beside its text, about. */
const PART_BYTES = 100;

/** What a JSON value takes in memory, about, and more rather than less: many small parts weigh most. */
export function weightOf(value: unknown): number {
  const text = JSON.stringify(value) ?? "";
  return text.length + PART_BYTES * countOf(text, /[,[{]/g);
}

export function countOf(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}
