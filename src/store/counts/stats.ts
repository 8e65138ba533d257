import { limit } from "../../core/limits.ts";
import type { Index } from "../index/index.ts";
import type { Endpoints } from "../resources/endpoints.ts";
import type { BatchPart, Store } from "../store.ts";
import {
  addNumbers,
  bucketMs,
  emptyNumbers,
  type Hour,
  type HourNumbers,
  isNothing,
  subtractNumbers,
} from "./hours.ts";

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

/** What of the time is asked for; cut to whole hours. */
export interface StatSpan {
  by: "hour" | "day";
  since: number;
  until: number;
}

/** The hourly numbers as charts show them: what is written down, and what is still in memory. */
export class Stats implements BatchPart {
  /** By project: endpoints that were deleted, and whose numbers its hours may still have. */
  #leaving: Map<number, Set<number>> | null = null;
  /** Of the running transaction: those whose last numbers left. */
  #gone: { projectId: number; endpointId: number }[] = [];

  constructor(
    store: Store,
    private readonly index: Index,
    endpoints: Endpoints,
  ) {
    store.addBatchPart(this);
    endpoints.onChange(({ id, projectId, status }) => {
      if (status === "deleted" && this.#leaving) addTo(this.#leaving, projectId, id);
    });
  }

  /** Numbers to add up, of one endpoint after the other or of a project. */
  over(span: StatSpan): StatSum {
    return new StatSum(this.index, span);
  }

  /** Deleted endpoints whose numbers are still among those of the project. */
  leavingOf(projectId: number): readonly number[] {
    return [...(this.#known().get(projectId) ?? [])];
  }

  /**
   * Inside a write: a slice of what a deleted endpoint had leaves, and its project's numbers are less by
   * that. Answers how many hours.
   */
  takeAway(endpointId: number, projectId: number): number {
    const slice = limit("sliceRows");
    const taken = this.index.hours.takeAway(endpointId, projectId, slice);
    if (taken < slice && !this.index.counts(endpointId)) this.#gone.push({ projectId, endpointId });
    return taken;
  }

  flush(): void {}

  done(): void {
    for (const { projectId, endpointId } of this.#gone) this.#leaving?.get(projectId)?.delete(endpointId);
    this.reset();
  }

  reset(): void {
    if (this.#gone.length > 0) this.#gone = [];
  }

  /** Read when it is first needed: by then what a crash cut off is written down. */
  #known(): Map<number, Set<number>> {
    if (this.#leaving === null) {
      this.#leaving = new Map();
      for (const { id, projectId } of this.index.hours.deletedEndpoints())
        addTo(this.#leaving, projectId, id);
    }
    return this.#leaving;
  }
}

function addTo(sets: Map<number, Set<number>>, key: number, id: number): void {
  const set = sets.get(key);
  if (set) set.add(id);
  else sets.set(key, new Set([id]));
}

/**
 * Points, and what they come to. Each call reads at one moment, so that nothing is counted twice on its way
 * from memory to the table.
 */
export class StatSum {
  readonly #points = new Map<number, HourNumbers>();
  readonly #total = emptyNumbers();
  readonly #from: number;
  readonly #to: number;

  constructor(
    private readonly index: Index,
    private readonly span: StatSpan,
  ) {
    this.#from = Math.floor(span.since / HOUR_MS);
    this.#to = Math.ceil(span.until / HOUR_MS);
  }

  addEndpoint(id: number): void {
    for (const hour of this.#ofEndpoint(id)) this.#add(hour);
  }

  /** All endpoints of a project, those that are leaving too. */
  addProject(id: number): void {
    for (const hour of this.index.hours.ofProject(id, this.#from, this.#to)) this.#add(hour);
    for (const hour of this.index.recentHoursOfProject(id)) if (this.#isWithin(hour)) this.#add(hour);
  }

  /** What `addProject` has of an endpoint that is leaving. */
  subtractEndpoint(id: number): void {
    for (const [hour, numbers] of this.#ofEndpoint(id)) {
      const point = this.#points.get(this.#pointOf(hour));
      // Retention may have removed the project's hour already.
      if (point === undefined) continue;
      subtractNumbers(point, numbers);
      subtractNumbers(this.#total, numbers);
    }
  }

  /** Points with anything to show, oldest first, and what they come to. */
  result(): { points: StatPoint[]; total: StatNumbers } {
    const inOrder = [...this.#points].filter(([, numbers]) => !isNothing(numbers)).sort(([a], [b]) => a - b);
    return {
      points: inOrder.map(([hour, numbers]) => ({ at: hour * HOUR_MS, ...toNumbers(numbers) })),
      total: toNumbers(this.#total),
    };
  }

  #ofEndpoint(id: number): Hour[] {
    const recent = this.index.recentHours(id).filter((hour) => this.#isWithin(hour));
    return [...this.index.hours.ofEndpoint(id, this.#from, this.#to), ...recent];
  }

  #isWithin([hour]: Hour): boolean {
    return hour >= this.#from && hour < this.#to;
  }

  #pointOf(hour: number): number {
    return this.span.by === "hour" ? hour : hour - (hour % HOURS_A_DAY);
  }

  #add([hour, numbers]: Hour): void {
    const at = this.#pointOf(hour);
    const sum = this.#points.get(at) ?? emptyNumbers();
    this.#points.set(at, sum);
    addNumbers(sum, numbers);
    addNumbers(this.#total, numbers);
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
