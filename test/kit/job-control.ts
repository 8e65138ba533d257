import { setImmediate as nextTurn } from "node:timers/promises";
import type { JobControl } from "../../src/platform/job-control.ts";

/** Of work that nothing stops, and that rests for a turn of the loop. */
export function jobControlOf(parts: Partial<JobControl> = {}): JobControl {
  return { isStopping: () => false, rest: () => nextTurn(), ...parts };
}
