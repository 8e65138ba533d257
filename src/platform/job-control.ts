import { limit } from "../core/limits.ts";

/**
 * How long work that goes on in slices steps back for the others, who have the disk and the loop meanwhile.
 */
export interface JobControl {
  /** True where no further slice may begin. */
  isStopping: () => boolean;
  /** Between two slices. */
  rest: () => Promise<void>;
}

/**
 * Rests a little, and twice as long as the slice took, so that work steps back by itself where the disk or
 * the processor is busy.
 */
export function createJobControl(isStopping: () => boolean): JobControl {
  let begin = performance.now();
  return {
    isStopping,
    async rest() {
      const ms = Math.min(2 * (performance.now() - begin), limit("sliceRestMsMax"));
      await new Promise((resolve) => setTimeout(resolve, Math.max(ms, limit("sliceRestMsMin"))));
      begin = performance.now();
    },
  };
}
