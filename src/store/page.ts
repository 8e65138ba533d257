import { limit } from "../core/limits.ts";
import type { Turns } from "../core/structures/turn-queue.ts";

const CHUNK = 250;

/** A page of events that would merge more lists than that looks through the whole project's instead. */
export const LISTS_MERGED_MAX = 50;

/** Looks at one of many endpoints that count as one entry: about 6 µs each, of 45 µs. */
export const LOOKS_PER_ENTRY = 8;

/** How far a reader of a list asks it to go. */
export interface PageAsk {
  /** Keys below this one. */
  before: number;
  /** Rows at most. */
  count: number;
  turns: Turns;
  /**
   * The permit of a long work, asked for once: before a second chunk of rows is loaded, or where rows are
   * held while others have their turn. None: the reader has one.
   */
  begin?(): Promise<void>;
}

/** What a page of a list looks for. Keys lie below `before` and at or above `from`. */
export interface PageRequest<Row> extends PageAsk {
  /**
   * Candidate keys below `before`, newest first, at most `count`. Each call goes on below the last of the
   * one before.
   */
  candidates(before: number, count: number): readonly number[] | Promise<readonly number[]>;
  /** Rows of these keys, in the same order; rows that are gone are left out. */
  load(ids: readonly number[]): readonly Row[];
  keyOf(row: Row): number;
  /** Gives way by itself where it reads more than the row. */
  keep(row: Row): boolean | Promise<boolean>;
  /** Asked last, of each row in a turn of its own; null where no body is searched. */
  body: BodySearch<Row> | null;
  /** Looks so far beside those at the rows themselves; `LOOKS_PER_ENTRY` of them count as one. */
  looks?(): number;
  /** What becomes of a row that is found; false: it does not go onto the page. */
  take?(row: Row): boolean;
  from: number;
}

export interface BodySearch<Row> {
  bytesOf(row: Row): number;
  /** Reads the body. */
  holds(row: Row): boolean;
}

/**
 * `next`: the key to go on below, or null at the end. A page that had to look at very much is shorter than
 * asked.
 */
export interface Page<Row> {
  rows: Row[];
  next: number | null;
}

/**
 * One page. Looks at candidates in chunks, and reads one body at a time; the event loop goes on in between.
 */
export async function readPage<Row>(request: PageRequest<Row>): Promise<Page<Row>> {
  const { body, turns } = request;
  const most = limit(body === null ? "listScanMax" : "searchScanMax");
  // A chunk of rows is held from turn to turn where their bodies or endpoints are looked at.
  const isHeld = body !== null || request.looks !== undefined;
  if (isHeld) await request.begin?.();
  const rows: Row[] = [];
  let { before } = request;
  let bytes = 0;
  const holds = async (search: BodySearch<Row>, row: Row) => {
    const size = search.bytesOf(row);
    await turns.giveWay(size);
    bytes += size;
    return search.holds(row);
  };
  const isSpent = (seen: number) =>
    bytes >= limit("searchScanBytesMax") || seen + (request.looks?.() ?? 0) / LOOKS_PER_ENTRY >= most;
  for (let seen = 0; !isSpent(seen); seen += CHUNK) {
    await turns.giveWay();
    const candidates = await request.candidates(before, CHUNK);
    const ids = candidates.filter((id) => id >= request.from);
    if (!isHeld && seen === CHUNK && ids.length > 0) await request.begin?.();
    for (const row of request.load(ids)) {
      const isKept = (await request.keep(row)) && (body === null || (await holds(body, row)));
      const isFound = isKept && request.take?.(row) !== false;
      if (isFound && rows.length === request.count) return { rows, next: lastKey(rows, request) };
      if (isFound) rows.push(row);
      if (isSpent(seen)) return { rows, next: request.keyOf(row) };
    }
    const last = ids.at(-1);
    if (last === undefined || ids.length < candidates.length) return { rows, next: null };
    before = last;
  }
  return { rows, next: before };
}

function lastKey<Row>(rows: readonly Row[], request: PageRequest<Row>): number | null {
  const last = rows.at(-1);
  return last === undefined ? null : request.keyOf(last);
}
