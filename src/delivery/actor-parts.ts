import type { DeliveryChange, Finding } from "../core/delivery.ts";
import type { Load, Waiting } from "../core/waiting.ts";
import type { Delivery, DisabledReason, Endpoint, Health, Trigger } from "../core/model.ts";
import type { SteadyClock } from "../platform/clock.ts";
import type { QueueTotals } from "./queue.ts";

/** What an actor says of an attempt, and what it needs of others. */

/** An attempt and all that follows from it, to be written in one transaction. */
export interface Settlement<F extends Finding> {
  endpoint: Endpoint;
  load: Load;
  trigger: Trigger;
  sent: F;
  change: DeliveryChange | null;
  /** Null where it waits in memory. */
  queueOrder: number | null;
  health: Health;
  healthChanged: boolean;
  disable: DisabledReason | null;
}

/**
 * Why there is no attempt at once. `busy`: one of the delivery is under way. `closed`: its endpoint is
 * disabled or deleted, or its message is gone. `full`: its endpoint has its share of all that may be in
 * flight, or of those that are made by hand. `stopping`: nothing starts any more.
 */
export type AttemptRefusal = "busy" | "closed" | "full" | "stopping";

/** Whether what can go goes now, or in a later turn of the loop: this one has no time left. */
export type Starts = "now" | "later";

/** Keys of deliveries that an actor has in memory. */
export interface InMemory {
  /** They wait, so they are open. */
  readonly held: number[];
  /** In flight, or with an outcome on its way to the disk: perhaps cancelled or erased meanwhile. */
  readonly busy: number[];
}

/**
 * What became of an attempt's outcome. `overtaken`: the delivery was reopened, cancelled or erased while the
 * attempt ran, and its row says what holds. `not_recorded`: no transaction succeeded, and the row stays as it
 * was. A delivery that failed is tried again at its time all the same; one that arrived is sent again after
 * the next start.
 */
export type Recorded = "applied" | "overtaken" | "not_recorded";

/** The rows of deliveries, as an actor asks for them and ends them. */
export interface DeliveryRows {
  load(deliveryId: number): Load | null;
  /** The first ones of an endpoint that are parked, in its order. */
  parked(endpoint: Pick<Endpoint, "id" | "ordering">, count: number): Waiting[];
  /** Where the first of them stands: `orderOf` of it. */
  firstParked(endpoint: Pick<Endpoint, "id" | "ordering">): number | null;
  /**
   * Ends open deliveries of disabled (dead) and deleted (cancelled) endpoints, a slice that `take` gives once
   * it is its turn; answers those whose endpoint is neither, and null where it gave none.
   */
  dispose(of: Pick<Endpoint, "projectId">, take: () => readonly number[]): Promise<readonly number[] | null>;
}

/** The slots that all endpoints share (slots.ts). */
export interface SharedSlots<F extends Finding> {
  /** Until `giveBack`: once the outcome is on disk, or will never be. */
  take(endpoint: Endpoint, load: Load): void;
  /** The slot may be free later, as `sent` says; the body's bytes are at once. */
  giveBack(endpoint: Endpoint, load: Load, sent: F | null): void;
  /**
   * False where all endpoints together have too many attempts in flight for one more of this endpoint, which
   * has `own`.
   */
  isFree(endpoint: Endpoint, own: number): boolean;
  /** The same answer; where it is false, the actor is woken once a slot is free. */
  ask(endpoint: Endpoint, own: number): boolean;
}

/** `#partsOfPushed` of src/delivery/actors.ts fills it, once for all actors. */
export interface ActorParts<F extends Finding> {
  /** What is due, and what waits, is told by it. */
  clock: SteadyClock;
  /** As `clock.timer`: of those that are due at one instant, the accounts take turns (waking.ts). */
  timer(endpoint: Pick<Endpoint, "projectId">, at: number, wake: () => void): () => void;
  random(): number;
  /** What the queues of all actors hold. */
  totals: QueueTotals;
  rows: DeliveryRows;
  slots: SharedSlots<F>;
  /**
   * `Meter`: the first attempt of a delivery is metered whatever becomes of the delivery meanwhile, until
   * `endFirst`: the outcome is on disk, or there is none.
   */
  meter: { beginFirst(delivery: Delivery): void; endFirst(deliveryId: number): void };
  /**
   * `send` of send.ts, by way of `Actors.#send`, which refuses a stray test, and src/app.ts. Never rejects;
   * null where the process stops or is short of files: the attempt was given up, and costs none.
   */
  send(endpoint: Endpoint, load: Load): Promise<F | null>;
  /** Resolves once the attempt is on disk, or never will be. Rejects only where a listener throws. */
  record(settlement: Settlement<F>): Promise<Recorded>;
  /** True where what can be divided should go on in a later turn of the loop. */
  isTurnOver(): boolean;
  /** False while the disk takes nothing: an outcome that cannot be recorded must not come about. */
  canRecord(): boolean;
  /** True where the account is suspended: nothing of it is sent, whatever its endpoints say. */
  isSuspended(projectId: number): boolean;
  /** Whether an endpoint has failed for too long, by its health after an attempt. */
  hasFailedTooLong(endpoint: Endpoint, health: Health): boolean;
  /** Goes on without anybody who waits; a failure is told. */
  unattended(work: string, running: Promise<unknown>): void;
}
