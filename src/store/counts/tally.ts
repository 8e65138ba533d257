import type { DeadReason, DeliveryStatus } from "../../core/model.ts";
import type { BatchPart, Store } from "../store.ts";

/** How a delivery ended, as the metrics name it: its status, and of a dead one the reason. */
export type Ending = `${DeliveryStatus} ${DeadReason | "none"}`;

/**
 * How many deliveries have an attempt before them, and how many ended and how: counted with each change, as
 * looking would read a backlog of millions. Those that wait for their account's plan are no backlog (`due`
 * is null).
 */
export class Tally implements BatchPart {
  #waiting = 0;
  /** Of the running transaction. */
  #added = 0;
  #ended: Ending[] = [];
  readonly #onEnded: ((ending: Ending) => void)[] = [];

  constructor(private readonly store: Store) {
    store.addBatchPart(this);
  }

  /** Deliveries that are due, now or later. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Calls `listener` with every delivery that ended, after the commit. */
  onEnded(listener: (ending: Ending) => void): void {
    this.#onEnded.push(listener);
  }

  /** At start, once all that is due has a row. */
  recover(): void {
    const row = this.store.sqlite
      .query<{ waiting: number }, []>(
        `SELECT (SELECT count(*) FROM delivery WHERE queue_order IS NOT NULL)
           + (SELECT count(*) FROM delivery WHERE due IS NOT NULL AND queue_order IS NULL) AS waiting`,
      )
      .get();
    this.#waiting = row?.waiting ?? 0;
  }

  /** Inside a write: a delivery was due or not, and now is or is not. */
  move(wasDue: boolean, isDue: boolean): void {
    this.#added += Number(isDue) - Number(wasDue);
  }

  /** Inside a write. */
  end(ending: Ending): void {
    this.#ended.push(ending);
  }

  flush(): void {}

  done(): void {
    this.#waiting += this.#added;
    for (const ending of this.#ended) for (const listener of this.#onEnded) listener(ending);
    this.reset();
  }

  reset(): void {
    this.#added = 0;
    if (this.#ended.length > 0) this.#ended = [];
  }
}

/** The label of an ending; each is one of few. */
export function endingOf(status: DeliveryStatus, reason: DeadReason | null): Ending {
  return `${status} ${reason ?? "none"}`;
}
