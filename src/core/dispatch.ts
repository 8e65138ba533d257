import type { Delivery, Endpoint } from "./model.ts";

/** What is handed from those who write deliveries to those who send them. */

/** A delivery that waits, as its row says it. */
export interface Waiting {
  id: number;
  due: number;
  /** Its place in the queue of its endpoint; null where the actor holds it in memory. */
  queueOrder: number | null;
}

/** A delivery with what its message is made of. */
export interface Load {
  delivery: Delivery;
  type: string;
  /** Deliveries that led to its event. */
  hops: number;
  /** The plain envelope: what is signed and sent unless transformations reshape it. */
  body: Uint8Array;
}

/** A delivery that is on disk and goes to its actor; `load` where its message is at hand. */
export interface Dispatch {
  endpoint: Endpoint;
  waiting: Waiting;
  load: Load | null;
}
