import type { Simulation } from "./run.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const JUMPS_MS = [-24, -1, -1 / 500, 1 / 12, 1, 24].map((hours) => hours * HOUR_MS);

/** Somebody sets the wall clock, ahead and back, also while nothing runs. */
export class ClockJumps {
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
    process.actors.clock.look();
  }

  /**
   * Before a process dies. What it knew of the time is on disk, and is half a minute old at the most. Nobody
   * can know how much time passed in truth where the clock is set ahead meanwhile, or was wrong before.
   */
  beforeDeath(): void {
    const { rng, tally, world, watch, liveness, process } = this.run;
    const { actors, data } = process;
    const lead = actors.clock.lead();
    // It was set a moment ago, and that is not written: as if it was set while nothing ran.
    const isKept = data.meta.number("clock_lead_ms") === lead;
    if (!isKept) watch.forgetWaits();
    if (!isKept && !data.store.writable) liveness.forgetTold();
    if (!this.run.faults.clockJumps || !data.store.writable) return;
    data.meta.setNumber("clock_passed_ms", actors.clock.now() - rng.below(MINUTE_MS / 2));
    if (!this.#mayJump || !rng.chance(0.2)) return;
    const by = rng.pick(JUMPS_MS);
    tally.clockJumps++;
    world.wallOffset += by;
    if (by > 0 || lead !== 0) watch.forgetWaits();
  }
}
