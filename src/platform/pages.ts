/** A page of a list of the public API. */
export interface Page<Row> {
  data: Row[];
  /** Null after the last page. */
  next_cursor: string | null;
}

/** All pages of a list, one after the other. `query` is asked before each page; `read` answers a path. */
export async function* pagesOf<Row>(
  path: string,
  query: () => Readonly<Record<string, string>>,
  read: (path: string) => Promise<Page<Row>>,
): AsyncGenerator<Page<Row>> {
  for (let cursor: string | null = ""; cursor !== null; ) {
    const parameters = new URLSearchParams(query());
    if (cursor !== "") parameters.set("cursor", cursor);
    const page: Page<Row> = await read(`${path}?${parameters.toString()}`);
    yield page;
    cursor = page.next_cursor;
  }
}
