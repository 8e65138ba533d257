import { limit } from "../../core/limits.ts";
import { bucketOf, emptyNumbers, type HourNumbers } from "../counts/hours.ts";

const HOUR_MS = 3_600_000;

/** One attempt, for the hourly numbers. */
export interface StatDelta {
  endpointId: number;
  projectId: number;
  at: number;
  /** It made its delivery arrive. */
  delivered: boolean;
  failed: boolean;
  dead: boolean;
  durationMs: number;
}

/** A delivery that is dead without an attempt, because of its endpoint. */
export type Death = Pick<StatDelta, "endpointId" | "projectId" | "at">;

/** Of an endpoint, by hour. */
export interface Tallied {
  projectId: number;
  hours: Map<number, HourNumbers>;
}

export type HoursSlice = [endpointId: number, tallied: Tallied][];

/** Rows that stand in lists no more. */
export class Removed {
  readonly #ids = new Map<number, Set<number>>();

  get isEmpty(): boolean {
    return this.#ids.size === 0;
  }

  add(list: number, id: number): void {
    const ids = this.#ids.get(list);
    if (ids) ids.add(id);
    else this.#ids.set(list, new Set([id]));
  }

  has(list: number, id: number): boolean {
    return this.#ids.get(list)?.has(id) ?? false;
  }

  *pairs(): Generator<[list: number, id: number]> {
    for (const [list, ids] of this.#ids) for (const id of ids) yield [list, id];
  }
}

/** What was gathered from one moment to another. */
export class Gathering {
  /** By list, ascending, as keys only grow. */
  readonly entries = new Map<number, number[]>();
  /** By endpoint. */
  readonly tallied = new Map<number, Tallied>();
  /** The largest key that this comes from. */
  lastKey = 0;
  size = 0;
  /** Entries that left it. */
  readonly left = new Removed();

  addEntry(list: number, id: number): void {
    const ids = this.entries.get(list);
    if (ids) ids.push(id);
    else this.entries.set(list, [id]);
    this.size++;
  }

  /** The row stands in the list no more: nor is it written down, where that has begun. */
  removeEntry(list: number, id: number): void {
    const ids = this.entries.get(list);
    // Most rows that go are older than all that is here.
    if (!ids || id < (ids[0] ?? 0) || !ids.includes(id)) return;
    const others = ids.filter((one) => one !== id);
    if (others.length > 0) this.entries.set(list, others);
    else this.entries.delete(list);
    this.size--;
    this.left.add(list, id);
  }

  addTally(tally: StatDelta): void {
    const numbers = this.#numbersOf(tally);
    if (tally.delivered) numbers.delivered++;
    if (tally.failed) numbers.failed++;
    if (tally.dead) numbers.dead++;
    const bucket = bucketOf(tally.durationMs);
    numbers.durations.set(bucket, (numbers.durations.get(bucket) ?? 0) + 1);
  }

  addDeath(death: Death): void {
    this.#numbersOf(death).dead++;
  }

  #numbersOf(tally: Death): HourNumbers {
    let tallied = this.tallied.get(tally.endpointId);
    if (!tallied) {
      tallied = { projectId: tally.projectId, hours: new Map() };
      this.tallied.set(tally.endpointId, tallied);
    }
    const hour = Math.floor(tally.at / HOUR_MS);
    let numbers = tallied.hours.get(hour);
    if (!numbers) tallied.hours.set(hour, (numbers = emptyNumbers()));
    return numbers;
  }

  /**
   * Its hourly numbers in slices for a transaction each, by the keys of their endpoints, ascending; at least
   * one.
   */
  slices(): HoursSlice[] {
    const slices: HoursSlice[] = [[]];
    let hours = 0;
    for (const one of [...this.tallied].sort(([a], [b]) => a - b)) {
      if (hours >= limit("hourSliceRows")) {
        slices.push([]);
        hours = 0;
      }
      slices.at(-1)?.push(one);
      hours += one[1].hours.size;
    }
    return slices;
  }
}
