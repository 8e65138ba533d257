/** What an object, an array or an element takes beside its text, about. */
const PART_BYTES = 100;

/** What JSON writes of a character above U+00FF, or of half of one: a text takes 2 bytes for each by it. */
const WIDE = /[\u0100-\uffff]|\\ud[89a-f]/;

/** What a JSON value takes in memory, about, and more rather than less: many small parts weigh most. */
export function weightOf(value: unknown): number {
  const text = JSON.stringify(value) ?? "";
  return (WIDE.test(text) ? 2 : 1) * text.length + PART_BYTES * countOf(text, /[,[{]/g);
}

export function countOf(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}
