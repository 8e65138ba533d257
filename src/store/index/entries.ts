import { bound } from "../bound.ts";
import type { BatchPart, Store } from "../store.ts";

/**
 * What stands in a list, in order (table `entry`). A row holds a key and, packed, those that follow it in the
 * list: what a busy list gets at once takes a row for 256 keys in place of a row for each, a tenth of the
 * work and of the bytes. Rows of a list never overlap, so a key stands in the last row that does not begin
 * after it, or nowhere.
 */

interface Row {
  id: number;
  more: Uint8Array | null;
}

const KEYS_A_ROW = 256;
/** Keys that lie further apart stand in rows of their own: a distance fits into 31 bits. */
const DISTANCE_MAX = 2 ** 31 - 1;
/** Rows that are read at first: one may hold all that is asked. Twice as many each time more is needed. */
const ROWS_AT_FIRST = 1;
const ROWS_MAX = 512;

/** A distance takes up to five bytes of seven bits each. */
const packing = new Uint8Array(5 * KEYS_A_ROW);

/**
 * The distance from each key to the next, seven bits a byte, lowest first; null where there is one key only.
 */
function pack(ids: readonly number[]): Uint8Array | null {
  let size = 0;
  for (let at = 1; at < ids.length; at++) {
    let rest = (ids[at] ?? 0) - (ids[at - 1] ?? 0);
    for (; rest > 127; rest >>>= 7) packing[size++] = (rest & 127) | 128;
    packing[size++] = rest;
  }
  return size === 0 ? null : packing.slice(0, size);
}

/** The keys of a row, ascending. */
export function unpack({ id, more }: Row): number[] {
  const ids = [id];
  let last = id;
  let distance = 0;
  let shift = 0;
  for (const byte of more ?? []) {
    distance |= (byte & 127) << shift;
    shift += 7;
    if (byte > 127) continue;
    last += distance;
    ids.push(last);
    distance = 0;
    shift = 0;
  }
  return ids;
}

/** Ascending keys, as many together as a row takes. */
export function* rowsOf(ids: readonly number[]): Generator<readonly number[]> {
  let from = 0;
  for (let at = 1; at <= ids.length; at++) {
    const isFull = at - from === KEYS_A_ROW || (ids[at] ?? 0) - (ids[at - 1] ?? 0) > DISTANCE_MAX;
    if (at < ids.length && !isFull) continue;
    yield ids.slice(from, at);
    from = at;
  }
}

/** Mostly they are in order already. */
function ascending(ids: readonly number[]): readonly number[] {
  for (let at = 1; at < ids.length; at++)
    if ((ids[at] ?? 0) <= (ids[at - 1] ?? 0)) return [...new Set(ids)].sort((a, b) => a - b);
  return ids;
}

/** What a transaction does to a list. */
interface Changes {
  added: number[];
  dropped: number[];
}

export class Entries implements BatchPart {
  readonly #changes = new Map<number, Changes>();
  readonly #statements;

  constructor(store: Store) {
    const { sqlite } = store;
    this.#statements = {
      insert: sqlite.prepare<void, [number, number, Uint8Array | null]>(
        "INSERT INTO entry (list, id, more) VALUES (?, ?, ?)",
      ),
      delete: sqlite.prepare<void, [number, number]>("DELETE FROM entry WHERE list = ? AND id = ?"),
      below: sqlite.prepare<Row, [number, number, number]>(
        `SELECT id, more FROM entry WHERE list = ${bound(1)} AND id < ${bound(2)} ORDER BY id DESC LIMIT ${bound(3)}`,
      ),
      above: sqlite.prepare<Row, [number, number, number]>(
        `SELECT id, more FROM entry WHERE list = ${bound(1)} AND id > ${bound(2)} ORDER BY id LIMIT ${bound(3)}`,
      ),
      upTo: sqlite.prepare<Row, [number, number]>(
        `SELECT id, more FROM entry WHERE list = ${bound(1)} AND id <= ${bound(2)} ORDER BY id DESC LIMIT 1`,
      ),
      any: sqlite.prepare<object, [number]>("SELECT 1 FROM entry WHERE list = ? LIMIT 1"),
      clear: sqlite.prepare<void, [number, number]>(
        `DELETE FROM entry WHERE list = ${bound(1)} AND id IN (SELECT id FROM entry WHERE list = ${bound(1)} LIMIT ${bound(2)})`,
      ),
    };
    store.addBatchPart(this);
  }

  /**
   * Inside a write: keys stand in a list; some may stand there already. They are gathered with what is
   * dropped, and written before anybody reads and before the commit.
   */
  add(list: number, ids: readonly number[]): void {
    const { added } = this.#changesOf(list);
    for (const id of ids) added.push(id);
  }

  /**
   * Inside a write: keys as a row takes them (`rowsOf`) stand in a list, at once. Mostly they stand after
   * all others; else with the rows that they overlap.
   */
  put(list: number, ids: readonly number[]): void {
    const [first = 0] = ids;
    const held: number[] = [];
    for (;;) {
      const row = this.#statements.upTo.get(list, ids.at(-1) ?? first);
      const known = row ? unpack(row) : [];
      if (!row || (known.at(-1) ?? 0) < first) break;
      this.#statements.delete.run(list, row.id);
      held.push(...known);
    }
    this.#insert(list, held.length === 0 ? ids : ascending([...held, ...ids]));
  }

  /**
   * Inside a write: a key stands in a list no more. Keys are never used again: it may have been added by this
   * very transaction.
   */
  drop(list: number, id: number): void {
    this.#changesOf(list).dropped.push(id);
  }

  /** Inside a write: a slice of a list goes. Answers how many rows that were. */
  clear(list: number, rows: number): number {
    this.flush();
    return this.#statements.clear.run(list, rows).changes;
  }

  isEmpty(list: number): boolean {
    this.flush();
    return this.#statements.any.get(list) === null;
  }

  /** Keys below `before`, the largest first, at most `most`; fewer only at the list's end. */
  below(list: number, before: number, most: number): number[] {
    this.flush();
    const found: number[] = [];
    for (const row of walk(this.#statements.below, list, before, most)) {
      for (const id of unpack(row).reverse()) if (id < before) found.push(id);
      if (found.length >= most) break;
    }
    return found.slice(0, most);
  }

  /**
   * Keys above `after` and below `before`, the smallest first, at most `most`; fewer only at the list's end.
   */
  above(list: number, after: number, most: number, before = Number.POSITIVE_INFINITY): number[] {
    this.flush();
    const found: number[] = [];
    const take = (row: Row) => {
      for (const id of unpack(row)) if (id > after && id < before) found.push(id);
    };
    const first = this.#statements.upTo.get(list, after);
    if (first) take(first);
    if (found.length >= most) return found.slice(0, most);
    for (const row of walk(this.#statements.above, list, after, most)) {
      if (row.id >= before) break;
      take(row);
      if (found.length >= most) break;
    }
    return found.slice(0, most);
  }

  /** The smallest key above `after`; null at the list's end. */
  next(list: number, after: number): number | null {
    this.flush();
    const row = this.#statements.upTo.get(list, after);
    const inRow = row ? unpack(row).find((id) => id > after) : undefined;
    return inRow ?? this.#statements.above.get(list, after, 1)?.id ?? null;
  }

  flush(): void {
    if (this.#changes.size === 0) return;
    for (const [list, { added, dropped }] of this.#changes) {
      // In this order, as nothing is added that was dropped.
      for (const row of rowsOf(ascending(added))) this.put(list, row);
      if (dropped.length > 0) this.#dropAll(list, ascending(dropped));
    }
    this.#changes.clear();
  }

  done(): void {}

  reset(): void {
    this.#changes.clear();
  }

  #changesOf(list: number): Changes {
    let changes = this.#changes.get(list);
    if (!changes) this.#changes.set(list, (changes = { added: [], dropped: [] }));
    return changes;
  }

  /** Each row that holds some of them is written once. */
  #dropAll(list: number, ids: readonly number[]): void {
    const gone = new Set(ids);
    let last = Number.NEGATIVE_INFINITY;
    for (const id of ids) {
      const row = id > last ? this.#statements.upTo.get(list, id) : null;
      if (!row) continue;
      const held = unpack(row);
      last = held.at(-1) ?? id;
      const left = held.filter((key) => !gone.has(key));
      if (left.length === held.length) continue;
      this.#statements.delete.run(list, row.id);
      this.#insert(list, left);
    }
  }

  #insert(list: number, ids: readonly number[]): void {
    for (const row of rowsOf(ids)) this.#statements.insert.run(list, row[0] ?? 0, pack(row));
  }
}

interface ReadRows {
  all(list: number, from: number, count: number): Row[];
}

/** Rows from a key on, more of them at a time the further one goes. */
function* walk(statement: ReadRows, list: number, from: number, most: number): Generator<Row> {
  let last = from;
  for (let count = Math.min(Math.max(1, most), ROWS_AT_FIRST); ; count = Math.min(2 * count, ROWS_MAX)) {
    const rows = statement.all(list, last, count);
    yield* rows;
    if (rows.length < count) return;
    last = rows.at(-1)?.id ?? last;
  }
}
