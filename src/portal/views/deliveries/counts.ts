import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../../api.ts";
import { useResource } from "../../resource.ts";
import type { CountPage, DeliveryCount } from "../../types.ts";

/** Counting is work: it is done again less often than a list is read. */
const EVERY_MS = 10_000;
/** Answers that are asked for before the chart says how far it got; each looks at 5,000 deliveries. */
const PAGES_MAX = 40;
/** What takes more is counted once, until something is changed here. */
const OFTEN_MAX = 4;

interface Counts {
  /** undefined while nothing has come yet. */
  points: DeliveryCount[] | undefined;
  error: Error | null;
  /** How far back they were counted; null: all are. */
  countedSince: string | null;
}

const NO_PAGES: readonly CountPage[] = [];

interface Further {
  /** The path. */
  of: string | null;
  pages: readonly CountPage[];
}

/** What stands in a list, page by page from the newest on. */
export function useCounts(path: string): Counts {
  const [long, setLong] = useState<string | null>(null);
  const options = { polls: long !== path, everyMs: EVERY_MS };
  const { data: first, error } = useResource<CountPage>(path, options);
  const cursor = first?.next_cursor ?? null;
  const [further, setFurther] = useState<Further>({ of: null, pages: [] });
  useEffect(() => {
    if (cursor === null) return undefined;
    const until = new AbortController();
    void readOn(path, cursor, until.signal, (pages) => {
      if (pages.length >= OFTEN_MAX) setLong(path);
      setFurther({ of: path, pages });
    });
    return () => until.abort();
  }, [path, cursor]);
  const pages = cursor !== null && further.of === path ? further.pages : NO_PAGES;
  const points = useMemo(() => first && [first, ...pages].flatMap(({ data }) => data), [first, pages]);
  return { points, error, countedSince: (pages.at(-1) ?? first)?.counted_since ?? null };
}

async function readOn(
  path: string,
  from: string,
  until: AbortSignal,
  show: (pages: CountPage[]) => void,
): Promise<void> {
  const pages: CountPage[] = [];
  try {
    for (let cursor: string | null = from; cursor !== null && pages.length + 1 < PAGES_MAX; ) {
      const page: CountPage = await get(`${path}&cursor=${cursor}`, until);
      if (until.aborted) return;
      pages.push(page);
      show([...pages]);
      cursor = page.next_cursor;
    }
  } catch {
    // The chart says how far it got.
  }
}
