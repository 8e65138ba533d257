import { limit } from "../../core/limits.ts";
import { addNumbers, emptyNumbers, type Hour, type HourNumbers, Hours } from "../counts/hours.ts";
import { Entries, rowsOf } from "./entries.ts";
import { type Death, Gathering, type HoursSlice, type StatDelta, Removed } from "./gathering.ts";
import { Labels } from "./labels.ts";
import { Merge, NEWEST_FIRST, OLDEST_FIRST, type Order } from "../merge.ts";
import type { BatchPart, Store } from "../store.ts";

export type { StatDelta } from "./gathering.ts";
export { type Label, LABELS } from "./labels.ts";

/**
 * The lists that pages of events and deliveries are read from (by project, type, consumer, source, endpoint),
 * and the hourly numbers that charts are drawn from.
 *
 * Why it is not left to indexes of the tables: each row of a batch would touch a page of its own in each of
 * them. With them and 100 endpoints the service delivered 0.75 times as many a second as the bare loop
 * (test/bench/bare.ts), and 1.09 without. So what a write adds is gathered in memory, is read from there, and
 * goes down in sorted bulk once a second, keys of a list packed 256 to a row (6 % of an event). The largest
 * key that is written down stands in `meta` as the mark; after a crash recovery.ts gathers again what lies
 * above it.
 *
 * Others enter this folder by this file and, after a crash, by recovery.ts. Its parts: entries.ts is the
 * table, gathering.ts what is in memory, labels.ts the keys of lists that have a name. merge.ts of the folder
 * above reads several lists as one, these and others.
 */
export class Index implements BatchPart {
  /** Of the running transaction: list and id in turn, and tallies. */
  #openEntries: number[] = [];
  /** Of the running transaction. */
  #openRemoved = new Removed();
  #openTallies: StatDelta[] = [];
  #openDeaths: Death[] = [];
  #openKey = 0;
  /** What the running transaction has written down: of a gathering, numbers of these endpoints. */
  #openSlice: Counted | null = null;
  /** Committed and not written down yet, oldest first; the last one grows. */
  #gathered = [new Gathering()];
  #isWriting = false;
  #running = Promise.resolve();
  readonly #set;

  readonly #entries: Entries;

  /** Where the numbers go. */
  readonly hours: Hours;
  readonly labels: Labels;

  constructor(private readonly store: Store) {
    this.#entries = new Entries(store);
    this.hours = new Hours(store);
    this.labels = new Labels(store);
    this.#set = store.sqlite.prepare<void, [IndexMeta, number]>(
      "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    );
    store.addBatchPart(this);
  }

  /** The largest key whose entries and numbers are in the tables. */
  get mark(): number {
    return this.#get("indexed");
  }

  /**
   * Where the writing down of numbers was cut off: those from the mark up to the key `to` are in the tables,
   * of endpoints up to this one. Null where it was not.
   */
  get cutOff(): { to: number; endpointId: number } | null {
    const to = this.#get("counting");
    return to > this.mark ? { to, endpointId: this.#get("counted_endpoint") } : null;
  }

  #get(name: IndexMeta): number {
    const sql = "SELECT value FROM meta WHERE name = ?";
    return this.store.sqlite.query<{ value: number }, [IndexMeta]>(sql).get(name)?.value ?? 0;
  }

  /** All up to this key is gathered; what is added from now on is written down behind it. */
  separate(reached: number): void {
    this.#last().lastKey = reached;
    this.#gathered.push(new Gathering());
  }

  /** Inside a write: the row with this key stands in each of `lists`. */
  add(key: number, lists: readonly number[]): void {
    for (const list of lists) this.#openEntries.push(list, key);
    this.#openKey = key;
  }

  /** Inside a write: attempt `key` counts. */
  countAttempt(key: number, tally: StatDelta): void {
    this.#openTallies.push(tally);
    this.#openKey = key;
  }

  /**
   * Inside a write: the same of a row whose key was set aside before, and may lie below the mark (slices of a
   * wide fan-out). It goes down with the write.
   */
  addBelowMark(key: number, lists: readonly number[]): void {
    for (const list of lists) this.#entries.add(list, [key]);
  }

  /** Inside a write: the row with this key stands in a list no more. */
  remove(list: number, key: number): void {
    this.#entries.drop(list, key);
    this.#openRemoved.add(list, key);
  }

  /** Inside a write: a slice of a list goes. Answers how many rows that were. */
  clear(list: number, rows: number): number {
    return this.#entries.clear(list, rows);
  }

  /** Inside a write: what was added below the mark or removed so far is written at once. */
  writeThrough(): void {
    this.#entries.flush();
  }

  /**
   * Inside a write: attempts that end long after they began, whose keys may lie below the mark, are counted
   * at once.
   */
  countAttemptsBelowMark(tallies: readonly StatDelta[]): void {
    const gathered = new Gathering();
    for (const tally of tallies) gathered.addTally(tally);
    this.#addHours(gathered.tallied);
  }

  /**
   * Inside a write: a death counts, too. No row tells of it after a crash, so it is written with its own
   * transaction, all deaths of that as one.
   */
  countDeath(death: Death): void {
    this.#openDeaths.push(death);
  }

  flush(): void {
    if (this.#openDeaths.length === 0) return;
    const gathered = new Gathering();
    for (const death of this.#openDeaths) gathered.addDeath(death);
    this.#openDeaths = [];
    this.#addHours(gathered.tallied);
  }

  reset(): void {
    this.#openSlice = null;
    this.#openDeaths = [];
    this.#openEntries = [];
    if (!this.#openRemoved.isEmpty) this.#openRemoved = new Removed();
    this.#openTallies = [];
  }

  done(): void {
    // At once with the commit, as from then on the tables have it: a reader would count it twice.
    if (this.#openSlice) this.#forget(this.#openSlice);
    this.#openSlice = null;
    this.#gatherOpen();
    // Also what came and went in the meantime: it would be written down of a row that is gone.
    for (const [list, id] of this.#openRemoved.pairs())
      for (const part of this.#gathered) part.removeEntry(list, id);
    this.reset();
  }

  #forget({ part, slice, isLast }: Counted): void {
    for (const [endpointId] of slice) part.tallied.delete(endpointId);
    if (isLast) this.#gathered = this.#gathered.filter((one) => one !== part);
  }

  #gatherOpen(): void {
    if (this.#openEntries.length === 0 && this.#openTallies.length === 0) return;
    const gathering = this.#last();
    const entries = this.#openEntries;
    for (let at = 0; at < entries.length; at += 2) gathering.addEntry(entries[at] ?? 0, entries[at + 1] ?? 0);
    for (const tally of this.#openTallies) gathering.addTally(tally);
    gathering.lastKey = this.#openKey;
  }

  /** Where a transaction goes. */
  #last(): Gathering {
    const last = this.#gathered.at(-1) ?? new Gathering();
    if (this.#gathered.length === 0) this.#gathered.push(last);
    return last;
  }

  /** Newest first, over several lists together. */
  below(lists: readonly number[], before: number, count: number): number[] {
    return this.walkDown(lists, before).next(count);
  }

  /** Oldest first, over several lists together. */
  above(lists: readonly number[], after: number, count: number): number[] {
    return this.walkUp(lists, after).next(count);
  }

  /** From the newest below `before` on. */
  walkDown(lists: readonly number[], before: number): Merge {
    return new Merge(lists, before, NEWEST_FIRST, (list, from, most) => {
      const written = this.#entries.below(list, from, most);
      return this.#withRecent(list, written, most, NEWEST_FIRST, (id) => id < from);
    });
  }

  /** From the oldest above `after` on. */
  walkUp(lists: readonly number[], after: number): Merge {
    return new Merge(lists, after, OLDEST_FIRST, (list, from, most) => {
      const written = this.#entries.above(list, from, most);
      return this.#withRecent(list, written, most, OLDEST_FIRST, (id) => id > from);
    });
  }

  /** The key that comes next behind another one in a list; null at its end. */
  next(list: number, after: number): number | null {
    const written = this.#entries.next(list, after);
    let next = written ?? Number.POSITIVE_INFINITY;
    for (const id of this.#recentOf(list)) if (id > after && id < next) next = id;
    return Number.isFinite(next) ? next : null;
  }

  /** True where nothing stands in the list, or is about to. */
  isEmpty(list: number): boolean {
    return this.#entries.isEmpty(list) && !this.holds(list);
  }

  /** Something may be in memory and in the table for a moment. */
  #withRecent(
    list: number,
    written: number[],
    most: number,
    order: Order,
    isBeyond: (id: number) => boolean,
  ): number[] {
    const recent = this.#recentOf(list).filter(isBeyond);
    if (recent.length === 0) return written;
    return [...new Set([...written, ...recent])].sort(order).slice(0, most);
  }

  /** Keys of a list that may not be in the table yet, ascending. */
  #recentOf(list: number): readonly number[] {
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

  /** True where numbers of an endpoint stand in the table, or are on their way there. */
  hasHours(endpointId: number): boolean {
    return this.counts(endpointId) || this.hours.isKnown(endpointId);
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
    // What comes from now on is gathered apart; each part stays in memory until it is in the tables.
    this.#gathered = [...parts, new Gathering()];
    const running = this.#writeAll(parts);
    this.#running = running.catch(() => {});
    await running;
  }

  /** The same where so much was gathered that a start after a crash would take long to do so again. */
  async writeDownIfFull(): Promise<void> {
    if (this.size >= limit("indexGatheredMax")) await this.writeDown();
  }

  /** Resolves once all that was gathered before is written down. */
  async settle(): Promise<void> {
    await this.#running;
    await this.writeDown();
    // Somebody else may have begun it, with all that was gathered by then.
    await this.#running;
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
        for (const [list, ids] of chunk) this.#putDown(part, list, ids);
      }, true);
    }
    const slices = part.slices();
    for (const [at, slice] of slices.entries())
      await this.store.write(() => this.#count(part, slice, at === slices.length - 1), true);
  }

  /** Inside a write: without what was removed since, in this very transaction too. */
  #putDown(part: Gathering, list: number, ids: readonly number[]): void {
    const isRemoved = (id: number) => part.left.has(list, id) || this.#openRemoved.has(list, id);
    const still = ids.some(isRemoved) ? ids.filter((id) => !isRemoved(id)) : ids;
    if (still.length > 0) this.#entries.put(list, still);
  }

  /**
   * Inside a write: numbers are added, not set, so how far that has come goes with them; entries may be
   * written twice. With the last slice the mark passes what was gathered.
   */
  #count(part: Gathering, slice: HoursSlice, isLast: boolean): void {
    this.#addHours(slice);
    if (isLast) this.#set.run("indexed", part.lastKey);
    else {
      this.#set.run("counting", part.lastKey);
      this.#set.run("counted_endpoint", slice.at(-1)?.[0] ?? 0);
    }
    this.#openSlice = { part, slice, isLast };
  }

  /** To the endpoints, and once for each hour to their projects. */
  #addHours(slice: Iterable<HoursSlice[number]>): void {
    const projects = new Map<number, Map<number, HourNumbers>>();
    for (const [endpointId, { projectId, hours }] of slice) {
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

/** Of a gathering, numbers of some endpoints, ascending by their keys; perhaps of its last ones. */
interface Counted {
  part: Gathering;
  slice: HoursSlice;
  isLast: boolean;
}

/** Names of its numbers in `meta`. */
type IndexMeta = "indexed" | "counting" | "counted_endpoint";

type ListRow = [list: number, ids: readonly number[]];

/**
 * What becomes a row each, lists in their order, at most `indexSliceRows` a chunk: the table is filled in its
 * own order.
 */
function* chunksOf(part: Gathering): Generator<ListRow[]> {
  let chunk: ListRow[] = [];
  for (const list of [...part.entries.keys()].sort((a, b) => a - b)) {
    for (const ids of rowsOf(part.entries.get(list) ?? [])) {
      chunk.push([list, ids]);
      if (chunk.length < limit("indexSliceRows")) continue;
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}
