import type { delivery } from "../log-schema.ts";
import type { event } from "../log-schema.ts";
import { limit } from "../../core/limits.ts";
import { bound } from "../bound.ts";
import type { Deliveries } from "../log/deliveries.ts";
import { attemptsOf, deliveriesOf } from "../log/children.ts";
import { type Index, LABELS } from "../index/index.ts";
import type { Fanouts } from "../log/fanouts.ts";
import { overwriting } from "../secure-delete.ts";
import type { Store } from "../store.ts";
import type { WaitingEvents } from "../log/waiting-events.ts";

/** A delivery that its actor may hold in memory. */
export interface HeldDelivery {
  id: number;
  endpointId: number;
}

export interface OpenDelivery extends HeldDelivery {
  attemptCount: number;
  /** Null where it waits for its account's plan. */
  due: number | null;
}

/** What a removal did. */
export interface Removed {
  /** Rows that are gone, and pages of bodies and heads: what it cost. */
  cost: number;
  deliveries: number;
}

export interface RemovalParts {
  index: Index;
  deliveries: Deliveries;
  fanouts: Fanouts;
  waitingEvents: WaitingEvents;
}

type EventRow = Pick<
  typeof event.$inferSelect,
  "id" | "project_id" | "type" | "consumer_id" | "source_id" | "delivery_count"
> & { bytes: number };

type DeliveryRow = Pick<typeof delivery.$inferSelect, "id" | "endpoint_id" | "project_id">;

const PAGE_BYTES = 4096;

/**
 * Takes events out of the database, with all that hangs on them. An event leaves in one transaction with its
 * deliveries, attempts, notes and list entries. One with more than a transaction should hold leaves the log
 * at once, as readers reach deliveries by way of their event only; what hangs on it follows in slices (table
 * `removal`), also over a restart.
 */
export class Removal {
  readonly #statements;

  constructor(
    private readonly store: Store,
    private readonly parts: RemovalParts,
  ) {
    this.#statements = prepare(store.sqlite);
  }

  /**
   * Inside a write: ends a slice of the event's open deliveries, of those behind `after` first, and the
   * fan-out that would make more. Answers those that their actors have to forget; none: it may be removed.
   */
  close(eventId: number, after = eventId): HeldDelivery[] {
    const event = this.#statements.event.get(eventId);
    if (event) this.parts.fanouts.callOff(event.project_id, eventId);
    const behind = this.openOf(eventId, after);
    // A replay may have opened one again that was passed already.
    const open = behind.length > 0 || after === eventId ? behind : this.openOf(eventId, eventId);
    for (const { id } of open) this.parts.deliveries.cancel(id);
    return open;
  }

  /** How many deliveries an event has: `close` may have to read them all to find those that are open. */
  widthOf(eventId: number): number {
    return this.#statements.event.get(eventId)?.delivery_count ?? 0;
  }

  /** Inside a write: an event of which nothing is open is gone. */
  remove(eventId: number): Removed {
    const event = this.#statements.event.get(eventId);
    if (!event) return { cost: 1, deliveries: 0 };
    this.#dropEntries(eventId, this.#listsOf(event));
    this.#statements.dropEvent.run(eventId);
    this.parts.waitingEvents.drop(event.project_id, eventId);
    const own = 1 + pagesOf(event.bytes);
    const room = limit("sliceRows");
    const rows = this.#statements.deliveriesOf.all(eventId, room);
    if (rows.length < room && this.#costOf(rows, room) + this.#countNotes(eventId, room + 1) <= room)
      return { cost: own + this.#dropHanging(eventId, rows, room), deliveries: rows.length };
    this.#statements.keep.run(eventId, event.project_id);
    return { cost: own, deliveries: event.delivery_count };
  }

  /** Open deliveries of an event with keys above this one, up to a slice, in the order of their keys. */
  openOf(eventId: number, after: number): OpenDelivery[] {
    return this.#statements.openOf.all(eventId, limit("sliceRows"), after);
  }

  /** Inside a write: what `run` deletes is overwritten with zeros, list entries too. */
  securely<T>(run: () => T): T {
    return overwriting(this.store.sqlite, () => {
      const done = run();
      this.parts.index.writeThrough();
      return done;
    });
  }

  /**
   * True where something still hangs on an event of the project that has left the log, or on one that left it
   * before projects were kept: those belong to project 0.
   */
  hasRest(projectId: number): boolean {
    return this.#statements.next.get(projectId) !== null;
  }

  /** The first project after this one of which something does; null where there is none. */
  nextWithRest(afterProject: number): number | null {
    return this.#statements.nextProject.get(afterProject)?.id ?? null;
  }

  /** Inside a write: a slice of what hangs on events of the project that have left the log. */
  removeRest(projectId: number): void {
    const next = this.#statements.next.get(projectId);
    if (!next) return;
    const room = limit("sliceRows");
    const rows = this.#statements.deliveriesOf.all(next.id, room);
    this.#dropHanging(next.id, rows, room);
    if (this.#statements.deliveriesOf.get(next.id, 1) || this.#countNotes(next.id, 1) > 0) return;
    this.#statements.forget.run(next.id);
  }

  /**
   * Inside a write: of events that stay, deliveries to an endpoint that is erased, as far as there is room.
   * Answers those that were open, and what it cost.
   */
  removeDeliveries(ids: readonly number[], room: number): { held: HeldDelivery[]; cost: number } {
    const held: HeldDelivery[] = [];
    let cost = 0;
    for (const id of ids) {
      if (cost >= room) break;
      const delivery = this.parts.deliveries.get(id);
      if (delivery === null) continue;
      if (this.parts.deliveries.cancel(id)) held.push({ id, endpointId: delivery.endpointId });
      cost += this.#statements.dropNotesOf.run(id, room - cost).changes;
      if (cost >= room) break;
      const { eventId, endpointId, projectId } = delivery;
      const spent = this.#dropDelivery({ id, endpoint_id: endpointId, project_id: projectId }, room - cost);
      cost += spent.cost;
      if (!spent.isWhole) continue;
      this.#statements.leaveEvent.run(eventId);
    }
    return { held, cost };
  }

  #listsOf(event: EventRow): (number | null)[] {
    const { project_id: projectId, type, consumer_id: consumerId, source_id: sourceId } = event;
    return [
      projectId,
      this.parts.index.labels.find(projectId, LABELS.type, type),
      consumerId === null ? null : this.parts.index.labels.find(projectId, LABELS.consumer, consumerId),
      sourceId,
    ];
  }

  /** Inside a write: a row stands in these lists no more. */
  #dropEntries(id: number, lists: readonly (number | null)[]): void {
    for (const list of lists) if (list !== null) this.parts.index.remove(list, id);
  }

  /** What it costs to remove these deliveries; no more is counted once that is above `most`. */
  #costOf(rows: readonly DeliveryRow[], most: number): number {
    let cost = 0;
    for (const { id } of rows) {
      if (cost > most) break;
      const { n = 0, bytes = 0 } = this.#statements.weight.get(id, most + 1) ?? {};
      cost += 1 + n + pagesOf(bytes);
    }
    return cost;
  }

  /** Of an event, up to `most`. */
  #countNotes(eventId: number, most: number): number {
    return this.#statements.countNotes.get(eventId, most)?.n ?? 0;
  }

  /**
   * Removes deliveries with their attempts, and after the last of them the event's notes, as far as there is
   * room, and at least one; answers what it cost.
   */
  #dropHanging(eventId: number, rows: readonly DeliveryRow[], room: number): number {
    let cost = 0;
    for (const row of rows) {
      if (cost >= room) return cost;
      cost += this.#dropDelivery(row, room - cost).cost;
    }
    return cost + this.#statements.dropNotes.run(eventId, Math.max(room - cost, 1)).changes;
  }

  /** With its attempts, as far as there is room. */
  #dropDelivery(row: DeliveryRow, room: number): { cost: number; isWhole: boolean } {
    const spent = this.#dropAttempts(row.id, room);
    if (!spent.isWhole) return spent;
    this.#dropEntries(row.id, [
      row.endpoint_id,
      this.parts.index.labels.find(row.project_id, LABELS.deliveries, ""),
    ]);
    this.#statements.dropDelivery.run(row.id);
    return { cost: spent.cost + 1, isWhole: true };
  }

  /** At least one, and more while there is room. */
  #dropAttempts(deliveryId: number, room: number): { cost: number; isWhole: boolean } {
    let cost = 0;
    for (const { id, bytes } of this.#statements.attemptsOf.all(deliveryId, room + 1)) {
      if (cost >= room) return { cost, isWhole: false };
      this.#statements.dropAttempt.run(id);
      cost += 1 + pagesOf(bytes);
    }
    return { cost, isWhole: true };
  }
}

/** Pages beside the row's own that are freed with it. */
export function pagesOf(bytes: number): number {
  return Math.floor(bytes / PAGE_BYTES);
}

/** SQL of what a row of `attempt` weighs by its bodies, and by heads that it holds itself. */
export const ATTEMPT_BYTES = `ifnull(octet_length(request_body), 0) + ifnull(octet_length(response_body), 0)
  + iif(typeof(request_head) = 'text', octet_length(request_head), 0)
  + iif(typeof(response_head) = 'text', octet_length(response_head), 0)`;

function prepare(sqlite: Store["sqlite"]) {
  const dropNotesBy = (owner: "event_id" | "delivery_id") =>
    sqlite.prepare<void, [number, number]>(
      `DELETE FROM note WHERE id IN (SELECT id FROM note WHERE ${owner} = ${bound(1)} LIMIT ${bound(2)})`,
    );
  return {
    event: sqlite.prepare<EventRow, [number]>(
      "SELECT id, project_id, type, consumer_id, source_id, delivery_count, octet_length(data) AS bytes FROM event WHERE id = ?",
    ),
    deliveriesOf: sqlite.prepare<DeliveryRow, [number, number]>(
      `${deliveriesOf(bound(1), "id, endpoint_id, project_id")} ORDER BY id LIMIT ${bound(2)}`,
    ),
    openOf: sqlite.prepare<OpenDelivery, [number, number, number]>(
      `${deliveriesOf(bound(1), "id, endpoint_id AS endpointId, attempt_count AS attemptCount, due", { above: bound(3), where: "status IN (0, 1)" })} ORDER BY id LIMIT ${bound(2)}`,
    ),
    weight: sqlite.prepare<{ n: number; bytes: number }, [number, number]>(
      `SELECT count(*) AS n, total(bytes) AS bytes FROM (${attemptsOf(bound(1), `${ATTEMPT_BYTES} AS bytes`)} LIMIT ${bound(2)})`,
    ),
    attemptsOf: sqlite.prepare<{ id: number; bytes: number }, [number, number]>(
      `${attemptsOf(bound(1), `id, ${ATTEMPT_BYTES} AS bytes`)} ORDER BY id LIMIT ${bound(2)}`,
    ),
    dropEvent: sqlite.prepare<void, [number]>("DELETE FROM event WHERE id = ?"),
    dropDelivery: sqlite.prepare<void, [number]>("DELETE FROM delivery WHERE id = ?"),
    dropAttempt: sqlite.prepare<void, [number]>("DELETE FROM attempt WHERE id = ?"),
    countNotes: sqlite.prepare<{ n: number }, [number, number]>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM note WHERE event_id = ${bound(1)} LIMIT ${bound(2)})`,
    ),
    dropNotes: dropNotesBy("event_id"),
    dropNotesOf: dropNotesBy("delivery_id"),
    leaveEvent: sqlite.prepare<void, [number]>(
      "UPDATE event SET delivery_count = delivery_count - 1 WHERE id = ?",
    ),
    keep: sqlite.prepare<void, [number, number]>(
      "INSERT OR IGNORE INTO removal (event_id, project_id) VALUES (?, ?)",
    ),
    next: sqlite.prepare<{ id: number }, [number]>(
      "SELECT event_id AS id FROM removal WHERE project_id IN (0, ?) ORDER BY project_id, event_id LIMIT 1",
    ),
    nextProject: sqlite.prepare<{ id: number }, [number]>(
      "SELECT project_id AS id FROM removal WHERE project_id > ? ORDER BY project_id LIMIT 1",
    ),
    forget: sqlite.prepare<void, [number]>("DELETE FROM removal WHERE event_id = ?"),
  };
}
