import { readFileSync } from "node:fs";

const GAP_MS = 1;

/**
 * The longest time that the event loop did not come round, in milliseconds: by the clock, and by the processor time of this
 * thread, which does not count what other processes took.
 */
export class LoopMeter {
  longestMs = 0;
  longestBusyMs = 0;
  #last = performance.now();
  #lastBusy = readBusyMs();
  readonly #timer = setInterval(() => this.#tick(), GAP_MS);

  #tick(): void {
    const [now, busy] = [performance.now(), readBusyMs()];
    this.longestMs = Math.max(this.longestMs, now - this.#last - GAP_MS);
    this.longestBusyMs = Math.max(this.longestBusyMs, busy - this.#lastBusy);
    [this.#last, this.#lastBusy] = [now, busy];
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#tick();
  }
}

/** Processor time of the main thread so far (Linux). */
export function readBusyMs(): number {
  // Brings the account of the running thread up to date: by itself the kernel does so every 4 ms.
  process.cpuUsage();
  return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[0]) / 1e6;
}
