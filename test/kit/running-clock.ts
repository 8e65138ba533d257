import type { Clock } from "../../src/platform/clock.ts";

type Timer = { at: number; wake: () => void; handle: ReturnType<typeof setTimeout> };

/** A clock that runs as the real one; time can be made to pass, and it can be set to a wrong time. */
export class RunningClock implements Clock {
  readonly #timers = new Set<Timer>();
  readonly #begunAt = Date.now();
  /** Time that was made to pass. */
  #passedMs = 0;
  #wrongMs = 0;

  readonly now = (): number => this.#trueNow() + this.#wrongMs;

  readonly elapsed = (): number => this.#trueNow() - this.#begunAt;

  timer(at: number, wake: () => void): () => void {
    return this.delay(at - this.now(), wake);
  }

  delay(ms: number, wake: () => void): () => void {
    const at = this.#trueNow() + Math.max(0, ms);
    const handle = setTimeout(() => this.#fire(timer), Math.min(Math.max(0, ms), 2 ** 31 - 1));
    const timer: Timer = { at, wake, handle };
    handle.unref();
    this.#timers.add(timer);
    return () => {
      clearTimeout(timer.handle);
      this.#timers.delete(timer);
    };
  }

  /** Time passes until this instant: what is due then happens. Where it is past, the clock is set back. */
  set(instant: number): void {
    const ms = instant - this.now();
    if (ms < 0) return this.step(ms);
    this.#passedMs += ms;
    const due = [...this.#timers].filter(({ at }) => at <= this.#trueNow());
    for (const timer of due.sort((a, b) => a.at - b.at)) this.#fire(timer);
  }

  /** Somebody sets it, by so much: no time passes. */
  step(ms: number): void {
    this.#wrongMs += ms;
  }

  #trueNow(): number {
    return Date.now() + this.#passedMs;
  }

  #fire(timer: Timer): void {
    clearTimeout(timer.handle);
    if (this.#timers.delete(timer)) timer.wake();
  }
}
