import { CommandError } from "./command-line.ts";

/** A page of a list of the public API. */
export interface Page<Row> {
  data: Row[];
  /** Null after the last page. */
  next_cursor: string | null;
}

/** All pages of a list, one after the other. `query` is asked before each page; `read` answers a path. */
export function pagesOf<Row>(
  path: string,
  query: () => Readonly<Record<string, string>>,
  read: (path: string) => Promise<Page<Row>>,
): AsyncGenerator<Page<Row>> {
  return pagesBy(
    (cursor) => {
      const parameters = new URLSearchParams(query());
      if (cursor !== null) parameters.set("cursor", cursor);
      return read(`${path}?${parameters.toString()}`);
    },
    (page) => page.next_cursor,
  );
}

/**
 * All pages of a list of any API. `read` is given the cursor of the page; null: the first one. `nextOf`
 * answers the cursor of the page behind one; null: there is none. Throws CommandError where a cursor comes a
 * second time, as such a list has no end.
 */
export async function* pagesBy<Found>(
  read: (cursor: string | null) => Promise<Found>,
  nextOf: (page: Found) => string | null,
): AsyncGenerator<Found> {
  const seen = new Set<string | null>();
  for (let cursor: string | null = null; !seen.has(cursor); ) {
    seen.add(cursor);
    const page: Found = await read(cursor);
    yield page;
    cursor = nextOf(page);
    if (cursor === null) return;
  }
  throw new CommandError("The same page is answered again and again: this list has no end.");
}
