/** The wall clock and its timers. Nothing else in the program reads the time or sets a timer for an instant. */
export interface Clock {
  /** Unix milliseconds. */
  now: () => number;
  /** Runs `wake` at `at` or a little later, whatever the wall clock does meanwhile; answers how to call it off. */
  timer(at: number, wake: () => void): () => void;
}

/** A wait is looked at again at least this often: the wall clock may be set, and setTimeout takes no more than 2^31 − 1 ms. */
const WAIT_MAX_MS = 60_000;

export const systemClock: Clock = {
  now: () => Date.now(),
  timer(at, wake) {
    let handle: ReturnType<typeof setTimeout>;
    const wait = () => {
      const ms = at - Date.now();
      handle =
        ms <= 0
          ? setTimeout(wake, 0)
          : setTimeout(ms <= WAIT_MAX_MS ? check : wait, Math.min(ms, WAIT_MAX_MS));
    };
    const check = () => (Date.now() >= at ? wake() : wait());
    wait();
    return () => clearTimeout(handle);
  },
};
