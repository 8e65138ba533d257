/**
 * The wall clock and its timers. Nothing else in the program reads the time or sets a timer for an instant.
 */
export interface Clock {
  /** Unix milliseconds. */
  now: () => number;
  /**
   * Runs `wake` after `ms` (at most a minute), whatever the wall clock does meanwhile; answers how to call it
   * off.
   */
  delay(ms: number, wake: () => void): () => void;
  /**
   * Runs `wake` at `at` or a little later, whatever the wall clock does meanwhile; answers how to call it
   * off.
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

export const systemClock: Clock = {
  now: () => Date.now(),
  delay(ms, wake) {
    const handle = setTimeout(wake, ms);
    return () => clearTimeout(handle);
  },
  timer: (at, wake) => waitUntil(systemClock, at, wake),
};

/**
 * A clock that is never set back: what waits, waits as long as it was told to, whoever corrects the wall
 * clock meanwhile. Its instants are those of the wall clock, later by its lead. The lead grows by each step
 * back, and is kept from one start to the next.
 */
export interface SteadyClock extends Clock {
  /** The instant of the wall clock that people see. */
  toWall(at: number): number;
  fromWall(at: number): number;
  /** Calls `listener` whenever the wall clock was set back. */
  onStep(listener: () => void): void;
}

export interface SteadyOptions {
  /** Milliseconds that it was ahead of the wall clock when the process before ended. */
  lead: number;
  /** An instant that has passed for certain: a clock that is behind it was set back while nothing ran. */
  passed: number;
  /** Hears of each new lead. */
  onStep: (lead: number) => void;
  /** True while somebody waits by this clock. */
  isAwaited: () => boolean;
  /** Hears, while somebody waits, of instants that have passed: the next process is to know them. */
  onPassed: (at: number) => void;
}

/** A smaller step back is waited for: no clock is more exact than that. */
const STEP_MS = 1000;
/** How far the next process may lag behind this one where the wall clock is set back in between. */
const PASSED_EVERY_MS = 30_000;

/**
 * A job reads it every few seconds (src/maintenance/schedule.ts): a step back lengthens no wait by more than
 * that.
 */
export function createSteadyClock(wall: Clock, options: SteadyOptions): SteadyClock {
  let ahead = options.lead;
  let last = options.passed;
  let told = last;
  const listeners: (() => void)[] = [];
  const now = () => {
    const at = wall.now() + ahead;
    if (at < last - STEP_MS) {
      ahead += last - at;
      options.onStep(ahead);
      for (const listener of listeners) listener();
    }
    // What is accepted after a leap waits by it: that is told before.
    const isLeap = at - last >= PASSED_EVERY_MS;
    last = Math.max(at, last);
    if (last - told >= PASSED_EVERY_MS && (isLeap || options.isAwaited())) options.onPassed((told = last));
    return last;
  };
  const leadNow = () => {
    now();
    return ahead;
  };
  const steady: SteadyClock = {
    now,
    delay: (ms, wake) => wall.delay(ms, wake),
    timer: (at, wake) => waitUntil(steady, at, wake),
    toWall: (at) => at - leadNow(),
    fromWall: (at) => at + leadNow(),
    onStep: (listener) => void listeners.push(listener),
  };
  now();
  return steady;
}
