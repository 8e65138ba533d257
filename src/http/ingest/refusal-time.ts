import { limit } from "../../core/limits.ts";
import type { Answer } from "../framework/route.ts";

/**
 * A refusal leaves the door at a time that the length of the body alone decides: what was verified, by which
 * hash, against how many secrets, and whether the source exists at all, cannot be told from it.
 */

const MIB = 1024 * 1024;

/** Calls `wake` after so many milliseconds; answers how to call it off. */
export type StartTimer = (ms: number, wake: () => void) => () => void;

const startTimer: StartTimer = (ms, wake) => {
  const timer = setTimeout(wake, ms);
  return () => clearTimeout(timer);
};

/** More than any verification of a body of this length takes. */
export function refusalMs(bytes: number): number {
  return Math.ceil(limit("refusalMs") + (bytes / MIB) * limit("refusalMsPerMib"));
}

/**
 * What `work` answers: at once, but a refusal (401) in its time. Where it took longer, in a multiple
 * of it.
 */
export async function refuseInTime(
  bytes: number,
  work: () => Promise<Answer>,
  start: StartTimer = startTimer,
): Promise<Answer> {
  const ms = refusalMs(bytes);
  const begunAt = performance.now();
  const { promise: isTime, resolve } = Promise.withResolvers<void>();
  // Before the work, so that when it wakes does not hang on the work.
  const callOff = start(ms, resolve);
  try {
    const answer = await work();
    if (answer.status !== 401) return answer;
    const overMs = performance.now() - begunAt - ms;
    await isTime;
    if (overMs > 0) await new Promise<void>((wake) => start(ms - (overMs % ms), wake));
    return answer;
  } finally {
    callOff();
  }
}
