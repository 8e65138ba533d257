import { setImmediate as nextTurn } from "node:timers/promises";
import type { Pace } from "../../src/platform/pace.ts";

/** Of work that nothing stops, and that rests for a turn of the loop. */
export function paceOf(parts: Partial<Pace> = {}): Pace {
  return { isStopping: () => false, rest: () => nextTurn(), ...parts };
}
