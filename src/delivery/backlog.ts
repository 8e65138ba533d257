import type { Endpoint } from "../core/model.ts";
import { limit } from "../core/limits.ts";
import { orderOf, type Waiting } from "../core/waiting.ts";
import type { Finding } from "../core/delivery.ts";
import type { ActorParts, DeliveryRows, Recorded, Settlement } from "./actor-parts.ts";
import type { Flight, Flights } from "./flights.ts";
import { Queue } from "./queue.ts";

const NEVER = Number.POSITIVE_INFINITY;

/** What the backlog needs of its actor's parts. */
export interface BacklogParts extends Pick<ActorParts<Finding>, "totals"> {
  rows: Omit<DeliveryRows, "dispose">;
}

type Outcome = Pick<Settlement<Finding>, "change" | "queueOrder">;

/**
 * The deliveries that wait for one endpoint. The first of them stand in memory, in a queue with a bound; all
 * others are parked: they wait in the database, and are fetched in the same order as the queue drains.
 *
 * A delivery that is busy comes back with the outcome of its attempt (`putBack`). Until then it is in
 * neither, unless order is kept: there it may stand in the queue, and holds those after it.
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
    return this.size < this.#sizeMax;
  }

  /**
   * Less the more all queues hold together, which come to twice `queuedTotalMax` at most, and one for each
   * endpoint.
   */
  get #sizeMax(): number {
    const fullness = this.parts.totals.deliveries / limit("queuedTotalMax");
    if (fullness < 1) return limit("actorQueueMax");
    return Math.max(1, Math.floor(limit("actorQueueHead") * (2 - fullness)));
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
    for (const id of this.flights.ids()) this.reload(id);
    this.#parkedFrom = this.#readParkedFrom();
  }

  /** Takes in a delivery that is on disk. */
  add(waiting: Waiting): void {
    const { id, due, queueOrder } = waiting;
    if (this.flights.has(id)) return this.reload(id);
    if (queueOrder === null) return this.#queue.push(waiting);
    // It stands in the queue where it was reopened, or where a refill fetched it before this call.
    if (this.#queue.has(id)) this.reload(id);
    this.park(id, due);
  }

  /** Takes in a delivery by its row: the message is read when its turn comes. */
  addRow(id: number, due: number): void {
    this.#queue.push({ id, endpointId: this.endpoint.id, due, queueOrder: null, load: null });
  }

  /** Where a delivery waits after its attempt, which is recorded by now: in memory, parked, or nowhere. */
  putBack({ id, readsRow }: Flight, { change, queueOrder }: Outcome, recorded: Recorded): void {
    if (change === null || readsRow || recorded === "overtaken") this.reload(id);
    // Nowhere, or in memory; so too what was to be parked and was not recorded: its row does not say when it
    // is due.
    else if (change.due === null || queueOrder === null || recorded === "not_recorded")
      this.#replace(id, change.due);
    else this.park(id, change.due);
  }

  /** A delivery waits from now on by its row, until then; with null it does not wait here. */
  #replace(id: number, due: number | null): void {
    this.#queue.drop(id);
    if (due !== null) this.addRow(id, due);
  }

  /** A delivery is parked until then. */
  park(id: number, due: number): void {
    this.#parkedFrom = Math.min(this.#parkedFrom, this.#orderOf({ id, due }));
  }

  /** A delivery was cancelled. */
  drop(id: number): void {
    this.flights.readRowLater(id);
    this.#queue.drop(id);
  }

  /** A delivery that may wait here is tried by hand. */
  beginByHand(id: number): void {
    if (this.#queue.has(id)) this.reload(id);
  }

  /**
   * The row knows better than the queue: the delivery was reopened, or is tried by hand. All of it is loaded:
   * one whose message is gone waits no more.
   */
  reload(id: number): void {
    this.flights.readRowLater(id);
    this.#replace(id, this.#isLeftOut(id) ? null : (this.parts.rows.load(id)?.delivery.due ?? null));
  }

  /**
   * Takes out the first delivery whose time has come. Where order is kept, a head that is not due holds those
   * after it.
   */
  takeDue(now: number): Pick<Waiting, "id" | "load"> | null {
    this.#refill(now);
    const { head } = this;
    if (!head || head.due > now || this.flights.has(head.id)) return null;
    return this.#queue.pop() ?? null;
  }

  /** The instant from which `takeDue` may find something; `NEVER` where only an ending can help. */
  get nextDue(): number {
    const { head } = this;
    const mayGo = head !== undefined && !this.flights.has(head.id);
    return Math.min(mayGo ? head.due : NEVER, this.#parkedDue(head));
  }

  /** True for a busy delivery that holds nobody back, as no order is kept: it stands in no queue. */
  #isLeftOut(id: number): boolean {
    return this.endpoint.ordering === "none" && this.flights.has(id);
  }

  /**
   * The next deliveries to be ended, of an endpoint that is disabled or deleted; those in memory leave it.
   * Without `busyToo`, those that are busy are decided by the outcome of their attempt: none is taken while
   * only such are left.
   */
  takeForDisposal(busyToo: boolean): number[] {
    const slice = limit("sliceRows");
    const count = slice + this.flights.size;
    const sliceOf = (ids: number[]) => ids.filter((id) => busyToo || !this.flights.has(id)).slice(0, slice);
    const held = sliceOf(this.#queue.ids(count));
    for (const id of held) this.#queue.drop(id);
    if (held.length > 0 || this.#parkedFrom === NEVER) return held;
    const parked = this.parts.rows.parked(this.endpoint, count);
    if (parked.length === 0) this.#parkedFrom = NEVER;
    return sliceOf(parked.map((row) => row.id));
  }

  /** Fetches parked deliveries when the first of them stands before all that the queue holds. */
  #refill(now: number): void {
    const { head } = this;
    if (this.#parkedFrom === NEVER || (head && this.#orderOf(head) <= this.#parkedFrom)) return;
    if (this.endpoint.ordering === "none" && this.#parkedFrom > now) return;
    const fresh = Math.max(1, Math.min(this.#sizeMax - this.size, limit("actorRefillMax")));
    const count = this.size + this.flights.size + fresh;
    const rows = this.parts.rows.parked(this.endpoint, count);
    const absent = rows.filter(({ id }) => !this.#queue.has(id) && !this.#isLeftOut(id));
    const fetched = absent.slice(0, fresh);
    for (const { id, due } of fetched) this.addRow(id, due);
    const last = rows.length < count && absent.length <= fresh ? undefined : fetched.at(-1);
    this.#parkedFrom = last ? this.#orderOf(last) : NEVER;
  }

  /**
   * When parked deliveries want to be looked at: those of an ordered endpoint, which stand before its head,
   * at once.
   */
  #parkedDue(head: Waiting | undefined): number {
    if (this.endpoint.ordering === "none") return this.#parkedFrom;
    return this.#parkedFrom < (head ? this.#orderOf(head) : NEVER) ? 0 : NEVER;
  }

  #readParkedFrom(): number {
    return this.parts.rows.firstParked(this.endpoint) ?? NEVER;
  }

  #orderOf(waiting: Pick<Waiting, "id" | "due">): number {
    return orderOf(waiting, this.endpoint.ordering);
  }
}
