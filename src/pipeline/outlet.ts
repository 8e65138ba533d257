import type { Dispatch } from "../core/dispatch.ts";
import { isPolled } from "../destinations/destinations.ts";
import type { Endpoint } from "../core/model.ts";
import type { SteadyClock } from "../platform/clock.ts";
import type { Data } from "../store/data.ts";

/** What the pipeline needs of those who send. Nothing of it but the clock is asked inside a write. */
export interface Outlet {
  /** What is due is told by this clock. */
  clock: SteadyClock;
  /**
   * Keys of those endpoints whose next deliveries have to be parked: their queues are full. Asked before the
   * write.
   */
  full(endpoints: readonly Pick<Endpoint, "id">[]): ReadonlySet<number>;
  dispatcher: {
    /** Takes deliveries after their commit. */
    dispatch(dispatches: readonly Dispatch[]): void;
    /** How many wait for later turns. */
    readonly waiting: number;
    /** Resolves when none wait any more. */
    readonly isEmpty: Promise<void>;
  };
}

/**
 * Inside a write: where a delivery stands in the queue that the database keeps; null where its actor holds it
 * in memory. `full` are the endpoints that Outlet.full named before the write.
 */
export function placeFor(
  data: Pick<Data, "store" | "endpoints">,
  { id: endpointId, kind }: Endpoint,
  { id, due }: { id: number; due: number },
  full: ReadonlySet<number>,
): number | null {
  // A key of this moment, so that it stands behind all that was handed out before.
  if (isPolled(kind)) return data.store.takeKey();
  if (!full.has(endpointId)) return null;
  // A write of this very transaction may have changed the order in which the endpoint gets things.
  return data.endpoints.current(endpointId)?.ordering === "fifo" ? id : due;
}
