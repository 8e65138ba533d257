import { limit } from "../../core/limits.ts";
import { RecentMap } from "../../core/structures/recent-map.ts";
import type { BatchPart, Store } from "../store.ts";

/** Longer heads are rarely the same twice, and would fill the memory. */
const CACHED_CHARS_MAX = 1024;
const DAY_MS = 86_400_000;

/**
 * Heads of requests and responses, each different one stored once a day: the row that an attempt names is
 * never older than a day when it is used, so that retention may delete heads by age. An attempt that outlives
 * that has the text in its own row (src/store/cleanup/orphans.ts).
 */
export class Heads implements BatchPart {
  readonly #known = new RecentMap<string, number>(limit("headsCachedMax"));
  #fresh: string[] = [];
  #day = 0;
  readonly #insert;
  readonly #read;

  constructor(private readonly store: Store) {
    this.#insert = store.sqlite.prepare<void, [number, string]>("INSERT INTO head (id, text) VALUES (?, ?)");
    this.#read = store.sqlite.prepare<{ text: string }, [number]>("SELECT text FROM head WHERE id = ?");
    store.addBatchPart(this);
  }

  /** The key of a head; inside a write. */
  intern(text: string): number {
    this.#forgetYesterday();
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const id = this.store.takeKey();
    this.#insert.run(id, text);
    if (text.length > CACHED_CHARS_MAX) return id;
    this.#fresh.push(text);
    this.#known.set(text, id);
    return id;
  }

  /** What an attempt has of a head: its key, or its text. */
  read(head: number | string): string {
    return typeof head === "string" ? head : (this.#read.get(head)?.text ?? "");
  }

  flush(): void {}

  done(): void {
    this.#fresh = [];
  }

  /** The rows of this batch do not exist: forget their keys. */
  reset(): void {
    for (const text of this.#fresh) this.#known.delete(text);
    this.#fresh = [];
  }

  #forgetYesterday(): void {
    const day = Math.floor(this.store.now() / DAY_MS);
    if (day === this.#day) return;
    this.#day = day;
    this.#known.clear();
  }
}
