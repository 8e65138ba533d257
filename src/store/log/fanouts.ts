import type { Meter } from "../counts/meter.ts";
import type { Store } from "../store.ts";
import type { WaitingEvents } from "./waiting-events.ts";

/** An event whose deliveries are written in slices after its commit. */
export interface Fanout {
  eventId: number;
  projectId: number;
  /** The key of the first delivery; the n-th endpoint's delivery has firstKey + n. */
  firstKey: number;
  written: number;
  endpoints: number[];
  /** How many of them keep the order: those stand first. */
  ordered: number;
}

type FanoutRow = Omit<Fanout, "endpoints" | "ordered"> & { endpoints: string };

export class Fanouts {
  readonly #insert;
  readonly #advance;
  readonly #finish;
  readonly #uncount;
  readonly #rest;
  readonly #count;
  readonly #ofProject;
  readonly #names;

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
    this.#rest = sqlite.prepare<{ n: number }, [number]>(
      "SELECT json_array_length(endpoints) - written AS n FROM fanout WHERE event_id = ?",
    );
    this.#count = sqlite.prepare<{ n: number }, []>("SELECT count(*) AS n FROM fanout");
    // CROSS: in this order, as SQLite would look through all events of the project first.
    this.#ofProject = sqlite.prepare<object, [number]>(
      "SELECT 1 FROM fanout CROSS JOIN event ON event.id = event_id WHERE project_id = ? LIMIT 1",
    );
    this.#names = sqlite.prepare<object, [number, number]>(
      "SELECT 1 FROM fanout, json_each(endpoints) WHERE event_id = ? AND json_each.value = ?",
    );
    this.#uncount = sqlite.prepare<void, [number, number]>(
      "UPDATE event SET delivery_count = delivery_count - ? WHERE id = ?",
    );
    this.#finish = sqlite.prepare<void, [number]>("DELETE FROM fanout WHERE event_id = ?");
  }

  /** Inside the event's write. */
  insert(projectId: number, eventId: number, firstKey: number, endpoints: number[], ordered: number): Fanout {
    this.#insert.run(eventId, firstKey, JSON.stringify(endpoints));
    const fanout = { eventId, projectId, firstKey, written: 0, endpoints, ordered };
    this.#reserve(fanout, endpoints.length);
    return fanout;
  }

  /**
   * Inside a slice's write: those from `from` up to `until` are written now. False where the fan-out was
   * called off.
   */
  advance(fanout: Fanout, from: number, until: number): boolean {
    const isDone = until >= fanout.endpoints.length;
    const { changes } = isDone ? this.#finish.run(fanout.eventId) : this.#advance.run(until, fanout.eventId);
    if (changes === 1) this.#reserve(fanout, from - until);
    return changes === 1;
  }

  /**
   * Inside a write: what is still to be written of an event never will be, and no longer counts as its own: a
   * crash may come before it is removed.
   */
  callOff(projectId: number, eventId: number): void {
    const rest = this.#rest.get(eventId)?.n ?? 0;
    if (rest === 0) return;
    this.#finish.run(eventId);
    this.#uncount.run(rest, eventId);
    this.#reserve({ projectId, eventId }, -rest);
  }

  /** Deliveries that are still to be written have their places, unless their event waits for the plan. */
  #reserve({ projectId, eventId }: Pick<Fanout, "projectId" | "eventId">, by: number): void {
    if (!this.waitingEvents.has(projectId, eventId)) this.meter.reserve(projectId, "taken", by);
  }

  count(): number {
    return this.#count.get()?.n ?? 0;
  }

  /** Inside a write: true where an event of the project has deliveries that are still to be written. */
  isPending(projectId: number): boolean {
    return this.#ofProject.get(projectId) !== null;
  }

  /** Inside a write: true where the event's fan-out has, or is about to have, a delivery for the endpoint. */
  names(eventId: number, endpointId: number): boolean {
    return this.#names.get(eventId, endpointId) !== null;
  }

  /** Those that a crash cut short, oldest first. `keepsOrder` tells of an endpoint. */
  unfinished(keepsOrder: (endpointId: number) => boolean): Fanout[] {
    return this.store.sqlite
      .query<FanoutRow, []>(
        `SELECT event_id AS eventId, project_id AS projectId, first_key AS firstKey, written, endpoints
         FROM fanout JOIN event ON event.id = event_id ORDER BY event_id`,
      )
      .all()
      .map((row) => {
        const endpoints = JSON.parse(row.endpoints) as number[];
        const others = endpoints.findIndex((id) => !keepsOrder(id));
        return { ...row, endpoints, ordered: others < 0 ? endpoints.length : others };
      });
  }
}
