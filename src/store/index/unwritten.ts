import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { ORIGINS } from "../../core/model.ts";
import { type DeliveryRow, type NewDelivery, STATUS } from "../delivery-row.ts";
import type { BatchPart, Store } from "../store.ts";

/**
 * Deliveries that came with their event, are in their actors' hands, and of which there is nothing more to
 * tell: the event's row names their endpoints (`goes_to`, the n-th with the n-th key behind the event's), so
 * they have no row of their own yet. Most get it with the outcome of their first attempt, one write in place
 * of two; whatever else happens to one writes its row first, and so does the digest before its mark passes
 * it. Until then they are read from here; after a crash, from the events above the mark, which name those
 * beside them too that had a row at once: parked, dead, or waiting for the plan.
 */
export class Unwritten implements BatchPart {
  readonly #held = new Map<number, NewDelivery>();
  /** Of the running transaction. */
  #added: number[] = [];
  #taken: NewDelivery[] = [];
  readonly #insert;
  readonly #insertMissing;
  readonly #eventsAbove;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    const insert = `INSERT INTO delivery (id, event_id, endpoint_id, project_id, status, origin, due) VALUES (?, ?, ?, ?, ${STATUS.pending}, ?, ?)`;
    this.#insert = sqlite.prepare<void, (number | null)[]>(insert);
    this.#insertMissing = sqlite.prepare<void, (number | null)[]>(`${insert} ON CONFLICT (id) DO NOTHING`);
    this.#eventsAbove = sqlite.prepare<
      { id: number; project_id: number; is_test: number; goes_to: string },
      [number]
    >("SELECT id, project_id, is_test, goes_to FROM event WHERE id > ? AND goes_to IS NOT NULL");
    store.addBatchPart(this);
  }

  get size(): number {
    return this.#held.size;
  }

  /** Inside the write of its event, whose row names its endpoint. */
  hold(delivery: NewDelivery): void {
    this.#held.set(delivery.id, delivery);
    this.#added.push(delivery.id);
  }

  get(id: number): NewDelivery | undefined {
    return this.#held.get(id);
  }

  /** Those with these keys. */
  among(ids: readonly number[]): NewDelivery[] {
    return this.#held.size === 0 ? [] : ids.flatMap((id) => this.#held.get(id) ?? []);
  }

  /** Those of an event, oldest first. More than `eventRowsMax` do not come with one (pipeline.ts). */
  ofEvent(eventId: number): NewDelivery[] {
    const found: NewDelivery[] = [];
    if (this.#held.size === 0) return found;
    for (let id = eventId + 1; id <= eventId + limit("eventRowsMax"); id++) {
      const delivery = this.#held.get(id);
      if (delivery?.eventId === eventId) found.push(delivery);
    }
    return found;
  }

  /** Inside a write: whoever takes it writes its row. Undefined where it has one. */
  take(id: number): NewDelivery | undefined {
    const delivery = this.#held.get(id);
    if (delivery === undefined) return undefined;
    this.#held.delete(id);
    this.#taken.push(delivery);
    return delivery;
  }

  /** Inside a write: from now on it has a row. */
  write(id: number): void {
    const delivery = this.take(id);
    if (delivery) this.#insert.run(...columnsOf(delivery));
  }

  /** Inside a write: the same of all that an event has. */
  writeOf(eventId: number): void {
    for (const { id } of this.ofEvent(eventId)) this.write(id);
  }

  /** Inside a write: rows for those up to the key `last`, at most `most`. True where that were all. */
  writeUpTo(last: number, most: number): boolean {
    let left = most;
    // All are looked at: after a rollback they stand in no order.
    for (const id of this.#held.keys()) {
      if (id > last) continue;
      if (left-- === 0) return false;
      this.write(id);
    }
    return true;
  }

  /** Inside a write, at start: rows for all that events above the digest's mark name, and that have none. */
  recover(mark: number): void {
    for (const event of this.#eventsAbove.all(mark)) {
      const origin = event.is_test === 1 ? "test" : "publish";
      const due = Math.min(keyTime(event.id), this.store.now());
      (JSON.parse(event.goes_to) as number[]).forEach((endpointId, at) => {
        const id = event.id + 1 + at;
        const projectId = event.project_id;
        this.#insertMissing.run(...columnsOf({ id, eventId: event.id, endpointId, projectId, origin, due }));
      });
    }
  }

  flush(): void {}

  done(): void {
    if (this.#added.length > 0) this.#added = [];
    if (this.#taken.length > 0) this.#taken = [];
  }

  reset(): void {
    for (const delivery of this.#taken) this.#held.set(delivery.id, delivery);
    for (const id of this.#added) this.#held.delete(id);
    this.done();
  }
}

type Named = Pick<NewDelivery, "id" | "eventId" | "endpointId" | "projectId" | "origin" | "due">;

function columnsOf({ id, eventId, endpointId, projectId, origin, due }: Named): (number | null)[] {
  return [id, eventId, endpointId, projectId, ORIGINS.indexOf(origin), due];
}

/** The row that it would have. */
export function unwrittenRow({ id, eventId, endpointId, projectId, origin, due }: Named): DeliveryRow {
  return {
    id,
    event_id: eventId,
    endpoint_id: endpointId,
    project_id: projectId,
    status: STATUS.pending,
    attempt_count: 0,
    step: 0,
    origin: ORIGINS.indexOf(origin),
    metered: 0,
    generation: 0,
    due,
    queue_order: null,
    dead_reason: null,
    completed_at: null,
  };
}
