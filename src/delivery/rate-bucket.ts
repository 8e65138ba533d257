const SECOND_MS = 1000;
/** A twentieth of a second's worth may come at once: no second sees much more than it may. */
const BURST_SHARE = 1 / 20;

/** Attempts that an endpoint takes a second; its rate may change from one call to the next. */
export class RateBucket {
  #tokens = 1;
  #at: number;

  constructor(now: number) {
    this.#at = now;
  }

  /** When the next attempt may go: `now`, or later. */
  nextAt(perSecond: number, now: number): number {
    const burst = Math.max(1, perSecond * BURST_SHARE);
    // Nothing is taken away where the wall clock was set back.
    const elapsedMs = Math.max(0, now - this.#at);
    this.#tokens = Math.min(burst, this.#tokens + (elapsedMs * perSecond) / SECOND_MS);
    this.#at = now;
    return this.#tokens >= 1 ? now : now + Math.ceil(((1 - this.#tokens) * SECOND_MS) / perSecond);
  }

  take(): void {
    this.#tokens -= 1;
  }
}
