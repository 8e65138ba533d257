import { limit } from "../../core/limits.ts";
import type { Store } from "../store.ts";

/**
 * Of the file: free pages are used again by what comes, so that few are given back where as much comes
 * as goes.
 */
const FREE_SHARE_MAX = 0.1;
const FREE_PAGES_MIN = 256;

interface Pages {
  free: number;
  /** Of the whole file. */
  count: number;
}

/**
 * Gives free pages back to the file system, a slice at a time: the file becomes smaller with the
 * next checkpoint.
 */
export class Vacuum {
  readonly #pages;
  readonly #step;

  constructor(private readonly store: Store) {
    this.#pages = store.sqlite.prepare<Pages, []>(
      "SELECT freelist_count AS free, page_count AS count FROM pragma_freelist_count, pragma_page_count",
    );
    this.#step = store.sqlite.prepare(`PRAGMA incremental_vacuum(${limit("sliceRows")})`);
  }

  /** True where more pages are free than are worth keeping. */
  get isDue(): boolean {
    const { free, count } = this.pages;
    return free > FREE_PAGES_MIN && free > count * FREE_SHARE_MAX;
  }

  get pages(): Pages {
    return this.#pages.get() ?? { free: 0, count: 0 };
  }

  /** A slice; answers how many pages were given back. */
  step(): Promise<number> {
    return this.store.write(() => {
      const before = this.pages.count;
      this.#step.all();
      return before - this.pages.count;
    });
  }
}
