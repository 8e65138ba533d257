import type { Meter } from "./meter.ts";
import type { Store } from "./store.ts";
import type { WaitingEvents } from "./waiting-events.ts";

/** An event whose deliveries are written in slices after its commit. */
export interface Fanout {
  eventId: number;
  projectId: number;
  /** The key of the first delivery; the n-th endpoint's delivery has firstKey + n. */
  firstKey: number;
  written: number;
  endpoints: number[];
  /** True where the deliveries that are still to be written have their places already. */
  reserves: boolean;
}

type FanoutRow = Omit<Fanout, "endpoints" | "reserves"> & { endpoints: string };

export class Fanouts {
  readonly #insert;
  readonly #advance;
  readonly #finish;

  constructor(
    private readonly store: Store,
    private readonly waitingEvents: WaitingEvents,
    private readonly meter: Meter,
  ) {
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
  insert(projectId: number, eventId: number, firstKey: number, endpoints: number[]): Fanout {
    this.#insert.run(eventId, firstKey, JSON.stringify(endpoints));
    const reserves = !this.waitingEvents.has(projectId, eventId);
    if (reserves) this.meter.reserve(projectId, "taken", endpoints.length);
    return { eventId, projectId, firstKey, written: 0, endpoints, reserves };
  }

  /** Inside a slice's write: those from `from` up to `until` are written now. */
  advance({ eventId, projectId, endpoints, reserves }: Fanout, from: number, until: number): void {
    if (until >= endpoints.length) this.#finish.run(eventId);
    else this.#advance.run(until, eventId);
    if (reserves) this.meter.reserve(projectId, "taken", from - until);
  }

  /** Those that a crash cut short. */
  unfinished(): Fanout[] {
    return this.store.sqlite
      .query<FanoutRow, []>(
        `SELECT event_id AS eventId, project_id AS projectId, first_key AS firstKey, written, endpoints
         FROM fanout JOIN event ON event.id = event_id ORDER BY event_id`,
      )
      .all()
      .map((row) => ({
        ...row,
        endpoints: JSON.parse(row.endpoints) as number[],
        reserves: !this.waitingEvents.has(row.projectId, row.eventId),
      }));
  }
}
