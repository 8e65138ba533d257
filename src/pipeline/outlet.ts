import type { Endpoint } from "../core/model.ts";
import type { Waiting } from "../core/waiting.ts";
import type { SteadyClock } from "../platform/clock.ts";

/**
 * What the pipeline needs of those who send: `Actors` of src/delivery/actors.ts is it, and src/app.ts hands
 * it over. Nothing of it but the clock is asked inside a write.
 */
export interface Outlet {
  /** What is due is told by this clock. */
  clock: SteadyClock;
  /**
   * Keys of those endpoints whose next deliveries have to be parked: their queues are full. Asked before
   * the write.
   */
  endpointsToPark(endpoints: readonly Pick<Endpoint, "id">[]): ReadonlySet<number>;
  dispatcher: {
    /** Takes deliveries that are on disk. */
    dispatch(synced: readonly Waiting[]): void;
    /** How many wait for later turns. */
    readonly waiting: number;
    /** The same of one project. */
    waitingOfProject(projectId: number): number;
    /** Resolves once some of those have gone; at once where none wait. */
    untilNextTurn(): Promise<void>;
  };
}

/** Events on disk that the replica has not confirmed: `Unconfirmed` of src/delivery is it. */
export interface Held {
  /** Inside a write: they are not fetched from the database until they are let go. */
  hold(events: readonly number[], written: readonly Waiting[]): void;
  letGo(events: readonly number[], written: readonly Waiting[]): void;
}
