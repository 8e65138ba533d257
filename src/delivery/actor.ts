import {
  type Beginning,
  deliveryAfter,
  disabledBy,
  type Finding,
  healthAfter,
  triggerOf,
  withoutWaits,
} from "../core/delivery.ts";
import { limit } from "../core/limits.ts";
import {
  type Delivery,
  type Endpoint,
  HEALTHY,
  type Health,
  isSameDestination,
  type Trigger,
  type WaitingFor,
} from "../core/model.ts";
import { DEFAULT_SCHEDULE } from "../core/retry.ts";
import type { ActorParts, Load, Performed, Settlement, Waiting } from "./actor-parts.ts";
import { Queue, type QueueItem } from "./queue.ts";
import { RateBucket } from "./rate-bucket.ts";

/**
 * The actor of one endpoint owns its queue, its health and its timer. Nothing else starts an attempt.
 *
 * | mode        | true in it                                                            | leaves when                                 |
 * |-------------|-----------------------------------------------------------------------|---------------------------------------------|
 * | idle        | nothing waits, nothing is in flight, no timer                         | a delivery comes                            |
 * | waiting     | nothing can start before an instant; exactly one timer                | timer, something earlier, pause, stop       |
 * | sending     | 1…max_concurrency in flight (fifo: 1)                                 | the last one ends, pause, stop              |
 * | backing_off | several failures in a row, or slowed down by an answer: one timer, or one probe in flight | a success, pause, stop |
 * | paused      | no timer; the queue is kept                                           | resume, disable, stop                       |
 * | disposing   | the endpoint is disabled or deleted: what waits is ended, slice by slice | enabled, stop                            |
 * | stopped     | no timer, nothing starts                                              | never                                       |
 *
 * The queue holds at most `hasRoom` deliveries; what comes above that is parked: it waits in the database, in order, and
 * is fetched as the queue drains. `#parkedFrom` is where the parked ones begin.
 *
 * An attempt's slot is free once the answer is there; the delivery stays busy until the outcome is on disk, so that one delivery
 * never has two attempts at once.
 */

export type Mode = "idle" | "waiting" | "sending" | "backing_off" | "paused" | "disposing" | "stopped";

interface Flight<P extends Performed> {
  load: Load;
  trigger: Trigger;
  probe: boolean;
  /** Which of the endpoint's destinations it goes to. */
  destination: number;
  /** Whoever asked for this attempt and waits for it. */
  settled: ((performed: P | null) => void) | null;
}

export class EndpointActor<P extends Performed> {
  readonly #queue: Queue<Load>;
  /** Deliveries of which an attempt is under way. */
  readonly #flights = new Set<number>();
  /** Deliveries whose outcome is on its way to the disk. */
  readonly #recording = new Set<number>();
  /** Deliveries whose turn came while an attempt of them was under way. */
  readonly #deferred = new Set<number>();
  #mode: Mode = "idle";
  #callOff: (() => void) | null = null;
  #wakesAt = Number.POSITIVE_INFINITY;
  #parkedFrom: number;
  #disposing = false;
  #stopped = false;
  /** Grows with each change of the destination: what an earlier one answers says nothing of this one. */
  #destination = 0;
  /** Set the moment an attempt decides so, before the endpoint's row says it. */
  #disabling = false;
  /** Flights that somebody asked for. */
  #byHand = 0;
  readonly #rate: RateBucket;
  #whenQuiet: (() => void)[] = [];

  constructor(
    private endpoint: Endpoint,
    private health: Health,
    private readonly parts: ActorParts<P>,
  ) {
    this.#queue = new Queue(parts.held);
    this.#parkedFrom = parts.firstParked(endpoint.id) ?? Number.POSITIVE_INFINITY;
    this.#rate = new RateBucket(parts.clock.now());
  }

  get mode(): Mode {
    return this.#mode;
  }

  get currentHealth(): Health {
    return this.health;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** When what it would send next was due; null where it holds nothing, or nothing may be sent. */
  get nextDue(): number | null {
    const isSending = this.#mode === "waiting" || this.#mode === "sending" || this.#mode === "idle";
    return isSending ? (this.#queue.peek()?.due ?? null) : null;
  }

  /** True where nothing waits and nothing is under way. */
  get isQuiet(): boolean {
    const isIdle = this.#queue.size + this.#flights.size + this.#recording.size === 0 && !this.#disposing;
    return isIdle && this.#parkedFrom === Number.POSITIVE_INFINITY;
  }

  /** True where its endpoint is deleted and nothing is left to do. */
  get isGone(): boolean {
    return this.endpoint.status === "deleted" && this.isQuiet;
  }

  /** What it holds, which is open, and what is on its way, which may have been cancelled or erased meanwhile. */
  ids(): number[] {
    return [...new Set([...this.#queue.ids(this.#queue.size), ...this.#flights])];
  }

  get inFlight(): number {
    return this.#flights.size;
  }

  /** False where a new delivery has to be parked. */
  get hasRoom(): boolean {
    return this.#queue.size < (this.parts.isRoomy() ? limit("actorQueueMax") : limit("actorQueueHead"));
  }

  /** Where a delivery that has to be parked stands in the queue. */
  orderOf(id: number, due: number): number {
    return this.endpoint.ordering === "fifo" ? id : due;
  }

  /** A delivery that is on disk already; `load` where it is at hand. */
  enqueue(waiting: Waiting, load: Load | null = null): void {
    // Its row is about to change: it is looked at when the attempt under way has ended.
    if (this.#isBusy(waiting.id)) this.#deferred.add(waiting.id);
    else this.#admit(waiting, load);
    this.#pump();
  }

  /** What the database holds, at start: nothing goes before `wake`. */
  takeUp(waiting: Waiting): void {
    this.#admit(waiting, null);
  }

  /** Used from the next attempt on. */
  update(endpoint: Endpoint): void {
    const reordered = endpoint.ordering !== this.endpoint.ordering;
    const enabled = this.endpoint.status === "disabled" && endpoint.status !== "disabled";
    const moved = !isSameDestination(this.endpoint, endpoint);
    this.endpoint = endpoint;
    if (moved) this.#destination++;
    if (moved || enabled) this.health = HEALTHY;
    if (reordered) this.#reorder();
    // What is under way is cancelled like what waits; where it arrives nevertheless, it counts as delivered.
    if (endpoint.status === "deleted")
      for (const id of this.#flights)
        this.#admit({ id, due: this.parts.clock.now(), queueOrder: null }, null);
    this.#pump();
  }

  /** Somebody says that it may be tried again: it neither backs off nor is slowed down any more. */
  clearWaits(): void {
    this.health = withoutWaits(this.health);
    this.#pump();
  }

  /** Something outside changed that may let deliveries go: the disk, the plan, the account. */
  wake(): void {
    this.#pump();
  }

  /** A delivery that was cancelled. */
  forget(id: number): void {
    this.#queue.drop(id);
    this.#pump();
  }

  /**
   * One attempt now, whatever the queue, a pause or a backoff says. Resolves when it is on disk, with null where the process stops;
   * "busy" where an attempt of it is under way, "closed" where the endpoint is disabled or deleted, "stopping" where nothing starts any
   * more.
   */
  attemptNow(load: Load, trigger: "manual" | "test"): Promise<P | null> | "busy" | "closed" | "stopping" {
    if (this.#stopped) return "stopping";
    if (this.#isClosed()) return "closed";
    if (this.#isBusy(load.delivery.id)) return "busy";
    // What the queue kept from accepting the event is out of date after this attempt.
    this.#queue.forgetLoad(load.delivery.id);
    return new Promise((resolve) => this.#start(load, trigger, false, resolve));
  }

  /** Why an open delivery does not go out although its time may have come; null where it only waits for its time. */
  waitingFor(id: number, due: number): WaitingFor | null {
    const now = this.parts.clock.now();
    if (this.endpoint.status === "paused") return "paused";
    if (this.parts.isHeldBack(this.endpoint.projectId)) return "plan_limit";
    if (this.#isBusy(id)) return null;
    if (this.#gate() > now && due <= this.#gate()) return "backoff";
    if (due > now) return null;
    if (this.endpoint.ordering === "fifo" && !this.#isHead(id)) return "order";
    if (this.#tokenAt(now) > now) return "rate_limit";
    if (this.#hasSlot()) return null;
    // One probe at a time.
    return this.health.backoffLevel > 0 ? "backoff" : "concurrency";
  }

  /** Starts nothing any more; resolves when nothing is in flight or on its way to the disk. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#pump();
    return new Promise((resolve) => {
      this.#whenQuiet.push(resolve);
      this.#tellQuiet();
    });
  }

  #admit(waiting: Waiting, load: Load | null): void {
    if (waiting.queueOrder !== null) {
      // What the queue holds already was reopened; or it was fetched and tried between the commit and this word of it.
      if (this.#queue.has(waiting.id)) this.#reload(waiting.id);
      return this.#notePark(waiting.queueOrder);
    }
    const order = this.orderOf(waiting.id, waiting.due);
    this.#queue.push({ id: waiting.id, due: waiting.due, order, load, dropped: false });
  }

  #reorder(): void {
    const items = [...this.#queue.items()];
    this.#queue.clear();
    for (const item of items) this.#queue.push({ ...item, order: this.orderOf(item.id, item.due) });
    this.#parkedFrom = this.parts.firstParked(this.endpoint.id) ?? Number.POSITIVE_INFINITY;
  }

  #isBusy(id: number): boolean {
    return this.#flights.has(id) || this.#recording.has(id);
  }

  #isClosed(): boolean {
    return this.#disabling || this.endpoint.status === "disabled" || this.endpoint.status === "deleted";
  }

  #isHead(id: number): boolean {
    if (this.#slotsTaken() > 0) return false;
    const head = this.#queue.peek();
    return head === undefined || id <= head.id;
  }

  /** Nothing starts before this instant: backing off, or slowed down by an answer. */
  #gate(): number {
    return Math.max(this.health.backoffUntil, this.health.slowUntil);
  }

  #capacity(): number {
    const one = this.endpoint.ordering === "fifo" || this.health.backoffLevel > 0;
    return one ? 1 : this.endpoint.maxConcurrency;
  }

  /**
   * Attempts made by hand take no slot. Where order is kept, a delivery holds those behind it until its outcome is on disk: after a
   * crash it would be sent again, behind them.
   */
  #slotsTaken(): number {
    const scheduled = this.#flights.size - this.#byHand;
    return this.endpoint.ordering === "fifo" ? scheduled + this.#recording.size : scheduled;
  }

  /** When the rate limit lets the next attempt go. */
  #tokenAt(now: number): number {
    const rate = this.endpoint.rateLimitPerSecond;
    return rate === null ? now : this.#rate.nextAt(rate, now);
  }

  #mayStart(now: number): boolean {
    return this.#hasSlot() && this.#gate() <= now && this.#tokenAt(now) <= now;
  }

  /** One of its own, and one of those that all endpoints share. */
  #hasSlot(): boolean {
    if (!this.parts.canRecord() || this.#slotsTaken() >= this.#capacity()) return false;
    return this.parts.hasSlot(this.endpoint.id, this.#flights.size);
  }

  /** Starts what can start, then waits for what comes next. */
  #pump(): void {
    if (this.#isClosed() && !this.#stopped) this.parts.unattended("disposal", this.#dispose());
    const now = this.parts.clock.now();
    if (this.#isRunning()) {
      while (this.#mayStart(now)) if (!this.#startNext(now)) break;
    }
    this.#arm(now);
    this.#setMode(now);
  }

  #isRunning(): boolean {
    if (this.#stopped || this.#isClosed() || this.endpoint.status !== "active") return false;
    return !this.parts.isHeldBack(this.endpoint.projectId);
  }

  #startNext(now: number): boolean {
    const item = this.#takeDue(now);
    if (!item) return false;
    const load = item.load ?? this.parts.load(item.id);
    if (!load || load.delivery.due === null) return true;
    if (this.endpoint.rateLimitPerSecond !== null) this.#rate.take();
    this.#start(load, triggerOf(load.delivery), this.health.backoffLevel > 0);
    return true;
  }

  /** The first delivery whose time has come. Where order is kept, a head that is not due holds those behind it. */
  #takeDue(now: number): Pick<QueueItem<Load>, "id" | "load"> | null {
    for (;;) {
      this.#refill(now);
      const head = this.#queue.peek();
      if (!head || head.due > now) return null;
      if (!this.#isBusy(head.id)) return this.#queue.pop() ?? null;
      // An attempt of it is under way: it is looked at again when that ends.
      if (this.endpoint.ordering === "fifo") return null;
      this.#queue.drop(head.id);
      this.#deferred.add(head.id);
    }
  }

  /** Fetches parked deliveries when the first of them stands before all that the queue holds. */
  #refill(now: number): void {
    const head = this.#queue.peek();
    if (this.#parkedFrom === Number.POSITIVE_INFINITY || (head && head.order <= this.#parkedFrom)) return;
    if (this.endpoint.ordering === "none" && this.#parkedFrom > now) return;
    const count = this.#queue.size + this.#flights.size + this.#recording.size + limit("actorRefillMax");
    const rows = this.parts.parked(this.endpoint.id, count);
    for (const row of rows) {
      if (this.#isBusy(row.id)) this.#deferred.add(row.id);
      else if (!this.#queue.has(row.id)) this.#admit({ ...row, queueOrder: null }, null);
    }
    this.#parkedFrom =
      rows.length < count ? Number.POSITIVE_INFINITY : (rows.at(-1)?.queueOrder ?? Number.POSITIVE_INFINITY);
  }

  #start(load: Load, trigger: Trigger, probe: boolean, settled?: Flight<P>["settled"]): void {
    const destination = this.#destination;
    const flight: Flight<P> = { load, trigger, probe, destination, settled: settled ?? null };
    this.#flights.add(load.delivery.id);
    if (settled) this.#byHand++;
    void this.#fly(flight);
  }

  /** The attempt; then states, in memory and at once; then to the disk; then the delivery is free again. */
  async #fly(flight: Flight<P>): Promise<void> {
    const { id } = flight.load.delivery;
    const performed = await this.parts.perform(this.endpoint, flight.load);
    this.parts.landed();
    this.#flights.delete(id);
    if (flight.settled) this.#byHand--;
    if (performed === null) {
      flight.settled?.(null);
      return this.#goOn();
    }
    const settlement = this.#judge(flight, performed);
    this.#recording.add(id);
    this.#requeue(id, settlement);
    const recorded = this.parts.record(settlement);
    this.#goOn();
    const applied = await recorded;
    this.#recording.delete(id);
    // From now on its row says it, or never: the endpoint may be deleted, or was changed meanwhile.
    if (settlement.disable !== null) this.#disabling = false;
    this.#notePark(settlement.queueOrder);
    if (this.#deferred.delete(id) || !applied) this.#reload(id);
    flight.settled?.(performed);
    this.#goOn();
  }

  #goOn(): void {
    this.#pump();
    this.#tellQuiet();
  }

  #judge(flight: Flight<P>, performed: P): Settlement<P> {
    const finding = this.#onClock(performed.finding);
    const { delivery } = flight.load;
    const at = { now: this.parts.clock.now(), random: this.parts.random() };
    const moved = flight.destination !== this.#destination;
    const begun: Beginning = { ...flight, moved, step: delivery.step, schedule: this.#scheduleOf(delivery) };
    const before = this.health;
    this.health = healthAfter(before, begun, finding, at);
    const change = deliveryAfter(begun, finding, this.health, at);
    const disable = this.#isClosed() || moved ? null : disabledBy(finding, this.health, at.now);
    if (disable) this.#disabling = true;
    const parks =
      change !== null && change.due !== null && this.endpoint.ordering === "none" && !this.hasRoom;
    const queueOrder = parks ? this.orderOf(delivery.id, change.due ?? 0) : null;
    const { endpoint, health } = this;
    const { load, trigger } = flight;
    return {
      endpoint,
      load,
      trigger,
      performed,
      change,
      queueOrder,
      health,
      healthChanged: health !== before,
      disable,
    };
  }

  /** A receiver means the wall clock by `retry-after`. */
  #onClock(finding: Finding): Finding {
    const { retryAfterAt } = finding;
    return retryAfterAt === null
      ? finding
      : { ...finding, retryAfterAt: this.parts.clock.fromWall(retryAfterAt) };
  }

  #scheduleOf(delivery: Delivery): readonly number[] {
    if (delivery.origin === "test") return [];
    return this.endpoint.retry?.schedule ?? DEFAULT_SCHEDULE;
  }

  #requeue(id: number, { change, queueOrder }: Settlement<P>): void {
    if (change === null) return;
    this.#queue.drop(id);
    // What is parked is told of once its row says so: before, a refill would look for it in vain and forget it.
    if (change.due !== null && queueOrder === null) this.#admit({ id, due: change.due, queueOrder }, null);
  }

  #notePark(queueOrder: number | null): void {
    if (queueOrder !== null) this.#parkedFrom = Math.min(this.#parkedFrom, queueOrder);
  }

  /** The row knows better than the queue: it was reopened, cancelled, or tried by hand. */
  #reload(id: number): void {
    const delivery = this.parts.load(id)?.delivery;
    this.#queue.drop(id);
    if (delivery && delivery.due !== null) this.#admit({ id, due: delivery.due, queueOrder: null }, null);
  }

  /** Ends what waits, one slice after the other. */
  async #dispose(): Promise<void> {
    if (this.#disposing || !this.parts.canRecord()) return;
    const ids = this.#idsToDispose();
    if (ids.length === 0) return;
    this.#disposing = true;
    for (const id of ids) this.#queue.drop(id);
    try {
      // Those are still to be sent: the endpoint was enabled meanwhile.
      for (const id of await this.parts.dispose(ids)) this.#reload(id);
    } finally {
      this.#disposing = false;
    }
    this.#goOn();
  }

  #idsToDispose(): number[] {
    // An endpoint that is only about to be disabled waits for its row to say so.
    if (this.endpoint.status !== "disabled" && this.endpoint.status !== "deleted") return [];
    const held = this.#queue.ids(limit("sliceRows"));
    if (held.length > 0 || this.#parkedFrom === Number.POSITIVE_INFINITY) return held;
    const parked = this.parts.parked(this.endpoint.id, limit("sliceRows")).map((row) => row.id);
    if (parked.length === 0) this.#parkedFrom = Number.POSITIVE_INFINITY;
    return parked;
  }

  /** Exactly one timer, for the earliest instant at which something could start; none where only an ending can help. */
  #arm(now: number): void {
    const at = this.#isRunning() ? this.#nextWake(now) : Number.POSITIVE_INFINITY;
    if (at === this.#wakesAt) return;
    this.#callOff?.();
    this.#callOff = null;
    this.#wakesAt = at;
    if (at === Number.POSITIVE_INFINITY) return;
    this.#callOff = this.parts.clock.timer(at, () => {
      this.#wakesAt = Number.POSITIVE_INFINITY;
      this.#callOff = null;
      this.#pump();
    });
  }

  #nextWake(now: number): number {
    if (!this.#hasSlot()) return Number.POSITIVE_INFINITY;
    const head = this.#queue.peek();
    const due = Math.min(head?.due ?? Number.POSITIVE_INFINITY, this.#parkedDue(head));
    if (due === Number.POSITIVE_INFINITY || (head && this.#isBusy(head.id))) return Number.POSITIVE_INFINITY;
    return Math.max(due, this.#gate(), this.#tokenAt(now));
  }

  /** When parked deliveries want to be looked at: those of an ordered endpoint, which stand before its head, at once. */
  #parkedDue(head: QueueItem<Load> | undefined): number {
    if (this.endpoint.ordering === "none") return this.#parkedFrom;
    const isFirst = this.#parkedFrom < (head?.order ?? Number.POSITIVE_INFINITY);
    return isFirst ? 0 : Number.POSITIVE_INFINITY;
  }

  #setMode(now: number): void {
    this.#mode = this.#currentMode(now);
    const timerMatches = (this.#callOff !== null) === (this.#wakesAt !== Number.POSITIVE_INFINITY);
    if (!timerMatches) throw new Error("an actor has a timer that it does not know");
    if (
      this.#callOff &&
      (this.#mode === "paused" || this.#mode === "stopped" || this.#mode === "disposing")
    ) {
      throw new Error(`an actor that is ${this.#mode} has a timer`);
    }
  }

  #currentMode(now: number): Mode {
    if (this.#stopped) return "stopped";
    if (this.#isClosed()) return "disposing";
    if (this.endpoint.status === "paused") return "paused";
    if (this.#gate() > now || this.health.backoffLevel > 0) return "backing_off";
    if (this.#flights.size > 0) return "sending";
    return this.#callOff ? "waiting" : "idle";
  }

  #tellQuiet(): void {
    if (this.#whenQuiet.length === 0) return;
    if (this.#flights.size > 0 || this.#recording.size > 0 || this.#disposing) return;
    for (const resolve of this.#whenQuiet.splice(0)) resolve();
  }
}
