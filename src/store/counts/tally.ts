import { isOpen } from "../../core/delivery.ts";
import type { DeadReason, Delivery, DeliveryStatus } from "../../core/model.ts";
import type { BatchPart, Store } from "../store.ts";

/** How a delivery ended, as the metrics name it: its status, and of a dead one the reason. */
export type Ending = `${DeliveryStatus} ${DeadReason | "none"}`;

/** What an open delivery waits for: its attempt, or its account's plan; null where it is closed. */
export type Wait = "attempt" | "plan" | null;

/**
 * How many deliveries have an attempt before them, how many of each endpoint are open, and how many ended and
 * how: counted with each change, as looking would read a backlog of millions.
 */
export class Tally implements BatchPart {
  #waiting = 0;
  /** Of each endpoint that has any. */
  readonly #openOf = new Map<number, number>();
  /** Of the running transaction. */
  #added = 0;
  #opened: [endpointId: number, by: number][] = [];
  #ended: Ending[] = [];
  readonly #onEnded: ((ending: Ending) => void)[] = [];

  constructor(private readonly store: Store) {
    store.addBatchPart(this);
  }

  /** Deliveries that are due, now or later. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Deliveries of an endpoint that wait for an attempt or for their account's plan. */
  openOf(endpointId: number): number {
    return this.#openOf.get(endpointId) ?? 0;
  }

  /** Calls `listener` with every delivery that ended, after the commit. */
  onEnded(listener: (ending: Ending) => void): void {
    this.#onEnded.push(listener);
  }

  /** At start, once all that is due has a row. */
  recover(): void {
    // Over the indexes of what is parked, in memory, and waits for its plan.
    const rows = this.store.sqlite.query<{ endpointId: number; open: number; isDue: 0 | 1 }, []>(
      `SELECT endpoint_id AS endpointId, count(*) AS open, 1 AS isDue FROM delivery WHERE queue_order IS NOT NULL GROUP BY endpoint_id
       UNION ALL
       SELECT endpoint_id, count(*), 1 FROM delivery WHERE due IS NOT NULL AND queue_order IS NULL GROUP BY endpoint_id
       UNION ALL
       SELECT endpoint_id, count(*), 0 FROM delivery WHERE due IS NULL AND status IN (0, 1) GROUP BY endpoint_id`,
    );
    this.#waiting = 0;
    this.#openOf.clear();
    for (const { endpointId, open, isDue } of rows.all()) {
      this.#waiting += isDue * open;
      this.#open(endpointId, open);
    }
  }

  /** Inside a write: what a delivery of the endpoint waited for, and waits for now. */
  move(endpointId: number, before: Wait, after: Wait): void {
    this.#added += Number(after === "attempt") - Number(before === "attempt");
    const by = Number(after !== null) - Number(before !== null);
    if (by !== 0) this.#opened.push([endpointId, by]);
  }

  #open(endpointId: number, by: number): void {
    const open = this.openOf(endpointId) + by;
    if (open > 0) this.#openOf.set(endpointId, open);
    else this.#openOf.delete(endpointId);
  }

  /** Inside a write. */
  end(ending: Ending): void {
    this.#ended.push(ending);
  }

  flush(): void {}

  done(): void {
    this.#waiting += this.#added;
    for (const [endpointId, by] of this.#opened) this.#open(endpointId, by);
    for (const ending of this.#ended) for (const listener of this.#onEnded) listener(ending);
    this.reset();
  }

  reset(): void {
    this.#added = 0;
    if (this.#opened.length > 0) this.#opened = [];
    if (this.#ended.length > 0) this.#ended = [];
  }
}

/** The label of an ending; each is one of few. */
export function endingOf(status: DeliveryStatus, reason: DeadReason | null): Ending {
  return `${status} ${reason ?? "none"}`;
}

export function waitOf(delivery: Pick<Delivery, "status" | "due">): Wait {
  if (!isOpen(delivery)) return null;
  return delivery.due === null ? "plan" : "attempt";
}
