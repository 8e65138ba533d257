import { Hashes } from "./hashes.ts";

/**
 * Needles that begin alike. The longest that stands at a place is found in a few steps, however many there
 * are and however far the text goes like them: among their lengths by halves, where each needle is entered
 * with those of its beginnings that lead to it (Waldvogel and others, "Scalable High Speed IP Routing
 * Lookups", 1997).
 */
export class Alike {
  /** Each once, rising. */
  readonly #lengths: readonly number[];
  /** Of each beginning that is entered the longest needle that begins it, or that it is; -1 is none. */
  readonly #entered = new Map<number, number>();
  /** Of each needle the longest other one that begins it, or is the same. */
  readonly #shorter = new Map<number, number>();

  constructor(needles: readonly number[], spell: (needle: number) => string) {
    const texts = needles.map((needle) => ({ needle, text: spell(needle) }));
    texts.sort((one, other) => one.text.length - other.text.length);
    this.#lengths = [...new Set(texts.map(({ text }) => text.length))];
    for (const [at, { needle, text }] of texts.entries()) {
      const beginnings = texts.slice(0, at).filter((other) => text.startsWith(other.text));
      this.#shorter.set(needle, beginnings.at(-1)?.needle ?? -1);
      const hashes = new Hashes(text);
      for (const length of this.#stepsTo(text.length)) {
        const longest = beginnings.findLast((other) => other.text.length <= length)?.needle ?? -1;
        this.#entered.set(keyOf(hashes, 0, length), length === text.length ? needle : longest);
      }
    }
  }

  /** The longest needle that stands there, as far as hashes tell; -1 where none does. */
  longestAt(hashes: Hashes, at: number): number {
    let longest = -1;
    let [low, high] = [0, this.#lengths.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const length = this.#lengths[middle] as number;
      const found =
        at + length > hashes.text.length ? undefined : this.#entered.get(keyOf(hashes, at, length));
      if (found === undefined) high = middle - 1;
      else {
        longest = found;
        low = middle + 1;
      }
    }
    return longest;
  }

  /** The next needle, no longer, that stands wherever this one does; -1 where there is none. */
  shorter(needle: number): number {
    return this.#shorter.get(needle) ?? -1;
  }

  /** The lengths at which a search for this one goes on to longer ones, and itself. */
  *#stepsTo(wanted: number): Generator<number> {
    let [low, high] = [0, this.#lengths.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const length = this.#lengths[middle] as number;
      if (length <= wanted) yield length;
      if (length === wanted) return;
      if (length < wanted) low = middle + 1;
      else high = middle - 1;
    }
  }
}

function keyOf(hashes: Hashes, at: number, length: number): number {
  return hashes.of(at, length) ^ Math.imul(length, 0x9e3779b1);
}
