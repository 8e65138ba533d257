import type { Database } from "bun:sqlite";

/** What rows say, read again only after a write, or of something else: most steps of a run write nothing. */
export class KeptRows<T> {
  #changes = -1;
  #of = 0;
  #kept: T | undefined;

  constructor(
    private readonly sqlite: Database,
    private readonly read: (of: number) => T,
  ) {}

  get(of = 0): T {
    const count = this.sqlite.query<{ changes: number }, []>("SELECT total_changes() AS changes").get();
    const changes = count?.changes ?? 0;
    if (this.#kept === undefined || changes !== this.#changes || of !== this.#of) this.#kept = this.read(of);
    this.#changes = changes;
    this.#of = of;
    return this.#kept;
  }
}
