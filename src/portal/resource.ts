import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { RecentMap } from "../core/structures/recent-map.ts";
import { get } from "./api.ts";
import type { Page } from "./types.ts";

/**
 * What a view shows of /v1. Answers are kept by their path, so that a list which one comes back to stands
 * there at once; what is shown is asked for again every three seconds, slower when nobody touches anything,
 * and never in the background.
 */
export interface Resource<T> {
  data: T | undefined;
  error: Error | null;
  /** What was asked for where `data` is from: with `keeps` it may be the query before. */
  of: string | null;
  reload: () => void;
}

interface Entry {
  data: Signal<unknown>;
  error: Signal<Error | null>;
  /** When it was asked for ahead of its view; 0: it was not. */
  warmedAt: number;
}

/** What was asked for ahead is not asked for again by the view that follows. */
const WARM_MS = 2000;

const ACTIVE_MS = 3000;
const IDLE_MS = 15_000;
/** Without a key, click or scroll for that long, somebody is not there. */
const IDLE_AFTER_MS = 60_000;
const KEPT_MAX = 200;

const entries = new RecentMap<string, Entry>(KEPT_MAX);
const watchers = new Set<() => void>();
let touchedAt = Date.now();

for (const type of ["pointerdown", "keydown", "scroll", "focus"]) {
  window.addEventListener(type, () => void (touchedAt = Date.now()), { passive: true, capture: true });
}
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") refresh();
});
window.addEventListener("online", () => refresh());

function entryOf(path: string): Entry {
  const entry = entries.get(path) ?? { data: signal(undefined), error: signal(null), warmedAt: 0 };
  entries.set(path, entry);
  return entry;
}

/** Everything on the page is asked for again: after a change. */
export function refresh(): void {
  for (const load of watchers) load();
}

/** Forgets what another token was shown. */
export function forgetAll(): void {
  entries.clear();
}

/**
 * Asks ahead, while what comes before it is still on its way: on a slow line each step costs. What fails is
 * left to the view.
 */
export function warm(path: string): void {
  const entry = entryOf(path);
  entry.warmedAt = Date.now();
  get(path).then(
    (data) => void (entry.data.value = data),
    () => void (entry.warmedAt = 0),
  );
}

/** `everyMs`: how long it is shown before it is asked for again; null: until something changes it here. */
function watch(path: string, entry: Entry, everyMs: number | null): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: AbortController | null = null;
  const load = () => {
    clearTimeout(timer);
    running?.abort();
    const own = new AbortController();
    running = own;
    get(path, own.signal)
      .then(
        (data) => {
          // The same answer again is no news: nothing is drawn anew.
          if (JSON.stringify(data) !== JSON.stringify(entry.data.peek())) entry.data.value = data;
          entry.error.value = null;
        },
        (error: unknown) => {
          if (!own.signal.aborted) entry.error.value = error as Error;
        },
      )
      .finally(() => {
        if (running === own) plan();
      });
  };
  const plan = () => {
    running = null;
    if (everyMs === null) return;
    const wait = Date.now() - touchedAt > IDLE_AFTER_MS ? Math.max(IDLE_MS, everyMs) : everyMs;
    timer = setTimeout(() => (document.visibilityState === "visible" ? load() : plan()), wait);
  };
  watchers.add(load);
  if (Date.now() - entry.warmedAt < WARM_MS) plan();
  else load();
  return () => {
    watchers.delete(load);
    clearTimeout(timer);
    running?.abort();
  };
}

const NOTHING: Entry = { data: signal(undefined), error: signal(null), warmedAt: 0 };

/** Parameters of a query that name the owner of its rows. */
const OWNERS = ["endpoint_id", "source_id", "consumer_id"];

/** Whether both ask for one list; rows of one owner never stand where another's will. */
function isSameList(before: string, path: string): boolean {
  const [old, wanted] = [new URL(before, location.origin), new URL(path, location.origin)];
  const isTheirs = (name: string) =>
    !wanted.searchParams.has(name) || wanted.searchParams.get(name) === old.searchParams.get(name);
  return old.pathname === wanted.pathname && OWNERS.every(isTheirs);
}

interface Asked {
  path: string | null;
  entry: Entry;
}

/**
 * The answer to a GET; null: nothing is asked for. `polls: false` for what does not change by itself;
 * `keeps`: until a list that is searched or filtered anew is answered, the answer before stays.
 */
export function useResource<T>(
  path: string | null,
  { polls = true, everyMs = ACTIVE_MS, keeps = false } = {},
): Resource<T> {
  const entry = useMemo(() => (path === null ? NOTHING : entryOf(path)), [path]);
  useEffect(() => (path === null ? undefined : watch(path, entry, polls ? everyMs : null)), [path, polls]);
  const before = useRef<Asked>({ path: null, entry: NOTHING });
  const isAnswered = path === null || entry.data.value !== undefined || entry.error.value !== null;
  const shown = !isAnswered && keeps && mayStay(before.current, path) ? before.current : { path, entry };
  if (isAnswered) before.current = shown;
  return {
    data: shown.entry.data.value as T | undefined,
    error: entry.error.value,
    of: shown.path,
    reload: refresh,
  };
}

/** The answer before stays where it is of the same list, and was not forgotten meanwhile. */
function mayStay(before: Asked, path: string): boolean {
  return before.path !== null && entries.get(before.path) === before.entry && isSameList(before.path, path);
}

export interface List<Row> extends Omit<Resource<Row[]>, "data" | "of"> {
  /** undefined while nothing has come yet. */
  rows: Row[] | undefined;
  /** The rows are those of the query before. */
  isOld: boolean;
  /** Asks for the next page; null at the end. */
  more: (() => void) | null;
}

/** Pages of one list that were asked for beyond the first, by the list's path. */
const furtherPages = new Map<string, Signal<Page<unknown>[]>>();

/** A list of /v1, its first page kept fresh; `path` may have a query, without `cursor`. */
export function useList<Row extends { id?: string }>(path: string): List<Row> {
  const { data: first, error, of, reload } = useResource<Page<Row>>(path, { keeps: true });
  const shown = of ?? path;
  const further = useMemo(() => {
    const known = furtherPages.get(shown) ?? signal<Page<unknown>[]>([]);
    furtherPages.set(shown, known);
    return known as Signal<Page<Row>[]>;
  }, [shown]);
  const pages = first ? [first, ...further.value] : [];
  const cursor = pages.at(-1)?.next_cursor ?? null;
  const more = async () => {
    const separator = shown.includes("?") ? "&" : "?";
    const next = await get<Page<Row>>(`${shown}${separator}cursor=${cursor}`);
    further.value = [...further.value, next];
  };
  return {
    rows: first && distinct(pages.flatMap((page) => page.data)),
    isOld: shown !== path,
    error,
    reload,
    more: cursor === null ? null : () => void more(),
  };
}

/** The first page moves on while the others stand. */
function distinct<Row extends { id?: string }>(rows: Row[]): Row[] {
  const seen = new Set<string>();
  return rows.filter(({ id }) => id === undefined || (!seen.has(id) && seen.add(id)));
}
