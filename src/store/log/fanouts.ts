import type { Meter } from "../counts/meter.ts";
import type { BatchPart, Store } from "../store.ts";
import type { WaitingEvents } from "./waiting-events.ts";

/** Endpoints that get an event: those that keep the order are among the first `ordered` of them. */
export interface FanoutList {
  /** The event that came with it first. */
  id: number;
  endpoints: readonly number[];
  ordered: number;
  /** `Endpoints.changes` when `ordered` was counted; null where endpoints may have changed before that. */
  asOf: number | null;
}

/** An event whose deliveries are written in slices after its commit. */
export interface Fanout extends Omit<FanoutList, "id"> {
  eventId: number;
  projectId: number;
  /** The key of the first delivery; the n-th endpoint's delivery has firstKey + n. */
  firstKey: number;
  written: number;
  listId: number;
}

type FanoutRow = Omit<Fanout, keyof FanoutList>;

export class Fanouts implements BatchPart {
  readonly #statements;
  /** By project: fan-outs of which deliveries are still to be written. */
  readonly #pending = new Map<number, number>();
  /** By project: how many the running transaction has added to `#pending`. */
  readonly #added = new Map<number, number>();
  /** The latest list that `endpointsOf` has read, which the events of a batch share: it never changes. */
  #latest: { id: number; endpoints: readonly number[] } | null = null;

  constructor(
    store: Store,
    private readonly waitingEvents: WaitingEvents,
    private readonly meter: Meter,
  ) {
    this.#statements = prepare(store.sqlite);
    for (const { projectId } of this.#statements.projects.all()) add(this.#pending, projectId, 1);
    store.addBatchPart(this);
  }

  /** Inside a write: the endpoints of wide events. Kept while a fan-out needs them. */
  insertList(list: FanoutList): void {
    this.#statements.insertList.run(list.id, JSON.stringify(list.endpoints));
  }

  /** Inside the event's write, after its list. */
  insert(projectId: number, eventId: number, firstKey: number, list: FanoutList): Fanout {
    const { id: listId, ...followers } = list;
    this.#statements.insert.run(eventId, firstKey, list.endpoints.length, listId);
    add(this.#added, projectId, 1);
    const fanout = { eventId, projectId, firstKey, written: 0, listId, ...followers };
    this.#reserve(fanout, list.endpoints.length);
    return fanout;
  }

  /**
   * Inside a slice's write: those from `from` up to `until` are written now. False where the fan-out was
   * called off.
   */
  advance(fanout: Fanout, from: number, until: number): boolean {
    const { eventId } = fanout;
    const isDone = until >= fanout.endpoints.length;
    const isThere = isDone
      ? this.#finish(fanout)
      : this.#statements.advance.run(until, eventId).changes === 1;
    if (isThere) this.#reserve(fanout, from - until);
    return isThere;
  }

  /**
   * Inside a write: ends a fan-out. The event no longer counts the deliveries that were still to be written,
   * at once, as a crash may come before the event itself is removed.
   */
  callOff(projectId: number, eventId: number): void {
    const row = this.#statements.rest.get(eventId);
    if (!row) return;
    this.#finish({ projectId, eventId, listId: row.listId });
    this.#statements.uncount.run(row.rest, eventId);
    this.#reserve({ projectId, eventId }, -row.rest);
    this.waitingEvents.leave({ projectId, eventId });
  }

  #finish({ projectId, eventId, listId }: Pick<Fanout, "projectId" | "eventId" | "listId">): boolean {
    const { changes } = this.#statements.finish.run(eventId);
    this.#statements.dropList.run(listId);
    add(this.#added, projectId, -changes);
    return changes === 1;
  }

  /** Deliveries that are still to be written have their places, unless their event waits for the plan. */
  #reserve({ projectId, eventId }: Pick<Fanout, "projectId" | "eventId">, by: number): void {
    if (!this.waitingEvents.has(projectId, eventId)) this.meter.reserve(projectId, "taken", by);
  }

  count(): number {
    return this.#statements.count.get()?.n ?? 0;
  }

  /** Deliveries that are still to be written. */
  rest(): number {
    return this.#statements.restOfAll.get()?.n ?? 0;
  }

  /** Inside a write: true where an event of the project has deliveries that are still to be written. */
  isPending(projectId: number): boolean {
    return (this.#pending.get(projectId) ?? 0) + (this.#added.get(projectId) ?? 0) > 0;
  }

  flush(): void {}

  done(): void {
    for (const [projectId, by] of this.#added) add(this.#pending, projectId, by);
    this.#added.clear();
  }

  reset(): void {
    this.#added.clear();
  }

  /** Those that the event's fan-out has, or is about to have, a delivery for; none once all are written. */
  endpointsOf(eventId: number): readonly number[] {
    const id = this.#statements.rest.get(eventId)?.listId;
    if (id === undefined) return [];
    if (this.#latest?.id !== id) this.#latest = { id, endpoints: this.#readList(id) };
    return this.#latest.endpoints;
  }

  /** Those of them whose delivery is still to be written. */
  restOf(eventId: number): readonly number[] {
    const rest = this.#statements.rest.get(eventId)?.rest ?? 0;
    return rest === 0 ? [] : this.endpointsOf(eventId).slice(-rest);
  }

  /** Those that a crash cut short, oldest first; which endpoints keep the order is still to be found. */
  unfinished(): Fanout[] {
    const lists = new Map<number, number[]>();
    return this.#statements.unfinished.all().map((row) => {
      const endpoints = lists.get(row.listId) ?? this.#readList(row.listId);
      lists.set(row.listId, endpoints);
      return { ...row, endpoints, ordered: 0, asOf: null };
    });
  }

  #readList(id: number): number[] {
    return JSON.parse(this.#statements.list.get(id)?.endpoints ?? "[]") as number[];
  }
}

/** What comes to zero has no entry. */
function add(counts: Map<number, number>, projectId: number, by: number): void {
  const count = (counts.get(projectId) ?? 0) + by;
  if (count === 0) counts.delete(projectId);
  else counts.set(projectId, count);
}

function prepare(sqlite: Store["sqlite"]) {
  return {
    insertList: sqlite.prepare<void, [number, string]>(
      "INSERT INTO fanout_list (id, endpoints) VALUES (?, ?)",
    ),
    list: sqlite.prepare<{ endpoints: string }, [number]>("SELECT endpoints FROM fanout_list WHERE id = ?"),
    dropList: sqlite.prepare<void, [number]>(
      "DELETE FROM fanout_list WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM fanout WHERE list_id = ?1)",
    ),
    insert: sqlite.prepare<void, [number, number, number, number]>(
      "INSERT INTO fanout (event_id, first_key, written, total, list_id) VALUES (?, ?, 0, ?, ?)",
    ),
    advance: sqlite.prepare<void, [number, number]>("UPDATE fanout SET written = ? WHERE event_id = ?"),
    finish: sqlite.prepare<void, [number]>("DELETE FROM fanout WHERE event_id = ?"),
    rest: sqlite.prepare<{ rest: number; listId: number }, [number]>(
      "SELECT total - written AS rest, list_id AS listId FROM fanout WHERE event_id = ?",
    ),
    restOfAll: sqlite.prepare<{ n: number }, []>("SELECT total(total - written) AS n FROM fanout"),
    count: sqlite.prepare<{ n: number }, []>("SELECT count(*) AS n FROM fanout"),
    // Of every fan-out, at start. CROSS: in this order, as SQLite would look through all events first.
    projects: sqlite.prepare<{ projectId: number }, []>(
      "SELECT project_id AS projectId FROM fanout CROSS JOIN event ON event.id = event_id",
    ),
    uncount: sqlite.prepare<void, [number, number]>(
      "UPDATE event SET delivery_count = delivery_count - ? WHERE id = ?",
    ),
    unfinished: sqlite.prepare<FanoutRow, []>(
      `SELECT event_id AS eventId, project_id AS projectId, first_key AS firstKey, written, list_id AS listId
       FROM fanout JOIN event ON event.id = event_id ORDER BY event_id`,
    ),
  };
}
