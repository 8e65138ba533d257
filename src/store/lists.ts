import { limit } from "../core/limits.ts";
import type { Digest } from "./digest.ts";
import type { Store } from "./store.ts";

const CHUNK = 250;
/** Candidates whose bodies are read at once: of up to 1 MiB each. */
const CHUNK_OF_BODIES = 20;

/** A page that would merge more lists than that looks through the whole project's instead. */
export const LISTS_MERGED_MAX = 50;

/** What a page of a list looks for. Keys lie below `before` and at or above `from`. */
export interface PageRequest<Row> {
  /** Candidate keys below `before`, newest first, at most `count`. */
  candidates(before: number, count: number): readonly number[];
  /** Their rows, in the same order; rows that are gone are left out. */
  load(ids: readonly number[]): readonly Row[];
  keyOf(row: Row): number;
  keep(row: Row): boolean;
  before: number;
  from: number;
  count: number;
  /** True where rows carry bodies, which are searched. */
  readsBodies?: boolean;
}

/** `next`: the key to go on below, or null at the end. A page that had to look at very much is shorter than asked. */
export interface Page<Row> {
  rows: Row[];
  next: number | null;
}

/** Lists kept by the digest: what stands in the table, and what is still in memory. */
export class Lists {
  readonly #below;
  readonly #above;

  constructor(
    store: Store,
    private readonly digest: Digest,
  ) {
    const { sqlite } = store;
    this.#below = sqlite.prepare<{ id: number }, [number, number, number]>(
      "SELECT id FROM entry WHERE list = ? AND id < ? ORDER BY id DESC LIMIT ?",
    );
    this.#above = sqlite.prepare<{ id: number }, [number, number, number]>(
      "SELECT id FROM entry WHERE list = ? AND id > ? ORDER BY id LIMIT ?",
    );
  }

  /** Newest first, over several lists together; fewer than `count` also where many lists are longer than what is read of each. */
  below(lists: readonly number[], before: number, count: number): number[] {
    const recent = lists.flatMap((list) => [...this.digest.recentOf(list)].filter((id) => id < before));
    return mergeBelow(lists, count, (list, most) => this.#below.all(list, before, most), recent);
  }

  /** Oldest first, over several lists together. */
  above(lists: readonly number[], after: number, count: number): number[] {
    const ids = new Set<number>();
    for (const list of lists) {
      for (const { id } of this.#above.all(list, after, count)) ids.add(id);
      for (const id of this.digest.recentOf(list)) if (id > after) ids.add(id);
    }
    return [...ids].sort((a, b) => a - b).slice(0, count);
  }
}

/** Read of each list where there are many: few, as most of it is not used. */
const READ_OF_MANY = 8;

/**
 * The newest of several lists, each of which `read` gives newest first. Of many lists little is read; what lies below the end of one that
 * goes on is left for the next call, as that one may hold something between.
 */
export function mergeBelow(
  lists: readonly number[],
  count: number,
  read: (list: number, most: number) => readonly { id: number }[],
  more: readonly number[] = [],
): number[] {
  const most = lists.length > LISTS_MERGED_MAX ? READ_OF_MANY : count;
  const ids = new Set(more);
  let floor = 0;
  for (const list of lists) {
    const rows = read(list, most);
    for (const { id } of rows) ids.add(id);
    if (rows.length === most) floor = Math.max(floor, rows.at(-1)?.id ?? 0);
  }
  const whole = most === count ? [...ids] : [...ids].filter((id) => id >= floor);
  return whole.sort((a, b) => b - a).slice(0, count);
}

/** One page. Looks at candidates in chunks, and lets the event loop go on between them. */
export async function readPage<Row>(request: PageRequest<Row>): Promise<Page<Row>> {
  const rows: Row[] = [];
  let { before } = request;
  const chunk = request.readsBodies ? CHUNK_OF_BODIES : CHUNK;
  for (let seen = 0; seen < limit("listScanMax"); seen += chunk) {
    if (seen > 0) await nextTurn();
    const candidates = request.candidates(before, chunk);
    const ids = candidates.filter((id) => id >= request.from);
    for (const row of request.load(ids)) {
      if (!request.keep(row)) continue;
      if (rows.length === request.count) return { rows, next: lastKey(rows, request) };
      rows.push(row);
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

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
