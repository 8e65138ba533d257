import { DownTimes } from "../../src/delivery/down-times.ts";
import type { Simulation } from "./run.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const JUMPS_MS = [-24, -1, -1 / 500, 1 / 12, 1, 24].map((hours) => hours * HOUR_MS);

/** As often as the job that reads the wall clock. */
const LOOK_MS = 5000;
/** What that writes is on disk by then, however slow that is. */
const KEPT_WITHIN_MS = 20_000;

/** Somebody sets the wall clock, ahead and back, also while nothing runs. */
export class ClockJumps {
  #lookedAt = 0;
  /** Since when what the process knows of the time is not on disk, by the monotonic clock. */
  #unkeptSince: number | null = null;

  constructor(private readonly run: Simulation) {}

  get #mayJump(): boolean {
    return !this.run.receivers.calm && this.run.faults.clockJumps;
  }

  /** Now and then it is put right soon, or is set several times in a row. */
  jump(): void {
    if (!this.#mayJump) return;
    const { rng, world } = this.run;
    const by = rng.pick(JUMPS_MS);
    this.#set(by);
    if (rng.chance(0.5)) world.outside(rng.below(20 * MINUTE_MS), () => this.#set(-by));
    if (rng.chance(0.3)) world.outside(rng.below(MINUTE_MS), () => this.jump());
  }

  /** The job that reads it does so at once. */
  #set(by: number): void {
    const { tally, liveness, world, process } = this.run;
    tally.clockJumps++;
    liveness.jumped();
    world.wallOffset += by;
    this.#unkeptSince = null;
    process.actors.clock.look();
  }

  /** With an instant that has passed is written what lies before it; `known`: the one that was written. */
  #keepDownTime(known: number): void {
    const { actors, data } = this.run.process;
    const down = new DownTimes(data.meta.text("clock_down"));
    const missing = actors.clock.downSince(0) - down.since(0);
    // Where that was written without it, the process has lost it.
    if (missing <= 0 || actors.clock.downSince(known) < missing) return;
    down.add(known, known + missing);
    data.meta.setText("clock_down", down.toText());
  }

  /** At every step. */
  look(): void {
    const { world, process } = this.run;
    const { monotonic } = world;
    if (monotonic - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = monotonic;
    const { actors, data } = process;
    actors.clock.look();
    if (this.#isKept || !data.store.writable) this.#unkeptSince = null;
    else this.#unkeptSince ??= monotonic;
    if (this.#unkeptSince !== null && monotonic - this.#unkeptSince > KEPT_WITHIN_MS)
      this.run.violate("the wall clock was set, and that is not on disk");
  }

  get #isKept(): boolean {
    const { actors, data } = this.run.process;
    return data.meta.number("clock_lead_ms") === actors.clock.lead();
  }

  /**
   * Before a process dies. What it knew of the time is on disk, and is half a minute old at the most. Nobody
   * can know how much time passed in truth where the clock is set ahead meanwhile, or was wrong before.
   * Answers for how long it was set back: so much of what passes now goes unseen.
   */
  beforeDeath(): number {
    const { rng, tally, world, watch, liveness, process } = this.run;
    const { actors, data } = process;
    const lead = actors.clock.lead();
    // It was set a moment ago, and that is not written: as if it was set while nothing ran.
    const isKept = this.#isKept;
    this.#unkeptSince = null;
    if (!isKept) watch.forgetWaits();
    if (!isKept && !data.store.writable) liveness.forgetTold();
    if (!this.run.faults.clockJumps || !data.store.writable) return 0;
    const known = data.meta.number("clock_passed_ms");
    const passed = actors.clock.now() - rng.below(MINUTE_MS / 2);
    data.meta.setNumber("clock_passed_ms", passed);
    this.#keepDownTime(known);
    // Behind what is on disk, as no process leaves it: several that live for a moment each lose it again.
    if (passed < known) liveness.lose(known - passed);
    if (!this.#mayJump || !rng.chance(0.2)) return 0;
    const by = rng.pick(JUMPS_MS);
    tally.clockJumps++;
    world.wallOffset += by;
    if (by > 0 || lead !== 0) watch.forgetWaits();
    return Math.max(0, -by);
  }
}
