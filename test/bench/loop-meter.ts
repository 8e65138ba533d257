import { busyMs } from "../../src/platform/turns.ts";

const GAP_MS = 1;

/**
 * The longest time that the event loop did not come round, in milliseconds: by the clock, and by the
 * processor time of this thread, which does not count what other processes took.
 */
export class LoopMeter {
  longestMs = 0;
  longestBusyMs = 0;
  /** When that turn was over, by `performance.now`. */
  longestBusyAt = 0;
  #last = performance.now();
  #lastBusy = busyMs();
  readonly #timer = setInterval(() => this.#tick(), GAP_MS);

  #tick(): void {
    const [now, busy] = [performance.now(), busyMs()];
    this.longestMs = Math.max(this.longestMs, now - this.#last - GAP_MS);
    if (busy - this.#lastBusy > this.longestBusyMs)
      [this.longestBusyMs, this.longestBusyAt] = [busy - this.#lastBusy, now];
    [this.#last, this.#lastBusy] = [now, busy];
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#tick();
  }
}
