import { orderOf, type Ordering, type Waiting } from "../core/waiting.ts";

/** What all queues of actors hold together. */
export interface QueueTotals {
  deliveries: number;
  /** Bytes of bodies that are at hand for their first attempt. */
  bytes: number;
}

/** Dropped items that a heap keeps, besides as many as it has others. */
const DROPPED_MAX = 64;

/**
 * A binary heap of waiting deliveries that finds and drops by id. The first is what is due first, or, where
 * order is kept, what has the smallest key.
 */
export class Queue {
  #heap: Waiting[] = [];
  readonly #byId = new Map<number, Waiting>();

  /** Counts in `totals` what it holds, among others. */
  constructor(
    private ordering: Ordering,
    private readonly totals: QueueTotals,
  ) {}

  get size(): number {
    return this.#byId.size;
  }

  has(id: number): boolean {
    return this.#byId.has(id);
  }

  ids(count: number): number[] {
    const ids: number[] = [];
    for (const id of this.#byId.keys()) {
      if (ids.length === count) break;
      ids.push(id);
    }
    return ids;
  }

  sortBy(ordering: Ordering): void {
    this.ordering = ordering;
    this.#rebuild();
  }

  /** Replaces an item of the same id. */
  push(item: Waiting): void {
    this.drop(item.id);
    this.#byId.set(item.id, item);
    this.#count(item, 1);
    this.#heap.push(item);
    this.#rise(this.#heap.length - 1);
  }

  peek(): Waiting | undefined {
    for (;;) {
      const top = this.#heap[0];
      // Items that were dropped stay in the heap until they come to its top.
      if (!top || this.#byId.get(top.id) === top) return top;
      this.#removeTop();
    }
  }

  pop(): Pick<Waiting, "id" | "load"> | undefined {
    const top = this.peek();
    if (!top) return undefined;
    this.#byId.delete(top.id);
    this.#count(top, -1);
    this.#removeTop();
    const { id, load } = top;
    // A table that the Map has outgrown lives until the next full collection, with every item that stood
    // in it.
    top.load = null;
    return { id, load };
  }

  /** Takes an item out wherever it stands. It leaves the heap when it comes to the top. */
  drop(id: number): void {
    const item = this.#byId.get(id);
    if (!item) return;
    this.#byId.delete(id);
    this.#count(item, -1);
    // The item may stay in the heap for long, after one that is not due: its body is let go now.
    item.load = null;
    if (this.#heap.length > 2 * this.size + DROPPED_MAX) this.#rebuild();
  }

  #count({ load }: Waiting, by: 1 | -1): void {
    this.totals.deliveries += by;
    if (load) this.totals.bytes += by * load.body.length;
  }

  /** Without those that were dropped. Sorted, it is a heap. */
  #rebuild(): void {
    this.#heap = [...this.#byId.values()].sort((x, y) => this.#compare(x, y));
  }

  #removeTop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink();
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const child = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfBefore(child, at)) return;
      at = child;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const x = this.#heap[a];
    const y = this.#heap[b];
    return x !== undefined && y !== undefined && this.#compare(x, y) < 0;
  }

  #swapIfBefore(a: number, b: number): boolean {
    if (!this.#isBefore(a, b)) return false;
    const x = this.#heap[a];
    const y = this.#heap[b];
    if (!x || !y) return false;
    this.#heap[a] = y;
    this.#heap[b] = x;
    return true;
  }

  #compare(x: Waiting, y: Waiting): number {
    return orderOf(x, this.ordering) - orderOf(y, this.ordering) || x.id - y.id;
  }
}
