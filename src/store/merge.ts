/** A merge of more lists than that reads little of each at first, as most of it may not be used. */
const FEW = 50;
const READ_OF_MANY = 8;
const READ_MAX = 250;

/** What a list holds beyond `from`, in the order of the merge: at most `most`, and fewer only at its end. */
export type ReadList = (list: number, from: number, most: number) => readonly number[];

export type Order = (a: number, b: number) => number;

export const NEWEST_FIRST: Order = (a, b) => b - a;
export const OLDEST_FIRST: Order = (a, b) => a - b;

/** One list, and what was read of it and not used yet. */
interface Source {
  list: number;
  /** What is read of it the next time. */
  most: number;
  read: readonly number[];
  /** How much of that is used. */
  used: number;
  /** What comes next, or where its next reading begins: nothing before that comes from this list. */
  at: number;
}

/**
 * Several lists as one, each key once. Of every list something is read at the beginning, and more once that
 * is used up, twice as much each time: so a walk through a thousand lists asks each of them once, and then
 * only those that go on.
 */
export class Merge {
  /** The one that comes next is the last. */
  readonly #sources: Source[] = [];
  #last: number | null = null;

  constructor(
    lists: readonly number[],
    from: number,
    private readonly order: Order,
    private readonly read: ReadList,
  ) {
    const most = lists.length > FEW ? READ_OF_MANY : READ_MAX;
    for (const list of lists) this.#readOn({ list, most, read: [], used: 0, at: from });
  }

  /** The next keys; fewer than `count` only at the end of all lists. */
  next(count: number): number[] {
    const keys: number[] = [];
    while (keys.length < count) {
      const source = this.#sources.pop();
      if (source === undefined) break;
      if (source.used === source.read.length) {
        this.#readOn(source);
        continue;
      }
      if (source.at !== this.#last) keys.push(source.at);
      this.#last = source.at;
      this.#advance(source);
    }
    return keys;
  }

  /** A list that has come to its end is left out. */
  #readOn(source: Source): void {
    const { list, at, most } = source;
    source.read = this.read(list, at, most);
    source.used = -1;
    source.most = Math.min(2 * most, READ_MAX);
    if (source.read.length > 0) this.#advance(source);
  }

  #advance(source: Source): void {
    source.used++;
    source.at = source.read[source.used] ?? source.at;
    this.#sources.splice(this.#indexOf(source.at), 0, source);
  }

  #indexOf(at: number): number {
    let from = 0;
    let to = this.#sources.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = this.#sources[middle];
      if (other !== undefined && this.order(other.at, at) > 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
