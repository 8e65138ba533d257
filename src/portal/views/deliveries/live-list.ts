import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { RecentMap } from "../../../core/structures/recent-map.ts";
import { get } from "../../api.ts";
import { useResource } from "../../resource.ts";
import type { Delivery, Page } from "../../types.ts";

/**
 * A list that never moves under the reader's eyes: rows that are shown change in place, new ones are counted
 * until somebody asks for them. It is kept by its path, so that one comes back to what one left.
 */
export interface LiveList {
  /** undefined while nothing has come yet. */
  rows: Delivery[] | undefined;
  /**
   * What was asked for where the rows are from: the query before, while the one that is asked for is
   * not answered.
   */
  of: string | null;
  error: Error | null;
  /** How many are not shown yet; a whole page of them may be more. */
  waiting: number;
  isMoreWaiting: boolean;
  show: () => void;
  more: (() => void) | null;
}

interface Kept {
  rows: Delivery[];
  cursor: string | null;
}

const LISTS_MAX = 50;
const lists = new RecentMap<string, Signal<Kept | null>>(LISTS_MAX);
/** Rows that left the filter are read one by one; no more than that at once. */
const LEFT_MAX = 10;

function keptOf(path: string): Signal<Kept | null> {
  const known = lists.get(path) ?? signal<Kept | null>(null);
  lists.set(path, known);
  return known;
}

export function useLiveList(path: string | null): LiveList {
  const { data: fresh, error, of } = useResource<Page<Delivery>>(path, { keeps: true });
  const kept = useMemo(() => keptOf(of ?? ""), [of]);
  useEffect(() => {
    if (fresh !== undefined) void take(kept, fresh);
  }, [fresh, kept]);
  // The first answer is shown as soon as it is here.
  const now = kept.value ?? (fresh ? { rows: fresh.data, cursor: fresh.next_cursor } : null);
  const shown = new Set(now?.rows.map(({ id }) => id));
  const waiting = now === null || !fresh ? [] : fresh.data.filter(({ id }) => !shown.has(id));
  const more = async () => {
    if (of === null || !now?.cursor) return;
    const page = await get<Page<Delivery>>(`${of}&cursor=${now.cursor}`);
    const known = new Set(kept.peek()?.rows.map(({ id }) => id));
    const rows = [...(kept.peek()?.rows ?? []), ...page.data.filter(({ id }) => !known.has(id))];
    kept.value = { rows, cursor: page.next_cursor };
  };
  return {
    rows: now?.rows,
    of,
    error,
    waiting: waiting.length,
    isMoreWaiting: fresh !== undefined && waiting.length > 0 && waiting.length === fresh.data.length,
    show: () => void (fresh && (kept.value = { rows: fresh.data, cursor: fresh.next_cursor })),
    more: now?.cursor ? () => void more() : null,
  };
}

/**
 * Changes the rows that are shown, in their places. The first answer is shown as it is, and so is one
 * to nobody.
 */
async function take(kept: Signal<Kept | null>, fresh: Page<Delivery>): Promise<void> {
  const before = kept.peek();
  if (before === null || before.rows.length === 0) {
    kept.value = { rows: fresh.data, cursor: fresh.next_cursor };
    return;
  }
  const changed = new Map(fresh.data.map((row) => [row.id, row]));
  for (const row of await readLeft(before.rows, fresh)) changed.set(row.id, row);
  const now = kept.peek() ?? before;
  kept.value = { ...now, rows: now.rows.map((row) => changed.get(row.id) ?? row) };
}

/**
 * Rows that the fresh page would hold and does not: they left the filter, by a replay for example, and are
 * read by themselves.
 */
async function readLeft(
  rows: readonly Delivery[],
  { data, next_cursor: next }: Page<Delivery>,
): Promise<Delivery[]> {
  const fresh = new Set(data.map(({ id }) => id));
  const last = next === null ? "" : (data.at(-1)?.id ?? "");
  const left = rows.filter(({ id, status }) => id >= last && !fresh.has(id) && status !== "delivered");
  const read = left.slice(0, LEFT_MAX).map(({ id }) => get<Delivery>(`/v1/deliveries/${id}`));
  const answers = await Promise.allSettled(read);
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
}
