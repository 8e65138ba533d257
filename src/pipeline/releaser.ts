import type { Clock } from "../platform/clock.ts";
import { limit } from "../core/limits.ts";
import { type Account, type Endpoint, isClosed } from "../core/model.ts";
import { monthAt } from "../core/plans.ts";
import type { Waiting } from "../core/waiting.ts";
import { dispose } from "../store/log/disposal.ts";
import { queueOrderFor } from "./new-delivery.ts";
import type { Outlet } from "./outlet.ts";
import type { Data } from "../store/data.ts";

/**
 * How often places are looked for that others gave back: a delivery was cancelled, or could not be sent
 * at all.
 */
const LOOK_MS = 60_000;

/**
 * Lets deliveries go that wait for their account's plan, oldest first, when there is room again: the month
 * turns, the plan changes, or others gave their places back. Each slice is one transaction, so that a crash
 * repeats nothing and forgets nothing.
 */
export class Releaser {
  /** Accounts that a walk is under way for. */
  readonly #walking = new Set<number>();
  #isStarted = false;
  #callOff: () => void = () => {};

  constructor(
    private readonly data: Pick<
      Data,
      "store" | "tenants" | "endpoints" | "health" | "deliveries" | "notes" | "meter" | "waitingEvents"
    >,
    private readonly outlet: Outlet,
    private readonly wall: Pick<Clock, "now" | "delay">,
  ) {
    data.tenants.onAccountChange((account) => this.#go(account));
    data.endpoints.onChange((endpoint) => data.store.unattended("end of what waits", this.#endAll(endpoint)));
    data.store.onWritable(() => this.#releaseAllUnattended());
  }

  /** Ends what a crash has left waiting at endpoints that were ended. */
  recover(): void {
    for (const id of this.data.deliveries.endpointsAwaiting()) {
      const endpoint = this.data.endpoints.getAnyway(id);
      if (endpoint) this.data.store.unattended("end of what waits", this.#endAll(endpoint));
    }
  }

  /** Releases what can go, now and from time to time, and the moment the month turns. */
  start(): void {
    this.#isStarted = true;
    this.#releaseAllUnattended();
    const now = this.wall.now();
    // For a time and not until an instant: the clock may be set back meanwhile.
    this.#callOff = this.wall.delay(Math.min(LOOK_MS, monthAt(now).end - now), () => this.start());
  }

  stop(): void {
    this.#callOff();
  }

  #releaseAllUnattended(): void {
    this.data.store.unattended("release", this.#releaseAll());
  }

  /** There may be very many accounts: the walk over them has its share of each turn. */
  async #releaseAll(): Promise<void> {
    const { turns } = this.data.store;
    for (const account of this.data.tenants.accounts()) {
      if (turns.isOver) await turns.next();
      this.#go(account);
    }
  }

  #go(account: Account): void {
    // Before, the queues do not know what the process before left open, and later events would overtake it.
    if (!this.#isStarted) return;
    this.data.store.unattended("release", this.#release(account));
  }

  async #release({ id }: Account): Promise<void> {
    if (this.#walking.has(id)) return;
    this.#walking.add(id);
    try {
      while (this.data.store.writable && this.#mayRelease(id)) {
        const toPark = this.outlet.endpointsToPark(this.#endpointsOf(id));
        const { released, opened } = await this.data.store.write(() => this.#writeSlice(id, toPark), true);
        for (const endpoint of opened) this.data.endpoints.announce(endpoint);
        this.outlet.dispatcher.dispatch(released);
      }
    } finally {
      this.#walking.delete(id);
    }
  }

  #mayRelease(accountId: number): boolean {
    const account = this.data.tenants.account(accountId);
    if (!account || this.data.meter.waitingEventsOf(accountId) === 0) return false;
    return this.data.meter.placesFree(account) > 0;
  }

  /** The endpoints of what the next slice releases. */
  #endpointsOf(accountId: number): { id: number }[] {
    const found = new Set<number>();
    let room = limit("sliceRows");
    for (const eventId of this.data.waitingEvents.above(accountId, 0, room)) {
      if (room === 0) break;
      const waiting = this.data.deliveries.awaitingOf(eventId, room);
      room -= waiting.length;
      for (const { endpointId } of waiting) found.add(endpointId);
    }
    return [...found].map((id) => ({ id }));
  }

  #writeSlice(accountId: number, toPark: ReadonlySet<number>): { released: Waiting[]; opened: Endpoint[] } {
    const released: Waiting[] = [];
    const { deliveries, waitingEvents } = this.data;
    let room = limit("sliceRows");
    for (const eventId of waitingEvents.above(accountId, 0, room)) {
      if (!this.#mayRelease(accountId) || room === 0) break;
      const waiting = deliveries.awaitingOf(eventId, room);
      room -= waiting.length;
      for (const { id, endpointId } of waiting) released.push(...this.#writeOne(id, endpointId, toPark));
      if (deliveries.awaitingOf(eventId, 1).length === 0) waitingEvents.delete(accountId, eventId);
    }
    const endpointIds = new Set(released.map(({ endpointId }) => endpointId));
    return { released, opened: [...endpointIds].flatMap((id) => this.#letGo(id) ?? []) };
  }

  /** Inside the write, at most once a minute: the days in which an endpoint that fails got nothing end. */
  #letGo(endpointId: number): Endpoint | null {
    const { endpoints, health } = this.data;
    if (health.get(endpointId).failingSince === null) return null;
    const now = this.outlet.clock.now();
    const isAgo = now - (endpoints.current(endpointId)?.openedAt ?? now) >= LOOK_MS;
    return isAgo ? endpoints.letGo(endpointId, now) : null;
  }

  #writeOne(id: number, endpointId: number, toPark: ReadonlySet<number>): Waiting[] {
    const endpoint = this.data.endpoints.getAnyway(endpointId);
    if (!endpoint) return [];
    const due = this.outlet.clock.now();
    const queueOrder = queueOrderFor(this.data, endpoint, due, toPark);
    this.data.deliveries.release(id, due, queueOrder);
    return [{ id, endpointId, due, queueOrder, load: null }];
  }

  /** Ends what waits for the plan at an endpoint that is disabled or deleted, as its queue is ended. */
  async #endAll(endpoint: Endpoint): Promise<void> {
    if (!isClosed(endpoint)) return;
    for (;;) {
      const take = () => this.data.deliveries.awaitingAt(endpoint.id, limit("sliceRows"));
      const left = await dispose(this.data, endpoint, take);
      // What is left is still to be sent: the endpoint was enabled meanwhile.
      if (left === null || left.length > 0) return;
    }
  }
}
