import type { KeptClock } from "../../src/delivery/steady.ts";
import { type Clock, createSteadyClock, DatingClock } from "../../src/platform/clock.ts";

/** The clock of actors, whose state nobody keeps: where a test moves it on, the service ran. */
export function steadyOver(clock: Clock): KeptClock {
  const steady = createSteadyClock(new DatingClock(clock), { lead: 0, passed: 0 });
  return { ...steady, look() {}, downSince: () => 0 };
}

/** A clock that stands until the test moves it. */
export class SetClock implements Clock {
  readonly #timers = new Set<{ at: number; wake: () => void }>();
  readonly #delays = new Set<{ at: number; wake: () => void }>();
  /** Time that has passed, whatever the clock was set to. */
  #elapsed = 0;

  constructor(private time: number) {}

  now = (): number => this.time;
  elapsed = (): number => this.#elapsed;

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

  /** Somebody sets it: no time passes. */
  step(ms: number): void {
    this.time += ms;
  }

  /** Moves on, and runs what has become due, in its order. */
  advance(ms: number): void {
    this.time += ms;
    this.#elapsed += ms;
    wakeDue(this.#delays, this.#elapsed);
    wakeDue(this.#timers, this.time);
  }
}

function wakeDue(timers: Set<{ at: number; wake: () => void }>, now: number): void {
  const due = [...timers].filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
  for (const timer of due) if (timers.delete(timer)) timer.wake();
}
