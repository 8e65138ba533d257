import type { BatchPart, Store } from "./store.ts";

/**
 * What lists and charts need, filled in apart from the hot path: entries of lists and hourly numbers of endpoints are gathered in memory and
 * written in sorted bulk a little later (2–3 µs an event; written at once, each would touch a page of its own). Until then they are read from
 * memory. `digested` is the largest key that is written down; after a crash the rows above it are gathered again (store/recovery.ts).
 */

const ENTRIES_AT_ONCE = 1000;
const HOUR_MS = 3_600_000;

/** One attempt, for the hourly numbers. */
export interface Tally {
  endpointId: number;
  at: number;
  delivered: boolean;
  dead: boolean;
  durationMs: number;
}

interface Gathered {
  /** The key of the row that this comes from. */
  key: number;
  lists: readonly number[];
  id: number;
  tally: Tally | null;
}

export interface HourNumbers {
  delivered: number;
  failed: number;
  dead: number;
  /** Count by bucket of duration (bucketOf). */
  durations: Map<number, number>;
}

/** Buckets 7 % wide: a percentile read from them is at most 3.5 % off. */
export function bucketOf(ms: number): number {
  return ms <= 0 ? 0 : Math.round(Math.log(ms) / Math.log(1.07)) + 1;
}

export function bucketMs(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(1.07 ** (bucket - 1));
}

export class Digest implements BatchPart {
  /** Of the running transaction. */
  #open: Gathered[] = [];
  /** Committed, not yet written down; in the order of their keys. */
  #waiting: Gathered[] = [];
  #recent = new Map<number, number[]>();
  #writing = false;
  readonly #insertEntry;
  readonly #readStat;
  readonly #writeStat;
  readonly #setMark;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#insertEntry = sqlite.prepare<void, [number, number]>(
      "INSERT OR IGNORE INTO entry (list, id) VALUES (?, ?)",
    );
    this.#readStat = sqlite.prepare<StatRow, [number, number]>(
      "SELECT delivered, failed, dead, durations FROM stat WHERE endpoint_id = ? AND hour = ?",
    );
    this.#writeStat = sqlite.prepare<void, [number, number, number, number, number, string]>(
      "INSERT OR REPLACE INTO stat (endpoint_id, hour, delivered, failed, dead, durations) VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.#setMark = sqlite.prepare<void, [number]>(
      "INSERT INTO meta (name, value) VALUES ('digested', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    );
    store.addBatchPart(this);
  }

  /** The largest key whose entries and numbers are in the tables. */
  get mark(): number {
    const row = this.store.sqlite
      .query<{ value: number }, []>("SELECT value FROM meta WHERE name = 'digested'")
      .get();
    return row?.value ?? 0;
  }

  /** Inside a write: row `key` puts `id` into each of `lists`. */
  addEntries(key: number, lists: readonly number[], id = key): void {
    this.#open.push({ key, lists, id, tally: null });
  }

  /** Inside a write: attempt `key` counts. */
  addTally(key: number, tally: Tally): void {
    this.#open.push({ key, lists: [], id: key, tally });
  }

  /** Inside a write: entries of rows whose keys lie below the mark, written at once (slices of a wide fan-out). */
  insertEntries(lists: readonly number[], id: number): void {
    for (const list of lists) this.#insertEntry.run(list, id);
  }

  flush(): void {}

  reset(): void {
    this.#open = [];
  }

  done(): void {
    for (const item of this.#open) this.#keep(item);
    this.#open = [];
  }

  /** Entries of a list that are not in the table yet, ascending. */
  recentOf(list: number): readonly number[] {
    return this.#recent.get(list) ?? [];
  }

  /** Numbers that are not in the table yet, by endpoint and hour. */
  recentHours(): ReadonlyMap<number, ReadonlyMap<number, HourNumbers>> {
    return hoursOf(this.#waiting);
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Writes down what waits, a bounded part at a time; one run at once. */
  async writeDown(): Promise<void> {
    if (this.#writing) return;
    this.#writing = true;
    try {
      while (this.#waiting.length > 0 && this.store.writable) await this.#writeSome();
    } finally {
      this.#writing = false;
    }
  }

  async #writeSome(): Promise<void> {
    const part = this.#nextPart();
    const last = part.at(-1);
    if (!last) return;
    const entries = part.flatMap(({ lists, id }) => lists.map((list): [number, number] => [list, id]));
    entries.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const hours = hoursOf(part);
    await this.store.write(() => {
      for (const [list, id] of entries) this.#insertEntry.run(list, id);
      for (const [endpointId, byHour] of hours)
        for (const [hour, numbers] of byHour) this.#addHour(endpointId, hour, numbers);
      this.#setMark.run(last.key);
    }, true);
    this.#waiting = this.#waiting.slice(part.length);
    this.#forget(part);
  }

  #nextPart(): Gathered[] {
    let entries = 0;
    const end = this.#waiting.findIndex((item) => {
      entries += Math.max(1, item.lists.length);
      return entries > ENTRIES_AT_ONCE;
    });
    return end <= 0 ? this.#waiting.slice(0, end === 0 ? 1 : undefined) : this.#waiting.slice(0, end);
  }

  #addHour(endpointId: number, hour: number, numbers: HourNumbers): void {
    const row = this.#readStat.get(endpointId, hour);
    const sum = row ? readNumbers(row) : emptyNumbers();
    addNumbers(sum, numbers);
    const durations = JSON.stringify([...sum.durations]);
    this.#writeStat.run(endpointId, hour, sum.delivered, sum.failed, sum.dead, durations);
  }

  #keep(item: Gathered): void {
    this.#waiting.push(item);
    for (const list of item.lists) {
      const ids = this.#recent.get(list);
      if (ids) ids.push(item.id);
      else this.#recent.set(list, [item.id]);
    }
  }

  #forget(part: readonly Gathered[]): void {
    const counts = new Map<number, number>();
    for (const { lists } of part) for (const list of lists) counts.set(list, (counts.get(list) ?? 0) + 1);
    for (const [list, count] of counts) {
      const left = this.#recent.get(list)?.slice(count) ?? [];
      if (left.length > 0) this.#recent.set(list, left);
      else this.#recent.delete(list);
    }
  }
}

export interface StatRow {
  delivered: number;
  failed: number;
  dead: number;
  durations: string;
}

export function readNumbers(row: StatRow): HourNumbers {
  return { ...row, durations: new Map(JSON.parse(row.durations) as [number, number][]) };
}

export function emptyNumbers(): HourNumbers {
  return { delivered: 0, failed: 0, dead: 0, durations: new Map() };
}

export function addNumbers(sum: HourNumbers, more: HourNumbers): void {
  sum.delivered += more.delivered;
  sum.failed += more.failed;
  sum.dead += more.dead;
  for (const [bucket, count] of more.durations)
    sum.durations.set(bucket, (sum.durations.get(bucket) ?? 0) + count);
}

function hoursOf(items: readonly Gathered[]): Map<number, Map<number, HourNumbers>> {
  const hours = new Map<number, Map<number, HourNumbers>>();
  for (const { tally } of items) if (tally) addTo(hours, tally);
  return hours;
}

function addTo(hours: Map<number, Map<number, HourNumbers>>, tally: Tally): void {
  const byHour = hours.get(tally.endpointId) ?? new Map<number, HourNumbers>();
  hours.set(tally.endpointId, byHour);
  const hour = Math.floor(tally.at / HOUR_MS);
  const numbers = byHour.get(hour) ?? emptyNumbers();
  byHour.set(hour, numbers);
  if (tally.delivered) numbers.delivered++;
  else numbers.failed++;
  if (tally.dead) numbers.dead++;
  const bucket = bucketOf(tally.durationMs);
  numbers.durations.set(bucket, (numbers.durations.get(bucket) ?? 0) + 1);
}
