import type { Clock } from "../../src/platform/clock.ts";

type Timer = { at: number; wake: () => void; handle: ReturnType<typeof setTimeout> };

/** A clock that runs as the real one, and can be set: what is due then happens. */
export class RunningClock implements Clock {
  readonly #timers = new Set<Timer>();
  #aheadMs = 0;

  readonly now = (): number => Date.now() + this.#aheadMs;

  timer(at: number, wake: () => void): () => void {
    const ms = Math.min(Math.max(0, at - this.now()), 2 ** 31 - 1);
    const timer: Timer = { at, wake, handle: setTimeout(() => this.#fire(timer), ms) };
    timer.handle.unref();
    this.#timers.add(timer);
    return () => {
      clearTimeout(timer.handle);
      this.#timers.delete(timer);
    };
  }

  delay(ms: number, wake: () => void): () => void {
    return this.timer(this.now() + ms, wake);
  }

  set(instant: number): void {
    this.#aheadMs = instant - Date.now();
    const due = [...this.#timers].filter(({ at }) => at <= instant);
    for (const timer of due.sort((a, b) => a.at - b.at)) this.#fire(timer);
  }

  #fire(timer: Timer): void {
    clearTimeout(timer.handle);
    if (this.#timers.delete(timer)) timer.wake();
  }
}
