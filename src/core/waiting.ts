import type { Delivery, Endpoint } from "./model.ts";

/** What is handed from those who write deliveries to those who send them. */

/**
 * A delivery that waits, as its row says it: on its way to its actor, in its actor's queue, or parked in
 * the database.
 */
export interface Waiting {
  readonly id: number;
  readonly endpointId: number;
  readonly due: number;
  /**
   * Null: its actor holds it in memory. Else its place in the database: `due` where it is parked, also under
   * fifo, which reads the parked ones by id; a position where it is polled.
   */
  readonly queueOrder: number | null;
  /** To send it, while at hand from accepting the event. `pop` and `drop` of queue.ts set it to null. */
  load: Load | null;
}

export type Ordering = Endpoint["ordering"];

/**
 * Where a delivery stands in the queue of its endpoint, in memory and among what is parked: the smallest is
 * the first.
 */
export function orderOf({ id, due }: Pick<Waiting, "id" | "due">, ordering: Ordering): number {
  return ordering === "fifo" ? id : due;
}

/** A delivery with what its message is made of. */
export interface Load {
  delivery: Delivery;
  type: string;
  /** Deliveries that led to its event. */
  hops: number;
  /** What its event keeps of the trace that it belongs to. */
  trace: string | null;
  /** Of one attempt: its own place in that trace, where it is given one. */
  traceparent?: string;
  /** The plain envelope: what is signed and sent unless transformations reshape it. */
  body: Uint8Array;
  /** A test whose type was chosen, in this turn, by who may store credentials. Left out: false. */
  isTypeChosen?: boolean;
}
