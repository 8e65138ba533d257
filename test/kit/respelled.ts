/** Names that an object has without a field of its own: an index by one of them finds a function. */
export const INHERITED = ["constructor", "__proto__", "toString", "hasOwnProperty"] as const;

/** The text, once for each of its words, with that one spelled another way. */
export function respelled(text: string, spell: (word: string) => string): string[] {
  return [...text.matchAll(/\w+/g)].map(
    ({ index, 0: word }) => text.slice(0, index) + spell(word) + text.slice(index + word.length),
  );
}
