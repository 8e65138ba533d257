import { addNumbers, bucketOf, emptyNumbers, type Hour, type HourNumbers, Hours } from "../hours.ts";
import { type Entries, rowsOf } from "./entries.ts";
import type { BatchPart, Store } from "../store.ts";

/**
 * What lists and charts need, filled in apart from the hot path: entries of lists and hourly numbers of
 * endpoints are gathered in memory and written in sorted bulk a little later, as each by itself would touch a
 * page of its own. Until then they are read from memory. `digested` is the largest key that is written down;
 * after a crash the rows above it are gathered again (recovery.ts).
 */

/** Rows of lists, or of deliveries, that one transaction inserts. */
const ROWS_AT_ONCE = 500;
/**
 * Hourly numbers that one transaction adds: 7 µs each, and 40 where memory is slow, of as many endpoints as
 * many pages.
 */
const HOURS_AT_ONCE = 64;
const HOUR_MS = 3_600_000;

/** One attempt, for the hourly numbers. */
export interface Tally {
  endpointId: number;
  projectId: number;
  at: number;
  delivered: boolean;
  dead: boolean;
  durationMs: number;
}

/** A delivery that is dead without an attempt, because of its endpoint. */
export type Death = Pick<Tally, "endpointId" | "projectId" | "at">;

/** Of an endpoint, by hour. */
interface Tallied {
  projectId: number;
  hours: Map<number, HourNumbers>;
}

/**
 * What was gathered from one moment to another. Its hourly numbers are written in one transaction, with its
 * last key as the mark.
 */
class Gathering {
  /** By list, ascending, as keys only grow. */
  readonly entries = new Map<number, number[]>();
  /** By endpoint. */
  readonly tallied = new Map<number, Tallied>();
  /** The largest key that this comes from. */
  lastKey = 0;
  size = 0;
  #hours = 0;

  /** True where more has to go into the next one. */
  get isFull(): boolean {
    return this.#hours >= HOURS_AT_ONCE;
  }

  addEntry(list: number, id: number): void {
    const ids = this.entries.get(list);
    if (ids) ids.push(id);
    else this.entries.set(list, [id]);
    this.size++;
  }

  addTally(tally: Tally): void {
    const numbers = this.#numbersOf(tally);
    if (tally.delivered) numbers.delivered++;
    else numbers.failed++;
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
    if (!numbers) {
      tallied.hours.set(hour, (numbers = emptyNumbers()));
      this.#hours++;
    }
    return numbers;
  }
}

export class Digest implements BatchPart {
  /** Of the running transaction: list and id in turn, and tallies. */
  #openEntries: number[] = [];
  #openTallies: Tally[] = [];
  #openDeaths: Death[] = [];
  #openKey = 0;
  /** What the running transaction has written down whole. */
  #openPart: Gathering | null = null;
  /** Committed and not written down yet, oldest first; the last one grows. */
  #gathered = [new Gathering()];
  #isWriting = false;
  #running = Promise.resolve();
  readonly #setMark;

  /** Where the numbers go. */
  readonly hours: Hours;

  constructor(
    private readonly store: Store,
    private readonly entries: Entries,
  ) {
    this.hours = new Hours(store);
    this.#setMark = store.sqlite.prepare<void, [number]>(
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

  /** Inside a write: the row with this key stands in each of `lists`. */
  addEntries(key: number, lists: readonly number[]): void {
    for (const list of lists) this.#openEntries.push(list, key);
    this.#openKey = key;
  }

  /** Inside a write: attempt `key` counts. */
  addTally(key: number, tally: Tally): void {
    this.#openTallies.push(tally);
    this.#openKey = key;
  }

  /**
   * Inside a write: entries of rows whose keys lie below the mark, written with it (slices of a wide
   * fan-out).
   */
  insertEntries(lists: readonly number[], id: number): void {
    for (const list of lists) this.entries.add(list, [id]);
  }

  /**
   * Inside a write: attempts that end long after they began, whose keys may lie below the mark, are counted
   * at once.
   */
  insertTallies(tallies: readonly Tally[]): void {
    const gathered = new Gathering();
    for (const tally of tallies) gathered.addTally(tally);
    this.#addHours(gathered);
  }

  /**
   * Inside a write: it counts, too. No row tells of it after a crash, so it is written with its transaction,
   * one with the others there.
   */
  addDeath(death: Death): void {
    this.#openDeaths.push(death);
  }

  flush(): void {
    if (this.#openDeaths.length === 0) return;
    const gathered = new Gathering();
    for (const death of this.#openDeaths) gathered.addDeath(death);
    this.#openDeaths = [];
    this.#addHours(gathered);
  }

  reset(): void {
    this.#openPart = null;
    this.#openDeaths = [];
    this.#openEntries = [];
    this.#openTallies = [];
  }

  done(): void {
    // At once with the commit, as from then on the tables have it: a reader would count it twice.
    if (this.#openPart) this.#gathered = this.#gathered.filter((part) => part !== this.#openPart);
    this.#openPart = null;
    if (this.#openEntries.length === 0 && this.#openTallies.length === 0) return;
    const gathering = this.#open();
    const entries = this.#openEntries;
    for (let at = 0; at < entries.length; at += 2) gathering.addEntry(entries[at] ?? 0, entries[at + 1] ?? 0);
    for (const tally of this.#openTallies) gathering.addTally(tally);
    gathering.lastKey = this.#openKey;
    this.reset();
  }

  /** Where a transaction goes: the last gathering, unless that is full. */
  #open(): Gathering {
    const last = this.#gathered.at(-1);
    if (last && !last.isFull) return last;
    const next = new Gathering();
    this.#gathered.push(next);
    return next;
  }

  /** Entries of a list that may not be in the table yet, ascending. */
  recentOf(list: number): readonly number[] {
    return this.#gathered.flatMap(({ entries }) => entries.get(list) ?? []);
  }

  /** True where entries of a list may not be in the table yet, those of the running transaction included. */
  holds(list: number): boolean {
    if (this.#gathered.some(({ entries }) => entries.has(list))) return true;
    return this.#openEntries.some((value, at) => at % 2 === 0 && value === list);
  }

  /** True where numbers of an endpoint may not be in the table yet. */
  counts(endpointId: number): boolean {
    return (
      this.#gathered.some(({ tallied }) => tallied.has(endpointId)) ||
      [...this.#openTallies, ...this.#openDeaths].some((tally) => tally.endpointId === endpointId)
    );
  }

  /** Numbers of an endpoint that are not in the table yet. */
  recentHours(endpointId: number): Hour[] {
    return this.#gathered.flatMap(({ tallied }) => [...(tallied.get(endpointId)?.hours ?? [])]);
  }

  /** The same of all endpoints of a project, deleted ones too. */
  *recentHoursOfProject(projectId: number): Generator<Hour> {
    for (const { tallied } of this.#gathered) {
      for (const one of tallied.values()) if (one.projectId === projectId) yield* one.hours;
    }
  }

  get size(): number {
    return this.#gathered.reduce((sum, { size }) => sum + size, 0);
  }

  /** Writes down what was gathered, a bounded part a transaction; one run at once. */
  async writeDown(): Promise<void> {
    if (this.#isWriting || !this.store.writable) return;
    const parts = this.#gathered.filter(({ lastKey }) => lastKey > 0);
    if (parts.length === 0) return;
    this.#isWriting = true;
    // What comes from now on is gathered behind them; each stays in memory until it is in the tables.
    this.#gathered = [...parts, new Gathering()];
    const running = this.#writeAll(parts);
    this.#running = running.catch(() => {});
    await running;
  }

  /** Resolves once all that was gathered before is written down. */
  async settle(): Promise<void> {
    await this.#running;
    await this.writeDown();
  }

  async #writeAll(parts: readonly Gathering[]): Promise<void> {
    try {
      for (const part of parts) await this.#write(part);
    } finally {
      // What was not written down is gathered still, and comes first the next time.
      this.#isWriting = false;
    }
  }

  async #write(part: Gathering): Promise<void> {
    for (const chunk of chunksOf(part)) {
      await this.store.write(() => {
        for (const [list, ids] of chunk) this.entries.put(list, ids);
      }, true);
    }
    await this.store.write(() => this.#pass(part), true);
  }

  /** Inside a write: the mark passes what was gathered. */
  #pass(part: Gathering): void {
    // Numbers are added, not set: they and the mark go together, once. Entries before it may be written
    // twice.
    this.#addHours(part);
    this.#setMark.run(part.lastKey);
    this.#openPart = part;
  }

  /** To the endpoints, and once for each hour to their projects. */
  #addHours({ tallied }: Gathering): void {
    const projects = new Map<number, Map<number, HourNumbers>>();
    for (const [endpointId, { projectId, hours }] of tallied) {
      const sums = projects.get(projectId) ?? new Map<number, HourNumbers>();
      projects.set(projectId, sums);
      for (const [hour, numbers] of hours) {
        this.hours.addToEndpoint(endpointId, hour, numbers);
        const sum = sums.get(hour) ?? emptyNumbers();
        sums.set(hour, sum);
        addNumbers(sum, numbers);
      }
    }
    for (const [projectId, sums] of projects) {
      for (const [hour, sum] of sums) this.hours.addToProject(projectId, hour, sum);
    }
  }
}

type ListRow = [list: number, ids: readonly number[]];

/**
 * What becomes a row each, lists in their order, at most ROWS_AT_ONCE a chunk: the table is filled in its own
 * order.
 */
function* chunksOf(part: Gathering): Generator<ListRow[]> {
  let chunk: ListRow[] = [];
  for (const list of [...part.entries.keys()].sort((a, b) => a - b)) {
    for (const ids of rowsOf(part.entries.get(list) ?? [])) {
      chunk.push([list, ids]);
      if (chunk.length < ROWS_AT_ONCE) continue;
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}
