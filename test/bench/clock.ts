/**
 * Microseconds on a clock that never steps back within a process and that two processes of one machine share:
 * the wall clock of the process's start plus the monotonic time since.
 */
export function nowUs(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

export interface Percentiles {
  p50Ms: number;
  p99Ms: number;
}

/** The 50th and 99th percentile of `samplesUs`, in milliseconds; zeros where there is no sample. */
export function percentiles(samplesUs: number[]): Percentiles {
  const sorted = Float64Array.from(samplesUs).sort();
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0) / 1000;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
