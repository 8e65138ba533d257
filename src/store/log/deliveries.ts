import {
  DEAD_REASONS,
  type AttemptResult,
  type DeadReason,
  type Delivery,
  ORIGINS,
  type Origin,
} from "../../core/model.ts";
import {
  type DeliveryChange,
  type EndedAs,
  isOpen,
  isTest,
  type Place,
  placeOf,
  waitsForPlan,
} from "../../core/delivery.ts";
import type { Ordering, Waiting } from "../../core/waiting.ts";
import { limit } from "../../core/limits.ts";
import { bound } from "../bound.ts";
import { DELIVERY_COLUMNS, type DeliveryRow, STATUS, STATUS_KEY, toDelivery } from "./delivery-row.ts";
import { deliveriesOf, REPLAYED } from "./children.ts";
import type { EventDeliveries, Slice } from "./event-deliveries.ts";
import { type Index, LABELS } from "../index/index.ts";
import type { Meter } from "../counts/meter.ts";
import type { AskedRetries } from "./asked-retries.ts";
import type { WaitingEvents } from "./waiting-events.ts";
import type { Store } from "../store.ts";
import { endingOf, type Tally, type Wait, waitOf } from "../counts/tally.ts";

/** The first so many of what a read gives, or of those among them that may be seen. */
type FirstOf = <Row extends { id: number }>(count: number, read: (count: number) => Row[]) => Row[];

/** A delivery that a poller has and did not acknowledge yet. */
export interface HandedOut {
  id: number;
  attemptCount: number;
}

interface DeliveriesParts {
  askedRetries: AskedRetries;
  eventDeliveries: EventDeliveries;
  index: Index;
  meter: Meter;
  tally: Tally;
  waitingEvents: WaitingEvents;
}

/** Rows of `delivery`, and what changes them. Every method that changes runs inside a write. */
export class Deliveries {
  readonly #statements;

  constructor(
    private readonly store: Store,
    private readonly parts: DeliveriesParts,
  ) {
    const { sqlite } = store;
    this.#statements = {
      ...prepareReads(sqlite),
      ...prepareWaiting(sqlite),
      ...prepareChanges(sqlite),
      ...prepareEndings(sqlite),
    };
  }

  /**
   * A delivery that was never tried (core/delivery.ts): open, or ended at birth. `isKeyOlder`: its key was
   * set aside with its event, and the index's mark may have passed it.
   */
  insert(delivery: Delivery, queueOrder: number | null, isKeyOlder = false): void {
    const { id, endpointId, projectId, status, due, deadReason } = delivery;
    const { index, meter, tally } = this.parts;
    this.#statements.insert.run({
      id,
      event: delivery.eventId,
      endpoint: endpointId,
      project: projectId,
      status: STATUS[status],
      origin: ORIGINS.indexOf(delivery.origin),
      due,
      order: queueOrder,
      reason: deadReason === null ? null : DEAD_REASONS.indexOf(deadReason),
      completed: delivery.completedAt,
      changed: isKeyOlder ? this.store.takeKey() : null,
    });
    meter.move(projectId, null, placeOf(delivery));
    tally.move(endpointId, null, waitOf(delivery));
    const lists = this.listsOf(projectId, endpointId);
    if (isKeyOlder) index.addBelowMark(id, lists);
    else index.add(id, lists);
    if (status !== "dead" && status !== "cancelled") return;
    tally.end(endingOf(status, deadReason));
    if (status === "dead") index.countDeath({ endpointId, projectId, at: this.store.now() });
  }

  listsOf(projectId: number, endpointId: number): number[] {
    return [this.parts.index.labels.intern(projectId, LABELS.deliveries, ""), endpointId];
  }

  get(id: number): Delivery | null {
    const row = this.#statements.get.get(id);
    return row ? toDelivery(row) : null;
  }

  /** Those of one slice of an event, oldest first. */
  ofEvent(eventId: number, { above, below }: Slice): Delivery[] {
    return this.#statements.ofEvent.all(eventId, above, below).map(toDelivery);
  }

  /** True where it has had its status since a key, and was not opened again either. */
  isAsItWas(id: number, key: number): boolean {
    return (this.#statements.statusKey.get(id)?.key ?? Number.POSITIVE_INFINITY) <= key;
  }

  /** The event's newest delivery to the endpoint. */
  findOf(eventId: number, endpointId: number): Delivery | null {
    return this.newestOf(eventId, [endpointId]).get(endpointId) ?? null;
  }

  /** How many replays have added to an event, up to `most`: its own have the keys right behind it. */
  countAdded(eventId: number, most: number): number {
    const own = eventId + limit("endpointsPerProjectMax");
    return this.#statements.countAdded.get(eventId, own, most)?.n ?? 0;
  }

  /** True where replays have added a delivery of the event to the endpoint, with a key above this one. */
  hasAdded(eventId: number, endpointId: number, above: number): boolean {
    return this.#statements.added.get(eventId, above, endpointId) !== null;
  }

  /** The event's newest delivery to each of these endpoints, by the endpoint's key. */
  newestOf(eventId: number, endpointIds: readonly number[]): Map<number, Delivery> {
    const keys = this.parts.eventDeliveries.newestTo(eventId, endpointIds).values();
    const found = [...keys].flatMap((id) => this.get(id) ?? []);
    return new Map(found.map((delivery) => [delivery.endpointId, delivery]));
  }

  /**
   * Records that an attempt was made, and the state that follows from it. "overtaken": that state is not
   * written, as the delivery was reopened or cancelled meanwhile (its generation moved on). "gone": it was
   * erased, and nothing is kept of the attempt.
   */
  settle(
    delivery: Delivery,
    { id, number }: Pick<AttemptResult, "id" | "number">,
    metered: boolean,
    change: DeliveryChange | null,
    queueOrder: number | null,
  ): "applied" | "overtaken" | "gone" {
    const first = number === 1 ? id : null;
    if (!change) return this.#settleUnchanged(delivery, number, first, metered);
    // One that is over, or waits for the plan, is tried by hand: it may have changed since the attempt began.
    const before = delivery.due === null ? this.get(delivery.id) : delivery;
    if (before === null) return "gone";
    // What had arrived came to its end then, and has none again.
    const hadArrived = before.status === "delivered";
    const completedAt = hadArrived ? before.completedAt : this.store.now();
    if (this.#write(delivery, { id, number, completedAt }, metered, change, queueOrder)) {
      const { origin } = delivery;
      this.parts.meter.move(delivery.projectId, placeOf(before), placeOf({ ...change, metered, origin }));
      this.#changeWait(before, waitOf(change));
      if (!isOpen(change) && !hadArrived) this.parts.tally.end(endingOf(change.status, change.deadReason));
      return "applied";
    }
    if (this.#count(delivery, number, first, metered) === 0) return "gone";
    if (change.status === "delivered") this.#arriveAfterAll(id, delivery.id);
    return "overtaken";
  }

  /** An attempt by hand that failed leaves the delivery as it is, which is "applied" too. */
  #settleUnchanged(
    delivery: Delivery,
    number: number,
    first: number | null,
    metered: boolean,
  ): "applied" | "gone" {
    const current = this.get(delivery.id);
    if (current === null) return "gone";
    this.#count(delivery, number, first, metered);
    const isSame = current.generation === delivery.generation;
    if (metered && isSame) this.parts.meter.move(delivery.projectId, placeOf(current), null);
    return "applied";
  }

  /** A delivery that was ended while the attempt ran has arrived after all. */
  #arriveAfterAll(attemptId: number, id: number): void {
    const { changes } = this.#statements.arriveAfterAll.run(this.store.now(), attemptId, id);
    if (changes > 0) this.parts.tally.end(endingOf("delivered", null));
  }

  /** Writes what an attempt made of a delivery; false where its generation has moved on, or it is gone. */
  #write(
    delivery: Delivery,
    { id, number, completedAt }: Pick<AttemptResult, "id" | "number"> & Pick<Delivery, "completedAt">,
    metered: boolean,
    change: DeliveryChange,
    queueOrder: number | null,
  ): boolean {
    const isOver = change.due === null;
    const { changes } = this.#statements.settle.run({
      id: delivery.id,
      generation: delivery.generation,
      status: STATUS[change.status],
      number,
      step: change.step,
      metered: metered ? 1 : 0,
      due: change.due,
      order: isOver ? null : queueOrder,
      reason: change.deadReason === null ? null : DEAD_REASONS.indexOf(change.deadReason),
      completed: isOver ? completedAt : null,
      // Keys of an attempt for STATUS_KEY: the first one stands in a column of its own.
      first: number === 1 ? id : null,
      later: number === 1 ? null : id,
    });
    return changes === 1;
  }

  #count({ id, generation }: Delivery, number: number, first: number | null, metered: boolean): number {
    return this.#statements.count.run(number, first, generation, metered ? 1 : 0, id).changes;
  }

  /** Opens a delivery afresh: due now, with the whole schedule before it. */
  reopen(id: number, origin: Origin, due: number, queueOrder: number | null): void {
    const before = this.#beginChange(id, isTest({ origin }) ? null : "taken");
    this.#statements.reopen.run(ORIGINS.indexOf(origin), due, queueOrder, this.store.takeKey(), id);
    this.#changeWait(before, "attempt");
  }

  /** Gives a place to a delivery that waited for one, and so has a row: it is due. */
  release(id: number, due: number, queueOrder: number | null): void {
    const delivery = this.get(id);
    if (delivery === null) return;
    this.parts.meter.move(delivery.projectId, placeOf(delivery), placeOf({ ...delivery, due }));
    const { changes } = this.#statements.release.run(due, queueOrder, id);
    if (changes === 1) this.parts.tally.move(delivery.endpointId, "plan", "attempt");
  }

  /** Inside a write: a delivery that nobody was handed stands behind all that its pollers were. */
  moveToEnd(id: number): void {
    this.#statements.moveToEnd.run(this.store.takeKey(), id);
  }

  /** Deliveries of an event that wait for its account's plan, oldest first. */
  awaitingOf(eventId: number, count: number): Delivery[] {
    return this.#statements.awaitingOf.all(eventId, count).map(toDelivery);
  }

  /** False where it was not open. */
  cancel(id: number): boolean {
    this.parts.askedRetries.end(id);
    return this.#end(id, "cancelled", null);
  }

  /**
   * Ends an open delivery whose endpoint is disabled (dead) or deleted (cancelled). False where it was
   * not open.
   */
  dispose(id: number, as: EndedAs): boolean {
    const isEnded = this.#end(id, as, as === "dead" ? "endpoint_disabled" : null);
    if (isEnded && as === "dead") this.#countDeath(id);
    return isEnded;
  }

  #end(id: number, as: EndedAs, reason: DeadReason | null): boolean {
    const before = this.#beginChange(id, null);
    const number = reason === null ? null : DEAD_REASONS.indexOf(reason);
    const at = this.store.takeKey();
    if (this.#statements.end.run(STATUS[as], number, this.store.now(), at, id).changes === 0) return false;
    this.#changeWait(before, null);
    this.parts.tally.end(endingOf(as, reason));
    return true;
  }

  /** After a change: what the metrics and the plan know of waiting deliveries. */
  #changeWait(before: Delivery | null, after: Wait): void {
    if (before === null) return;
    this.parts.tally.move(before.endpointId, waitOf(before), after);
    if (waitsForPlan(before)) this.parts.waitingEvents.leave(before);
  }

  #countDeath(id: number): void {
    const delivery = this.get(id);
    if (delivery) this.parts.index.countDeath({ ...delivery, at: this.store.now() });
  }

  /**
   * Moves the delivery's place in its account's plan from what it holds to what it will hold after a change.
   * Answers the delivery as it is before the change.
   */
  #beginChange(id: number, to: Place | null): Delivery | null {
    const before = this.get(id);
    if (before) this.parts.meter.move(before.projectId, placeOf(before), to);
    if (before) this.parts.meter.leaveToFirst(before);
    return before;
  }

  /**
   * The first deliveries that wait in the database for their turn at an endpoint, in this order. What is
   * polled stands by its position, whatever its endpoint says of order: it is read with "none".
   */
  parkedOf(endpointId: number, ordering: Ordering, count: number): Waiting[] {
    return this.#statements.parked[ordering].some.all(endpointId, count);
  }

  /** Where the first of them stands. */
  firstParkedOf(endpointId: number, ordering: Ordering): number | null {
    return this.#statements.parked[ordering].first.get(endpointId)?.first ?? null;
  }

  /**
   * The first deliveries that a poller was handed, up to a position. They stand before all others
   * (`queueOrderFor`) but those that `firstOf` leaves out, so that a position far behind them costs no look
   * at what waits.
   */
  handedOutUpTo(
    endpointId: number,
    position: number,
    count: number,
    firstOf: FirstOf = (most, read) => read(most),
  ): HandedOut[] {
    const first = firstOf(count, (most) => this.#statements.firstUpTo.all(endpointId, position, most));
    const others = first.findIndex(({ step }) => step === 0);
    return others < 0 ? first : first.slice(0, others);
  }

  /** Ends a delivery as delivered: the poller of its endpoint said that it has it. */
  acknowledge(endpointId: number, id: number): void {
    this.#statements.acknowledge.run(this.store.now(), this.store.takeKey(), id);
    this.parts.tally.move(endpointId, "attempt", null);
    this.parts.tally.end(endingOf("delivered", null));
  }

  /** Keys of dead ones above a key, oldest first. */
  deadOfProject(projectId: number, above: number, count: number): number[] {
    return this.#statements.deadOfProject.all(projectId, above, count).map(({ id }) => id);
  }

  deadOfEndpoint(endpointId: number, above: number, count: number): number[] {
    return this.#statements.deadOfEndpoint.all(endpointId, above, count).map(({ id }) => id);
  }

  /** Some of those of an endpoint that wait for the account's plan. */
  awaitingAt(endpointId: number, count: number): number[] {
    return this.#statements.awaitingAt.all(endpointId, count).map(({ id }) => id);
  }

  /** Endpoints with deliveries that wait for the account's plan. */
  endpointsAwaiting(): number[] {
    const rows = this.store.sqlite.query<{ id: number }, []>(
      "SELECT DISTINCT endpoint_id AS id FROM delivery WHERE due IS NULL AND status IN (0, 1)",
    );
    return rows.all().map(({ id }) => id);
  }

  endpointsWithParked(): number[] {
    const rows = this.store.sqlite.query<{ id: number }, []>(
      "SELECT DISTINCT endpoint_id AS id FROM delivery WHERE queue_order IS NOT NULL",
    );
    return rows.all().map(({ id }) => id);
  }

  /**
   * All that actors held in memory before the process ended, in the order of their due times.
   */
  unparked(): Iterable<Waiting> {
    return this.#statements.unparked.iterate();
  }
}

type Nullable = number | null;
/** Parameters by their names, without the `$`. */
type Named = Record<string, Nullable>;

const WAITING_COLUMNS = "id, endpoint_id AS endpointId, due, queue_order AS queueOrder, NULL AS load";

function prepareReads(sqlite: Store["sqlite"]) {
  return {
    get: sqlite.prepare<DeliveryRow, [number]>(`SELECT ${DELIVERY_COLUMNS} FROM delivery WHERE id = ?`),
    statusKey: sqlite.prepare<{ key: number }, [number]>(
      `SELECT ${STATUS_KEY} AS key FROM delivery WHERE id = ?`,
    ),
    ofEvent: sqlite.prepare<DeliveryRow, [number, number, number]>(
      `${deliveriesOf(bound(1), DELIVERY_COLUMNS, { above: bound(2), below: bound(3) })} ORDER BY id`,
    ),
    countAdded: sqlite.prepare<{ n: number }, [number, number, number]>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM delivery
       WHERE event_id = ${bound(1)} AND id > ${bound(2)} AND ${REPLAYED} LIMIT ${bound(3)})`,
    ),
    added: sqlite.prepare<object, [number, number, number]>(
      `SELECT 1 FROM delivery WHERE event_id = ${bound(1)} AND id > ${bound(2)} AND endpoint_id = ${bound(3)} AND ${REPLAYED} LIMIT 1`,
    ),
    firstUpTo: sqlite.prepare<HandedOut & { step: number }, [number, number, number]>(
      `SELECT id, attempt_count AS attemptCount, step FROM delivery
       WHERE endpoint_id = ${bound(1)} AND queue_order <= ${bound(2)} AND queue_order IS NOT NULL ORDER BY queue_order LIMIT ${bound(3)}`,
    ),
    awaitingAt: sqlite.prepare<{ id: number }, [number, number]>(
      "SELECT id FROM delivery WHERE endpoint_id = ? AND due IS NULL AND status IN (0, 1) LIMIT ?",
    ),
    deadOfProject: sqlite.prepare<{ id: number }, [number, number, number]>(
      `SELECT id FROM delivery WHERE status = 3 AND project_id = ${bound(1)} AND id > ${bound(2)} ORDER BY id LIMIT ${bound(3)}`,
    ),
    deadOfEndpoint: sqlite.prepare<{ id: number }, [number, number, number]>(
      `SELECT id FROM delivery WHERE status = 3 AND endpoint_id = ${bound(1)} AND id > ${bound(2)} ORDER BY id LIMIT ${bound(3)}`,
    ),
    awaitingOf: sqlite.prepare<DeliveryRow, [number, number]>(
      `SELECT ${DELIVERY_COLUMNS} FROM delivery
       WHERE event_id = ${bound(1)} AND due IS NULL AND status IN (0, 1) ORDER BY id LIMIT ${bound(2)}`,
    ),
  };
}

/** Of what waits: parked in the database, or for the actors to take up. */
function prepareWaiting(sqlite: Store["sqlite"]) {
  return {
    parked: { none: prepareParked(sqlite, "queue_order"), fifo: prepareParked(sqlite, "id") },
    unparked: sqlite.prepare<Waiting, []>(
      `SELECT ${WAITING_COLUMNS} FROM delivery
       WHERE due IS NOT NULL AND queue_order IS NULL ORDER BY due`,
    ),
  };
}

/** Each of the two orders has an index: nothing is sorted, or written where an endpoint changes its order. */
function prepareParked(sqlite: Store["sqlite"], order: "queue_order" | "id") {
  const from = `FROM delivery WHERE endpoint_id = ${bound(1)} AND queue_order IS NOT NULL`;
  return {
    some: sqlite.prepare<Waiting, [number, number]>(
      `SELECT ${WAITING_COLUMNS} ${from} ORDER BY ${order} LIMIT ${bound(2)}`,
    ),
    first: sqlite.prepare<{ first: Nullable }, [number]>(`SELECT min(${order}) AS first ${from}`),
  };
}

function prepareChanges(sqlite: Store["sqlite"]) {
  return {
    insert: sqlite.prepare<void, Named>(
      `INSERT INTO delivery (id, event_id, endpoint_id, project_id, status, origin, due, queue_order, dead_reason, completed_at, changed)
       VALUES ($id, $event, $endpoint, $project, $status, $origin, $due, $order, $reason, $completed, $changed)`,
    ),
    settle: sqlite.prepare<void, Named>(
      `UPDATE delivery SET status = $status, attempt_count = $number, step = $step, metered = $metered, due = $due, queue_order = $order,
         dead_reason = $reason, completed_at = $completed, changed = iif(status = $status, ${STATUS_KEY}, $later),
         first_attempt = ifnull($first, first_attempt)
       WHERE id = $id AND generation = $generation`,
    ),
    // Reopened meanwhile, it is to be metered anew; ended meanwhile, this attempt was its first.
    count: sqlite.prepare<void, [number, Nullable, number, number, number]>(
      `UPDATE delivery SET attempt_count = ?, changed = ${STATUS_KEY}, first_attempt = ifnull(?, first_attempt),
         metered = CASE WHEN generation = ? OR status IN (3, 4) THEN max(metered, ?) ELSE metered END WHERE id = ?`,
    ),
    reopen: sqlite.prepare<void, [number, number, Nullable, number, number]>(
      `UPDATE delivery SET status = 0, step = 0, origin = ?, metered = 0, generation = generation + 1, due = ?, queue_order = ?,
       dead_reason = NULL, completed_at = NULL, changed = ? WHERE id = ?`,
    ),
    moveToEnd: sqlite.prepare<void, [number, number]>(
      "UPDATE delivery SET queue_order = ? WHERE id = ? AND queue_order IS NOT NULL AND step = 0",
    ),
    release: sqlite.prepare<void, [number, Nullable, number]>(
      "UPDATE delivery SET due = ?, queue_order = ? WHERE id = ? AND status IN (0, 1) AND due IS NULL",
    ),
  };
}

function prepareEndings(sqlite: Store["sqlite"]) {
  return {
    arriveAfterAll: sqlite.prepare<void, [number, number, number]>(
      "UPDATE delivery SET status = 2, dead_reason = NULL, completed_at = ?, changed = ? WHERE id = ? AND status IN (3, 4)",
    ),
    acknowledge: sqlite.prepare<void, [number, number, number]>(
      "UPDATE delivery SET status = 2, due = NULL, queue_order = NULL, completed_at = ?, changed = ? WHERE id = ?",
    ),
    end: sqlite.prepare<void, [number, Nullable, number, number, number]>(
      `UPDATE delivery SET status = ?, generation = generation + 1, due = NULL, queue_order = NULL, dead_reason = ?, completed_at = ?,
       changed = ? WHERE id = ? AND status IN (0, 1)`,
    ),
  };
}
