import type { Store } from "./store.ts";

/** An event whose deliveries are written in slices after its commit. */
export interface Fanout {
  eventId: number;
  /** The key of the first delivery; the n-th endpoint's delivery has firstKey + n. */
  firstKey: number;
  written: number;
  endpoints: number[];
}

export class Fanouts {
  readonly #insert;
  readonly #advance;
  readonly #finish;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#insert = sqlite.prepare<void, [number, number, string]>(
      "INSERT INTO fanout (event_id, first_key, written, endpoints) VALUES (?, ?, 0, ?)",
    );
    this.#advance = sqlite.prepare<void, [number, number]>(
      "UPDATE fanout SET written = ? WHERE event_id = ?",
    );
    this.#finish = sqlite.prepare<void, [number]>("DELETE FROM fanout WHERE event_id = ?");
  }

  /** Inside the event's write. */
  insert(eventId: number, firstKey: number, endpoints: readonly number[]): void {
    this.#insert.run(eventId, firstKey, JSON.stringify(endpoints));
  }

  /** Inside a slice's write. */
  advance(fanout: Fanout, written: number): void {
    if (written >= fanout.endpoints.length) this.#finish.run(fanout.eventId);
    else this.#advance.run(written, fanout.eventId);
  }

  /** Those that a crash cut short. */
  unfinished(): Fanout[] {
    return this.store.sqlite
      .query<{ event_id: number; first_key: number; written: number; endpoints: string }, []>(
        "SELECT * FROM fanout ORDER BY event_id",
      )
      .all()
      .map((row) => ({
        eventId: row.event_id,
        firstKey: row.first_key,
        written: row.written,
        endpoints: JSON.parse(row.endpoints) as number[],
      }));
  }
}
