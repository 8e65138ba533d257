import { type Clock, createSteadyClock, type SteadyClock } from "../../src/platform/clock.ts";

/** The clock of actors over one that nobody sets back. */
export function steadyOver(clock: Clock): SteadyClock {
  return createSteadyClock(clock, { lead: 0, passed: 0, onStep() {}, isAwaited: () => false, onPassed() {} });
}

/** A clock that stands until the test moves it. */
export class SetClock implements Clock {
  readonly #timers = new Set<{ at: number; wake: () => void }>();
  readonly #delays = new Set<{ at: number; wake: () => void }>();
  /** Time that has passed, whatever the clock was set to. */
  #elapsed = 0;

  constructor(private time: number) {}

  now = (): number => this.time;

  /** Timers that are set. */
  get timers(): number {
    return this.#timers.size + this.#delays.size;
  }

  timer(at: number, wake: () => void): () => void {
    const timer = { at, wake };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  delay(ms: number, wake: () => void): () => void {
    const delay = { at: this.#elapsed + ms, wake };
    this.#delays.add(delay);
    return () => void this.#delays.delete(delay);
  }

  /** Moves on, and runs what has become due, in its order; back where it is negative, as somebody sets it. */
  advance(ms: number): void {
    this.time += ms;
    this.#elapsed += Math.max(0, ms);
    wakeDue(this.#delays, this.#elapsed);
    wakeDue(this.#timers, this.time);
  }
}

function wakeDue(timers: Set<{ at: number; wake: () => void }>, now: number): void {
  const due = [...timers].filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
  for (const timer of due) if (timers.delete(timer)) timer.wake();
}
