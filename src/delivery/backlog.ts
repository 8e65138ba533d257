import type { Endpoint } from "../core/model.ts";
import { limit } from "../core/limits.ts";
import { orderOf, type Waiting } from "../core/waiting.ts";
import type { Finding } from "../core/delivery.ts";
import type { ActorParts } from "./actor-parts.ts";
import type { Flights } from "./flights.ts";
import { Queue } from "./queue.ts";

const NEVER = Number.POSITIVE_INFINITY;

/** What the backlog needs of its actor's parts. */
export type BacklogParts = Pick<
  ActorParts<Finding>,
  "totals" | "load" | "parked" | "firstParked" | "isRoomy"
>;

/**
 * The deliveries that wait for one endpoint. The first of them stand in memory, in a queue with a bound; all
 * others are parked: they wait in the database, in the same order, and are fetched as the queue drains.
 *
 * A delivery that is busy is in neither: its row changes with the outcome of its attempt, and is read then.
 */
export class Backlog {
  readonly #queue: Queue;
  /** Where the first parked delivery stands in the order of the queue; `NEVER` where none is parked. */
  #parkedFrom: number;

  constructor(
    private endpoint: Pick<Endpoint, "id" | "ordering">,
    private readonly flights: Flights,
    private readonly parts: BacklogParts,
  ) {
    this.#queue = new Queue(endpoint.ordering, parts.totals);
    this.#parkedFrom = this.#readParkedFrom();
  }

  /** Deliveries in memory. */
  get size(): number {
    return this.#queue.size;
  }

  get isEmpty(): boolean {
    return this.#queue.size === 0 && this.#parkedFrom === NEVER;
  }

  /** False where one more has to be parked. */
  get hasRoom(): boolean {
    return this.#queue.size < (this.parts.isRoomy() ? limit("actorQueueMax") : limit("actorQueueHead"));
  }

  /** The first delivery in memory. */
  get head(): Waiting | undefined {
    return this.#queue.peek();
  }

  /** Ids of the first `count` in memory. */
  ids(count = this.#queue.size): number[] {
    return this.#queue.ids(count);
  }

  /** The endpoint as it is now; a change of its order sorts everything anew. */
  follow(endpoint: Pick<Endpoint, "id" | "ordering">): void {
    const reordered = endpoint.ordering !== this.endpoint.ordering;
    this.endpoint = endpoint;
    if (!reordered) return;
    this.#queue.sortBy(endpoint.ordering);
    this.takeBackBusy();
    this.#parkedFrom = this.#readParkedFrom();
  }

  /** Busy deliveries that left the queue come back: where order is kept, they hold those after them. */
  takeBackBusy(): void {
    for (const id of this.flights.deferred()) this.reload(id);
  }

  /** Takes in a delivery that is on disk. */
  add(waiting: Waiting): void {
    if (this.#leaveOut(waiting.id)) return;
    if (waiting.queueOrder === null) return this.#queue.push(waiting);
    // What the queue holds already was reopened; or it was fetched and tried between the commit and this word
    // of it.
    if (this.#queue.has(waiting.id)) this.reload(waiting.id);
    this.park(waiting.queueOrder);
  }

  /** Takes in a delivery by its row: the message is read when its turn comes. */
  addRow(id: number, due: number): void {
    this.#queue.push({ id, endpointId: this.endpoint.id, due, queueOrder: null, load: null });
  }

  /** A delivery waits from now on by its row, until then; with null it does not wait here. */
  replace(id: number, due: number | null): void {
    this.#queue.drop(id);
    if (due !== null) this.addRow(id, due);
  }

  /** A delivery is parked with this order. */
  park(queueOrder: number): void {
    this.#parkedFrom = Math.min(this.#parkedFrom, queueOrder);
  }

  drop(id: number): void {
    this.#queue.drop(id);
  }

  /** What the queue kept from accepting the event is out of date. */
  forgetLoad(id: number): void {
    this.#queue.forgetLoad(id);
  }

  /** The row knows better than the queue: the delivery was reopened, cancelled, or tried by hand. */
  reload(id: number): void {
    // While it is busy its row is out of date: that is read once more when its attempt is recorded.
    this.flights.defer(id);
    this.replace(id, this.parts.load(id)?.delivery.due ?? null);
  }

  /**
   * Takes out the first delivery whose time has come. Where order is kept, a head that is not due holds those
   * after it.
   */
  takeDue(now: number): Pick<Waiting, "id" | "load"> | null {
    this.#refill(this.#findFreeHead(), now);
    const head = this.#findFreeHead();
    if (!head || head.due > now || this.flights.has(head.id)) return null;
    return this.#queue.pop() ?? null;
  }

  /**
   * Leaves out the busy ones at the head, and answers the instant from which `takeDue` may find something;
   * `NEVER` where only an ending can help.
   */
  findNextDue(): number {
    const head = this.#findFreeHead();
    const mayGo = head !== undefined && !this.flights.has(head.id);
    return Math.min(mayGo ? head.due : NEVER, this.#parkedDue(head));
  }

  /**
   * Leaves out a busy delivery, whose row is read once its attempt is recorded; false where it is not busy,
   * or its endpoint keeps order: there it stands in the queue all the same, and holds all after it.
   */
  #leaveOut(id: number): boolean {
    return this.flights.defer(id) && this.endpoint.ordering === "none";
  }

  /** Leaves out the busy ones at the head; answers the first delivery in memory that stays. */
  #findFreeHead(): Waiting | undefined {
    for (;;) {
      const head = this.#queue.peek();
      if (!head || !this.#leaveOut(head.id)) return head;
      this.#queue.drop(head.id);
    }
  }

  /**
   * The next deliveries to be ended, of an endpoint that is disabled or deleted; those in memory leave it.
   * Without `busyToo`, those that are busy are decided by the outcome of their attempt, and looked at again
   * after it: none is taken while only such are left.
   */
  takeForDisposal(busyToo: boolean): number[] {
    const withoutBusy = (ids: number[]) => (busyToo ? ids : ids.filter((id) => !this.flights.defer(id)));
    for (let dropped = this.#dropSome(); dropped.length > 0; dropped = this.#dropSome()) {
      const free = withoutBusy(dropped);
      if (free.length > 0) return free;
    }
    if (this.#parkedFrom === NEVER) return [];
    const parked = this.parts.parked(this.endpoint.id, limit("sliceRows") + this.flights.size);
    if (parked.length === 0) this.#parkedFrom = NEVER;
    return withoutBusy(parked.map((row) => row.id));
  }

  #dropSome(): number[] {
    const ids = this.#queue.ids(limit("sliceRows"));
    for (const id of ids) this.#queue.drop(id);
    return ids;
  }

  /** Fetches parked deliveries when the first of them stands before all that the queue holds. */
  #refill(head: Waiting | undefined, now: number): void {
    if (this.#parkedFrom === NEVER || (head && orderOf(head, this.endpoint.ordering) <= this.#parkedFrom))
      return;
    if (this.endpoint.ordering === "none" && this.#parkedFrom > now) return;
    const count = this.#queue.size + this.flights.size + limit("actorRefillMax");
    const rows = this.parts.parked(this.endpoint.id, count);
    for (const { id, due } of rows) if (!this.#queue.has(id) && !this.#leaveOut(id)) this.addRow(id, due);
    this.#parkedFrom = rows.length < count ? NEVER : (rows.at(-1)?.queueOrder ?? NEVER);
  }

  /**
   * When parked deliveries want to be looked at: those of an ordered endpoint, which stand before its head,
   * at once.
   */
  #parkedDue(head: Waiting | undefined): number {
    if (this.endpoint.ordering === "none") return this.#parkedFrom;
    return this.#parkedFrom < (head ? orderOf(head, this.endpoint.ordering) : NEVER) ? 0 : NEVER;
  }

  #readParkedFrom(): number {
    return this.parts.firstParked(this.endpoint.id) ?? NEVER;
  }
}
