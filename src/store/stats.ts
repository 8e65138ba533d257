import {
  addNumbers,
  bucketMs,
  type Digest,
  emptyNumbers,
  type HourNumbers,
  readNumbers,
  type StatRow,
} from "./digest.ts";
import type { Store } from "./store.ts";

const HOUR_MS = 3_600_000;
const HOURS_A_DAY = 24;

/** `failed` counts attempts, `delivered` and `dead` deliveries; percentiles are over all attempts, in ms. */
export interface StatNumbers {
  delivered: number;
  failed: number;
  dead: number;
  p50Ms: number | null;
  p95Ms: number | null;
}

/** One point of a chart. */
export interface StatPoint extends StatNumbers {
  at: number;
}

export class Stats {
  readonly #read;

  constructor(
    store: Store,
    private readonly digest: Digest,
  ) {
    this.#read = store.sqlite.prepare<StatRow & { hour: number }, [number, number, number]>(
      "SELECT hour, delivered, failed, dead, durations FROM stat WHERE endpoint_id = ? AND hour >= ? AND hour < ?",
    );
  }

  /**
   * Points of all these endpoints together, oldest first, those with anything to show, and what they come to; `since` and `until` are cut to
   * whole hours.
   */
  read(
    endpointIds: Iterable<number>,
    by: "hour" | "day",
    since: number,
    until: number,
  ): { points: StatPoint[]; total: StatNumbers } {
    const points = new Map<number, HourNumbers>();
    const total = emptyNumbers();
    const from = Math.floor(since / HOUR_MS);
    const to = Math.ceil(until / HOUR_MS);
    const add = (hour: number, numbers: HourNumbers) => {
      const at = by === "hour" ? hour : hour - (hour % HOURS_A_DAY);
      const sum = points.get(at) ?? emptyNumbers();
      points.set(at, sum);
      addNumbers(sum, numbers);
      addNumbers(total, numbers);
    };
    for (const endpointId of endpointIds) {
      for (const row of this.#read.all(endpointId, from, to)) add(row.hour, readNumbers(row));
      for (const [hour, numbers] of this.digest.recentHours(endpointId))
        if (hour >= from && hour < to) add(hour, numbers);
    }
    const inOrder = [...points].sort(([a], [b]) => a - b);
    return {
      points: inOrder.map(([hour, numbers]) => ({ at: hour * HOUR_MS, ...toNumbers(numbers) })),
      total: toNumbers(total),
    };
  }
}

function toNumbers({ delivered, failed, dead, durations }: HourNumbers): StatNumbers {
  return {
    delivered,
    failed,
    dead,
    p50Ms: percentile(durations, 0.5),
    p95Ms: percentile(durations, 0.95),
  };
}

function percentile(durations: ReadonlyMap<number, number>, share: number): number | null {
  const buckets = [...durations].sort(([a], [b]) => a - b);
  let left = share * buckets.reduce((sum, [, count]) => sum + count, 0);
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return bucketMs(bucket);
  }
  return null;
}
