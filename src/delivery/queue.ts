import type { Load, Waiting } from "../core/dispatch.ts";

/** What all queues of actors hold together. */
export interface Held {
  deliveries: number;
  /** Bytes of bodies that are at hand for their first attempt. */
  bytes: number;
}

/** A delivery in the queue. */
export interface Queued extends Pick<Waiting, "id" | "due"> {
  /** What the queue is sorted by: the due time, or the delivery's key where order is kept. */
  order: number;
  /** What is needed to send, while it is still at hand from accepting the event. */
  load: Load | null;
  dropped: boolean;
}

/** Dropped items that a heap keeps, besides as many as it has others. */
const DROPPED_MAX = 64;

/** A binary heap of waiting deliveries, smallest `order` first, that finds and drops by id. */
export class Queue {
  #heap: Queued[] = [];
  #byId = new Map<number, Queued>();

  /** Counts in `held` what it holds, among others. */
  constructor(private readonly held: Held) {}

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

  items(): Iterable<Queued> {
    return this.#byId.values();
  }

  /** Replaces an item of the same id. */
  push(item: Queued): void {
    this.drop(item.id);
    this.#byId.set(item.id, item);
    this.#count(item, 1);
    this.#heap.push(item);
    this.#rise(this.#heap.length - 1);
  }

  peek(): Queued | undefined {
    while (this.#heap[0]?.dropped) this.#removeTop();
    return this.#heap[0];
  }

  pop(): Pick<Queued, "id" | "load"> | undefined {
    const top = this.peek();
    if (!top) return undefined;
    this.#byId.delete(top.id);
    this.#count(top, -1);
    this.#removeTop();
    const { id, load } = top;
    // A table that the Map has outgrown lives until the next full collection, with every item that stood in
    // it.
    top.load = null;
    return { id, load };
  }

  /** Takes an item out wherever it stands. It leaves the heap when it comes to the top. */
  drop(id: number): Queued | undefined {
    const item = this.#byId.get(id);
    if (!item) return undefined;
    item.dropped = true;
    this.#byId.delete(id);
    this.#count(item, -1);
    // It may stay in the heap for long, behind one that is not due or not to be sent.
    item.load = null;
    if (this.#heap.length > 2 * this.size + DROPPED_MAX) this.#rebuild();
    return item;
  }

  /** The item is read from the database when its turn comes. */
  forgetLoad(id: number): void {
    const item = this.#byId.get(id);
    if (!item?.load) return;
    this.held.bytes -= item.load.body.length;
    item.load = null;
  }

  clear(): void {
    for (const item of this.#byId.values()) this.#count(item, -1);
    this.#heap = [];
    this.#byId.clear();
  }

  #count({ load }: Queued, by: 1 | -1): void {
    this.held.deliveries += by;
    if (load) this.held.bytes += by * load.body.length;
  }

  /** Without those that were dropped. Sorted, it is a heap. */
  #rebuild(): void {
    this.#heap = [...this.#byId.values()].sort(inOrder);
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
    return x !== undefined && y !== undefined && inOrder(x, y) < 0;
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
}

function inOrder(x: Queued, y: Queued): number {
  return x.order - y.order || x.id - y.id;
}
