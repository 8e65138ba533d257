import type { Simulation } from "./run.ts";
import { Rng } from "./world.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Of so many seeds one has a process that stays dead for days. */
const DOWN_EACH = 3;
/** For each start so much may count as if something ran: shorter than any down time, and a moment. */
const COUNTED_MAX_MS = 11 * MINUTE_MS;

/**
 * Nothing runs for days, or a start finds a clock that is ahead: of the days after which an endpoint is
 * disabled, and after which what was never fetched expires, none are other than those in which something ran.
 */
export class DownTimes {
  readonly #rng: Rng | null;
  /** By the monotonic clock. */
  readonly #beganAt: number;
  /** The same instant by the clock that deliveries wait by. */
  readonly #began: number;
  #downMs = 0;
  #starts = 1;

  constructor(
    private readonly run: Simulation,
    seed: number,
  ) {
    this.#rng = seed % DOWN_EACH === 1 ? new Rng(seed) : null;
    this.#beganAt = run.world.monotonic;
    this.#began = run.process.actors.clock.now();
  }

  /** The process is dead, and the next one has not begun; meanwhile the clock was set back for so long. */
  pass(setBackMs: number): void {
    this.#starts++;
    const { liveness, receivers, tally, world } = this.run;
    if (receivers.calm || !this.#rng?.chance(0.5)) return;
    const ms = (1 + this.#rng.below(8)) * DAY_MS;
    tally.downForDays++;
    this.#downMs += ms;
    liveness.lose(Math.min(ms, setBackMs));
    world.pass(ms);
  }

  /** At every step. */
  look(): void {
    const { endpoints, process, world } = this.run;
    const { actors, data } = process;
    const ranMs = world.monotonic - this.#beganAt - this.#downMs;
    for (const id of endpoints) {
      const endpoint = data.endpoints.get(id);
      if (endpoint === undefined) continue;
      const countedMs = actors.clock.now() - actors.countsFrom(endpoint, this.#began);
      if (countedMs > ranMs + this.#starts * COUNTED_MAX_MS)
        this.run.violate("time in which nothing ran counts for an endpoint");
    }
  }
}
