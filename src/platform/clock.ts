import { openSync, readSync } from "node:fs";

/**
 * The wall clock and timers for an instant. Nothing else waits for an instant, and but for the log's lines
 * nothing else reads that clock.
 * Durations and timeouts go by `performance.now` and `setTimeout`.
 */
export interface Clock {
  /** Unix milliseconds. */
  now: () => number;
  /**
   * Milliseconds that have passed since the start, also while the machine slept, whatever the wall clock
   * does meanwhile.
   */
  elapsed: () => number;
  /**
   * Runs `wake` after `ms` (at most a minute), whatever the wall clock does meanwhile; answers how to call
   * it off.
   */
  delay(ms: number, wake: () => void): () => void;
  /**
   * Runs `wake` at `at` or a little later, whatever the wall clock does meanwhile; answers how to call
   * it off.
   */
  timer(at: number, wake: () => void): () => void;
}

/**
 * A wait is looked at again at least this often: the wall clock may be set, and setTimeout takes no more than
 * 2^31 − 1 ms.
 */
const WAIT_MAX_MS = 60_000;

/** A timer for an instant, out of delays. */
export function waitUntil(
  clock: Pick<Clock, "now" | "delay">,
  at: number,
  wake: () => void,
): ReturnType<Clock["timer"]> {
  let callOff = () => {};
  const wait = () => {
    const ms = Math.min(Math.max(0, at - clock.now()), WAIT_MAX_MS);
    callOff = clock.delay(ms, () => (clock.now() >= at ? wake() : wait()));
  };
  wait();
  return () => callOff();
}

const SLEEP_LOOK_MS = 1000;

/**
 * `awake` stands still while the machine sleeps, which `sinceBoot` does not: that is read once a second, and
 * exact to a second.
 */
export function countSleep(awake: () => number, sinceBoot: () => number): Clock["elapsed"] {
  const sleptBefore = sinceBoot() - awake();
  let lookAt = awake() + SLEEP_LOOK_MS;
  let slept = 0;
  return () => {
    const now = awake();
    if (now >= lookAt) {
      lookAt = now + SLEEP_LOOK_MS;
      const sleptNow = sinceBoot() - now - sleptBefore;
      if (sleptNow - slept >= STEP_MS) slept = sleptNow;
    }
    return now + slept;
  };
}

/**
 * Milliseconds since the machine was started, its sleep included. The file stays open for the life of the
 * process: when it is wanted, there may be none left. Where there is no such file, sleep is not known of.
 */
function openUptime(): () => number {
  try {
    const file = openSync("/proc/uptime", "r");
    const text = Buffer.alloc(64);
    return () =>
      Number.parseFloat(text.toString("latin1", 0, readSync(file, text, 0, text.length, 0))) * 1000;
  } catch {
    return () => performance.now();
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: countSleep(() => performance.now(), openUptime()),
  delay(ms, wake) {
    const handle = setTimeout(wake, ms);
    return () => clearTimeout(handle);
  },
  timer: (at, wake) => waitUntil(systemClock, at, wake),
};

/** The wall clock was set. */
export interface Step {
  /** Forward where it is positive. */
  byMs: number;
  /** The new time is not believed yet. */
  isDoubted: boolean;
}

/** The smallest step: a smaller difference is within what clocks are exact to. */
const STEP_MS = 1000;
/** A clock that is set ahead by more than this is not believed at once. */
const DOUBTED_MS = 300_000;
/** A doubted clock is believed when it has stayed ahead for so long. */
const DOUBTED_FOR_MS = 600_000;

/**
 * The time by which rows are dated, expire and are counted. It is the wall clock's, with one exception: where
 * somebody sets the wall clock ahead by more than five minutes, the earlier time goes on for ten minutes, and
 * then the new one is believed. Without that, a clock that is a year ahead for three seconds would make keys
 * of that year, which never go back, and would remove what expires within it, which does not come back. A
 * clock that returns to where it was is believed at once, and so is the clock that a start finds.
 *
 * A right clock is set ahead by a mistake, which is soon put right, or because a virtual machine stood still.
 * After a standstill the events of ten minutes are dated too early. A machine's sleep is known, and no step.
 */
export class DatingClock {
  readonly #listeners: ((step: Step) => void)[] = [];
  /** Wall clock less elapsed time, as the wall clock has it now. */
  #wallOffset: number;
  /** The same difference as far as it is believed. */
  #offset: number;
  /** The largest offset that was believed: a clock that is set back and put right is no further ahead. */
  #furthest: number;
  #doubtedSince: number | null = null;

  constructor(readonly wall: Clock) {
    this.#wallOffset = this.#offset = this.#furthest = this.#measure();
  }

  readonly now = (): number => {
    const at = this.wall.now();
    const passed = this.wall.elapsed();
    // Between the two readings the process may have stood still: only what is seen twice is a step.
    if (this.#isStep(at - passed) && this.#isStep(this.#measure())) this.#step(this.#measure());
    const since = this.#doubtedSince;
    if (since === null) return at;
    if (passed - since < DOUBTED_FOR_MS) return Math.floor(this.#offset + passed);
    this.#believe();
    return at;
  };

  /** The offset of the wall clock, believed or not. */
  get wallOffset(): number {
    return this.#wallOffset;
  }

  get offset(): number {
    return this.#offset;
  }

  /** Calls `listener` whenever the wall clock was set. */
  onStep(listener: (step: Step) => void): void {
    this.#listeners.push(listener);
  }

  #measure(): number {
    return this.wall.now() - this.wall.elapsed();
  }

  #isStep(offset: number): boolean {
    return Math.abs(offset - this.#wallOffset) >= STEP_MS;
  }

  #step(offset: number): void {
    const byMs = Math.round(offset - this.#wallOffset);
    this.#wallOffset = offset;
    const isDoubted = offset - this.#furthest > DOUBTED_MS;
    if (isDoubted) this.#doubtedSince ??= this.wall.elapsed();
    else this.#believe();
    for (const listener of this.#listeners) listener({ byMs, isDoubted });
  }

  #believe(): void {
    this.#doubtedSince = null;
    this.#offset = this.#wallOffset;
    this.#furthest = Math.max(this.#furthest, this.#offset);
  }
}

/**
 * The clock by which everything waits. It is never set: it goes by what has passed while the process runs,
 * so that nothing goes before its time and nothing waits longer, whatever becomes of the wall clock, however
 * often it is set ahead and back. At the start it goes on from the wall clock, and its lead on that: each
 * step back adds to it, each step ahead takes from it, and a clock that is put right again leaves none.
 *
 * A machine that slept, or a process that stood still, finds due what became due meanwhile. A virtual machine
 * that its host had stopped has not waited meanwhile, nor has one whose clock was behind: what waits there
 * goes as late as it was told to by its own time, and a restart goes by the wall clock.
 */
export interface SteadyClock extends Clock {
  /** How far this clock is ahead of the wall clock; negative where it is behind. */
  lead(): number;
  /** The instant that people see, by the clock that dates rows. */
  toWall(at: number): number;
  fromWall(at: number): number;
}

/** What the process before has left. */
export interface SteadyState {
  lead: number;
  /** An instant that has passed for certain. */
  passed: number;
}

/**
 * Over a restart only the wall clock tells what has passed: either it is set as before, and the lead holds,
 * or it was put right meanwhile, and there is none. Of the two instants the earlier one is taken that is not
 * before what has passed: nothing goes before its time, and what is wrong by that waits no longer than the
 * service was down. Where neither can be, the clock was set back meanwhile.
 */
function resumed(wall: number, { lead, passed }: SteadyState): number {
  const able = [wall, wall + lead].filter((at) => at >= passed - 2 * STEP_MS);
  return able.length === 0 ? passed : Math.max(passed, Math.min(...able));
}

export function createSteadyClock(dates: DatingClock, before: SteadyState): SteadyClock {
  const { wall } = dates;
  const start = dates.now();
  const offset = dates.wallOffset + resumed(start, before) - start;
  const ahead = () => {
    dates.now();
    return Math.round(offset - dates.offset);
  };
  const steady: SteadyClock = {
    now: () => Math.floor(offset + wall.elapsed()),
    elapsed: wall.elapsed,
    delay: (ms, wake) => wall.delay(ms, wake),
    timer: (at, wake) => waitUntil(steady, at, wake),
    lead: () => Math.round(offset - dates.wallOffset),
    toWall: (at) => at - ahead(),
    fromWall: (at) => at + ahead(),
  };
  return steady;
}
