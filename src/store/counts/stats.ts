import { limit } from "../../core/limits.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
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
/** Rows that are read and added up in one piece: of 150 buckets each, 1 ms. */
const HOURS_A_PIECE = 24;

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
  over(span: StatSpan, turns: Turns): StatSum {
    return new StatSum(this.index, span, turns);
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
 * Points, and what they come to. They are read and added up in pieces, each at one moment, so that nothing is
 * counted twice on its way from memory to the table; others have their turn before each piece.
 */
export class StatSum {
  readonly #points = new Map<number, HourNumbers>();
  readonly #total = emptyNumbers();
  readonly #from: number;
  readonly #to: number;

  constructor(
    private readonly index: Index,
    private readonly span: StatSpan,
    private readonly turns: Turns,
  ) {
    this.#from = Math.floor(span.since / HOUR_MS);
    this.#to = Math.ceil(span.until / HOUR_MS);
  }

  addEndpoint(id: number): Promise<void> {
    return this.#ofEndpoint(id, (hour) => this.#add(hour));
  }

  /** All endpoints of a project, those that are leaving too. */
  addProject(id: number): Promise<void> {
    const { hours } = this.index;
    return this.#walk(
      (from) => hours.ofProject(id, from, this.#to, HOURS_A_PIECE),
      () => this.index.recentHoursOfProject(id),
      (hour) => this.#add(hour),
    );
  }

  /** What `addProject` has of an endpoint that is leaving. */
  subtractEndpoint(id: number): Promise<void> {
    return this.#ofEndpoint(id, ([hour, numbers]) => {
      const point = this.#points.get(this.#pointOf(hour));
      // Retention may have removed the project's hour already.
      if (point === undefined) return;
      subtractNumbers(point, numbers);
      subtractNumbers(this.#total, numbers);
    });
  }

  /** Points with anything to show, oldest first. */
  async points(): Promise<StatPoint[]> {
    const inOrder = [...this.#points].filter(([, numbers]) => !isNothing(numbers)).sort(([a], [b]) => a - b);
    const points: StatPoint[] = [];
    for (const [hour, numbers] of inOrder) {
      await this.turns.giveWay();
      points.push({ at: hour * HOUR_MS, ...toNumbers(numbers) });
    }
    return points;
  }

  /** What the points come to. */
  total(): StatNumbers {
    return toNumbers(this.#total);
  }

  #ofEndpoint(id: number, work: (hour: Hour) => void): Promise<void> {
    const { hours } = this.index;
    return this.#walk(
      (from) => hours.ofEndpoint(id, from, this.#to, HOURS_A_PIECE),
      () => this.index.recentHours(id),
      work,
    );
  }

  /** The span's hours: those that `written` finds from one on, and the recent ones up to the last of them. */
  async #walk(
    written: (from: number) => Hour[],
    recent: () => Iterable<Hour>,
    work: (hour: Hour) => void,
  ): Promise<void> {
    for (let from = this.#from; from < this.#to; ) {
      await this.turns.giveWay();
      const rows = written(from);
      const last = rows.length < HOURS_A_PIECE ? undefined : rows.at(-1);
      const to = last ? last[0] + 1 : this.#to;
      for (const row of rows) work(row);
      for (const one of recent()) if (one[0] >= from && one[0] < to) work(one);
      from = to;
    }
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
  const buckets = [...durations].sort(([a], [b]) => a - b);
  return { delivered, failed, dead, p50Ms: percentile(buckets, 0.5), p95Ms: percentile(buckets, 0.95) };
}

/** Of counts by bucket, the shortest durations first. */
function percentile(buckets: readonly (readonly [number, number])[], share: number): number | null {
  let left = share * buckets.reduce((sum, [, count]) => sum + count, 0);
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return bucketMs(bucket);
  }
  return null;
}
