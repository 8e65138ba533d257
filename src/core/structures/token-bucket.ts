const SECOND_MS = 1000;

/** Tokens that come back at a steady rate, up to a burst. Both may change from one call to the next. */
export class TokenBucket {
  #tokens: number;
  #filledAt: number;

  /** `now` in milliseconds. */
  constructor(tokens: number, now: number) {
    this.#tokens = tokens;
    this.#filledAt = now;
  }

  /** What is there at `now`. Nothing is taken away where the clock was set back. */
  fill(perSecond: number, burst: number, now: number): number {
    const elapsedMs = Math.max(0, now - this.#filledAt);
    this.#tokens = Math.min(burst, this.#tokens + (elapsedMs * perSecond) / SECOND_MS);
    this.#filledAt = now;
    return this.#tokens;
  }

  /** When a token is there: `now`, or later. */
  nextAt(perSecond: number, burst: number, now: number): number {
    const tokens = this.fill(perSecond, burst, now);
    return tokens >= 1 ? now : now + Math.ceil(((1 - tokens) * SECOND_MS) / perSecond);
  }

  take(cost: number): void {
    this.#tokens -= cost;
  }
}
