import { type Clock, waitUntil } from "../../src/platform/clock.ts";

/** Pseudo-random numbers from a seed (mulberry32): the same seed gives the same run. */
export class Rng {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }
}

interface Happening {
  at: number;
  order: number;
  /** The process that it belongs to; null for what outlives a crash (receivers, the outside). */
  process: number | null;
  run: (() => void) | null;
  /** Of what looks again from time to time: true while there is nothing for it to do. */
  isIdle: (() => boolean) | null;
}

/**
 * Virtual time: a list of happenings, run one by one in the order of their instants. A crash raises the
 * process number, so that nothing of the dead process happens any more.
 */
export class World {
  /** Virtual monotonic milliseconds. */
  #now = 0;
  /** What the wall clock is ahead or behind. */
  wallOffset: number;
  process = 0;
  #order = 0;
  #heap: Happening[] = [];

  constructor(startsAt: number) {
    this.wallOffset = startsAt;
  }

  get wall(): number {
    return this.#now + this.wallOffset;
  }

  get monotonic(): number {
    return this.#now;
  }

  /** Happens after `ms`, unless the process is dead by then. */
  after(ms: number, run: () => void): () => void {
    return this.#add(ms, this.process, run);
  }

  /**
   * Happens after `ms`, whatever becomes of the process. While `isIdle` says that it has nothing to do, it is
   * no step, and no run goes on for it.
   */
  inBackground(ms: number, isIdle: () => boolean, run: () => void): () => void {
    return this.#add(ms, null, run, isIdle);
  }

  /** What one life of the process sees: nothing that it asks for after its death happens. */
  ofThisLife() {
    const life = this.process;
    const after = (ms: number, run: () => void) => (this.process === life ? this.after(ms, run) : () => {});
    const wallNow = () => this.wall;
    const monotonicNow = () => this.monotonic;
    return {
      after,
      isOver: () => this.process !== life,
      get wall() {
        return wallNow();
      },
      get monotonic() {
        return monotonicNow();
      },
      clock: this.#clockOver(after),
      /** Of what looks again from time to time, and has nothing to do while `isIdle`. */
      clockInBackground: (isIdle: () => boolean) =>
        this.#clockOver((ms, run) => (this.process === life ? this.#add(ms, life, run, isIdle) : () => {})),
    };
  }

  /** Happens after `ms`, whatever becomes of the process. */
  outside(ms: number, run: () => void): () => void {
    return this.#add(ms, null, run);
  }

  /** Time in which nothing happens: what was to happen comes late. */
  pass(ms: number): void {
    this.#now += ms;
  }

  crash(): void {
    this.process++;
  }

  #clockOver(delay: Clock["delay"]): Clock {
    const clock: Clock = {
      now: () => this.wall,
      elapsed: () => this.monotonic,
      delay,
      timer: (at, wake) => waitUntil(clock, at, wake),
    };
    return clock;
  }

  /** Runs what comes next; false where nothing does, or only later than `until`. */
  step(until: number): boolean {
    for (;;) {
      const top = this.#heap[0];
      if (!top || top.at > until) {
        if (Number.isFinite(until)) this.#now = Math.max(this.#now, Math.min(until, top?.at ?? until));
        return false;
      }
      const isIdle = this.#isIdle(top);
      if (isIdle && until === Number.POSITIVE_INFINITY && !this.#heap.some((one) => this.#isWork(one)))
        return false;
      this.#removeTop();
      if (!this.#isAlive(top)) continue;
      this.#now = Math.max(this.#now, top.at);
      top.run?.();
      if (!isIdle) return true;
    }
  }

  #isAlive({ run, process }: Happening): boolean {
    return run !== null && (process === null || process === this.process);
  }

  #isIdle(happening: Happening): boolean {
    return this.#isAlive(happening) && (happening.isIdle?.() ?? false);
  }

  #isWork(happening: Happening): boolean {
    return this.#isAlive(happening) && !(happening.isIdle?.() ?? false);
  }

  #add(ms: number, process: number | null, run: () => void, isIdle: Happening["isIdle"] = null): () => void {
    const happening: Happening = { at: this.#now + ms, order: this.#order++, process, run, isIdle };
    this.#heap.push(happening);
    for (let at = this.#heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) break;
      at = parent;
    }
    return () => {
      happening.run = null;
    };
  }

  #removeTop(): void {
    const last = this.#heap.pop();
    if (!last || this.#heap.length === 0) return;
    this.#heap[0] = last;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const child = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfBefore(child, at)) return;
      at = child;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const x = this.#heap[a];
    const y = this.#heap[b];
    return x !== undefined && y !== undefined && (x.at < y.at || (x.at === y.at && x.order < y.order));
  }

  #swapIfBefore(a: number, b: number): boolean {
    const x = this.#heap[a];
    const y = this.#heap[b];
    if (!x || !y || !this.#isBefore(a, b)) return false;
    this.#heap[a] = y;
    this.#heap[b] = x;
    return true;
  }
}
