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
}

type FanoutRow = Omit<Fanout, "endpoints"> & { endpoints: string };

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
    const fanout = { eventId, projectId, firstKey, written: 0, endpoints };
    this.#reserve(fanout, endpoints.length);
    return fanout;
  }

  /** Inside a slice's write: those from `from` up to `until` are written now. */
  advance(fanout: Fanout, from: number, until: number): void {
    if (until >= fanout.endpoints.length) this.#finish.run(fanout.eventId);
    else this.#advance.run(until, fanout.eventId);
    this.#reserve(fanout, from - until);
  }

  /** Deliveries that are still to be written have their places, unless their event waits for the plan. */
  #reserve({ projectId, eventId }: Fanout, by: number): void {
    if (!this.waitingEvents.has(projectId, eventId)) this.meter.reserve(projectId, "taken", by);
  }

  /** Those that a crash cut short. */
  unfinished(): Fanout[] {
    return this.store.sqlite
      .query<FanoutRow, []>(
        `SELECT event_id AS eventId, project_id AS projectId, first_key AS firstKey, written, endpoints
         FROM fanout JOIN event ON event.id = event_id ORDER BY event_id`,
      )
      .all()
      .map((row) => ({ ...row, endpoints: JSON.parse(row.endpoints) as number[] }));
  }
}
