import { limit } from "./core/limits.ts";

/**
 * How long work rests between two slices: a little, and twice as long as the slice took, so that it steps back by itself where the disk
 * or the processor is busy with others.
 */
export function createRest(): () => Promise<void> {
  let begin = performance.now();
  return async () => {
    const ms = Math.min(2 * (performance.now() - begin), limit("sliceRestMax"));
    await new Promise((resolve) => setTimeout(resolve, Math.max(ms, limit("sliceRestMs"))));
    begin = performance.now();
  };
}
