/** What the API gives page by page. */
import { ConnectionError } from "./errors.ts";

/** One page. `next_cursor` leads to the next one, and is null at the end. */
export interface PageOf<Item> {
  data: readonly Item[];
  next_cursor: string | null;
}

/**
 * A list: `for await` over it gives one entry after the other and fetches the next page as it is needed.
 * Nothing is asked for before that.
 */
export class List<Item, Page extends PageOf<Item> = PageOf<Item>> implements AsyncIterable<Item> {
  readonly #fetch: (cursor: string | undefined) => Promise<Page>;

  /** `fetch` answers the page of a cursor; of none: the page that was asked for. */
  constructor(fetch: (cursor: string | undefined) => Promise<Page>) {
    this.#fetch = fetch;
  }

  /** The first page alone. With its `next_cursor` as `cursor` of the same call comes the next one. */
  page(): Promise<Page> {
    return this.#fetch(undefined);
  }

  /** One page after the other. A cursor that leads back is a ConnectionError: it would go on without end. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    const seen = new Set<string>();
    let cursor: string | undefined;
    while (true) {
      const page = await this.#fetch(cursor);
      yield page;
      cursor = page.next_cursor ?? undefined;
      if (cursor === undefined) return;
      if (seen.has(cursor)) throw new ConnectionError(`the list has no end: its cursor ${cursor} came twice`);
      seen.add(cursor);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }
}
