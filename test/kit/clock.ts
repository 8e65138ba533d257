import type { Clock } from "../../src/clock.ts";

/** A clock that stands until the test moves it. */
export class SetClock implements Clock {
  readonly #timers = new Set<{ at: number; wake: () => void }>();

  constructor(private time: number) {}

  now = (): number => this.time;

  timer(at: number, wake: () => void): () => void {
    const timer = { at, wake };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Moves on, and runs what has become due, in its order. */
  advance(ms: number): void {
    this.time += ms;
    const due = [...this.#timers].filter(({ at }) => at <= this.time).sort((a, b) => a.at - b.at);
    for (const timer of due) if (this.#timers.delete(timer)) timer.wake();
  }
}
