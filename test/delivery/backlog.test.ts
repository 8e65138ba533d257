import { afterEach, expect, test } from "bun:test";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { type Load, orderOf, type Ordering } from "../../src/core/waiting.ts";
import { limit, LIMITS } from "../../src/core/limits.ts";
import { Backlog } from "../../src/delivery/backlog.ts";
import { Flights } from "../../src/delivery/flights.ts";
import { beginFlight } from "../kit/flight.ts";

const NOW = 1000;
const NEVER = Number.POSITIVE_INFINITY;

const total = LIMITS.queuedTotalMax as { value: number };
const usualTotal = total.value;
afterEach(() => (total.value = usualTotal));

/** A backlog over rows: id, when it is due (null: never), and whether it is parked. */
class Stage {
  readonly rows = new Map<number, { due: number | null; isParked: boolean }>();
  readonly flights = new Flights();
  reads = 0;
  #backlog: Backlog | null = null;

  constructor(
    private readonly ordering: Ordering = "none",
    readonly totals = { deliveries: 0, bytes: 0 },
  ) {}

  /** As the actor makes it, over the rows that are there by then. */
  get backlog(): Backlog {
    return (this.#backlog ??= new Backlog({ id: 1, ordering: this.ordering }, this.flights, {
      totals: this.totals,
      rows: {
        load: (id) => this.#load(id),
        parked: ({ ordering }, count) => {
          this.reads++;
          return this.#parked(ordering).slice(0, count);
        },
        firstParked: ({ ordering }) => {
          const [first] = this.#parked(ordering);
          return first ? orderOf(first, ordering) : null;
        },
      },
    }));
  }

  add(id: number, due: number, isParked = false): void {
    this.rows.set(id, { due, isParked });
    this.backlog.add({ id, endpointId: 1, due, queueOrder: isParked ? due : null, load: null });
  }

  /** Parked by a process of before. */
  park(id: number, due: number): void {
    this.rows.set(id, { due, isParked: true });
  }

  /** Takes all that is due, and sends it: each leaves its row. */
  takeAll(now = NOW): number[] {
    const ids: number[] = [];
    for (let next = this.backlog.takeDue(now); next !== null; next = this.backlog.takeDue(now)) {
      ids.push(next.id);
      this.rows.delete(next.id);
    }
    return ids;
  }

  #parked(ordering: Ordering) {
    return [...this.rows]
      .flatMap(([id, { due, isParked }]) =>
        isParked && due !== null ? [{ id, endpointId: 1, due, queueOrder: due, load: null }] : [],
      )
      .toSorted((a, b) => orderOf(a, ordering) - orderOf(b, ordering) || a.id - b.id);
  }

  #load(id: number): Load | null {
    const row = this.rows.get(id);
    if (row === undefined) return null;
    const keys = { id, eventId: id, endpointId: 1, projectId: 1 };
    const delivery = untriedDelivery({ ...keys, origin: "publish", due: row.due });
    return { delivery, type: "a.b", hops: 0, trace: null, body: new Uint8Array() };
  }
}

test("what is due goes in the order of its time; what keeps the order in that of its acceptance", () => {
  const free = new Stage();
  const fifo = new Stage("fifo");
  for (const stage of [free, fifo])
    for (const [id, due] of [
      [1, 30],
      [2, 10],
      [3, 20],
    ] as const)
      stage.add(id, due);
  expect([free.takeAll(), fifo.takeAll()]).toEqual([
    [2, 3, 1],
    [1, 2, 3],
  ]);
});

test("where order is kept, a head that is not due, or is busy, holds those behind it", () => {
  const stage = new Stage("fifo");
  stage.add(1, NOW + 5);
  stage.add(2, NOW);
  expect(stage.takeAll()).toEqual([]);
  expect(stage.backlog.nextDue).toBe(NOW + 5);
  const flight = beginFlight(stage.flights, 1, true);
  expect(stage.takeAll(NOW + 5)).toEqual([]);
  expect(stage.backlog.nextDue).toBe(NEVER);
  stage.flights.land(flight);
  stage.flights.end(flight);
  expect(stage.takeAll(NOW + 5)).toEqual([1, 2]);
});

test("where it is not, one that is busy leaves the queue, lets the others go, and is read at its end", () => {
  const stage = new Stage();
  stage.add(1, 0);
  stage.add(2, 0);
  const flight = beginFlight(stage.flights, 1, true);
  stage.backlog.beginByHand(1);
  expect([stage.backlog.ids(), stage.takeAll()]).toEqual([[2], [2]]);
  stage.flights.land(flight);
  stage.flights.end(flight);
  expect(flight.readsRow).toBe(true);
});

test("what is cancelled while it is busy is read at its end", () => {
  const stage = new Stage();
  const flight = beginFlight(stage.flights, 1, false);
  stage.backlog.drop(1);
  expect(flight.readsRow).toBe(true);
});

test("a change of the order takes what is busy into the queue, and out of it", () => {
  const stage = new Stage();
  stage.add(1, 0);
  beginFlight(stage.flights, 1, true);
  stage.backlog.beginByHand(1);
  stage.backlog.follow({ id: 1, ordering: "fifo" });
  expect(stage.backlog.ids()).toEqual([1]);
  stage.backlog.follow({ id: 1, ordering: "none" });
  expect(stage.backlog.ids()).toEqual([]);
});

test("has room for so many, and for a head where the actors together hold much", () => {
  const stage = new Stage();
  const fill = (from: number, to: number) => {
    for (let id = from; id <= to; id++) stage.add(id, 0);
  };
  fill(1, limit("actorQueueHead"));
  stage.totals.deliveries += limit("queuedTotalMax") - limit("actorQueueHead");
  expect(stage.backlog.hasRoom).toBe(false);
  stage.totals.deliveries -= limit("queuedTotalMax") - limit("actorQueueHead");
  fill(limit("actorQueueHead") + 1, limit("actorQueueMax") - 1);
  expect(stage.backlog.hasRoom).toBe(true);
  stage.add(limit("actorQueueMax"), 0);
  expect([stage.backlog.hasRoom, stage.totals.deliveries]).toEqual([false, limit("actorQueueMax")]);
});

test.each(["none", "fifo"] as const)(
  "however many endpoints wait, all hold twice a total at most and one each, and each goes on (%s)",
  (ordering) => {
    total.value = 1000;
    const totals = { deliveries: 0, bytes: 0 };
    const stages = Array.from({ length: 500 }, () => new Stage(ordering, totals));
    const ids = Array.from({ length: limit("actorQueueHead") }, (_, at) => at + 1);
    const max = 2 * total.value + stages.length;
    let most = 0;
    for (const id of ids)
      for (const stage of stages) {
        stage.add(id, id, !stage.backlog.hasRoom);
        most = Math.max(most, totals.deliveries);
      }
    expect(most).toBeWithin(total.value, max);
    // Each is sent until its queue is empty and filled again, and then fails to send any more.
    const sent = stages.map((stage) => {
      const size = stage.backlog.size + 1;
      const taken = Array.from({ length: size }, () => stage.backlog.takeDue(NOW)?.id ?? 0);
      for (const id of taken) stage.rows.delete(id);
      most = Math.max(most, totals.deliveries);
      return taken;
    });
    expect(most).toBeWithin(total.value, max);
    stages.forEach((stage, at) => expect([...(sent[at] ?? []), ...stage.takeAll()]).toEqual(ids));
    expect(totals.deliveries).toBe(0);
  },
);

test("what is parked is fetched as the queue drains, some at a time, each once, in the order of all", () => {
  const stage = new Stage();
  const count = 3 * limit("actorRefillMax");
  for (let id = 1; id <= count; id++) stage.park(id, id);
  expect([stage.backlog.size, stage.backlog.isEmpty, stage.backlog.nextDue]).toEqual([0, false, 1]);
  expect(stage.takeAll(NOW)).toEqual(Array.from({ length: count }, (_, at) => at + 1));
  expect([stage.backlog.isEmpty, stage.reads < 10]).toEqual([true, true]);
});

test("what is parked and not due stays in the database until it is", () => {
  const stage = new Stage();
  stage.add(1, NOW + 10, true);
  expect([stage.takeAll(), stage.reads, stage.backlog.nextDue]).toEqual([[], 0, NOW + 10]);
  expect(stage.takeAll(NOW + 10)).toEqual([1]);
});

test("a delivery of the queue that was reopened and parked meanwhile goes once, at its new place", () => {
  const stage = new Stage();
  stage.add(1, 0);
  stage.add(1, 7, true);
  stage.add(2, 5);
  expect(stage.takeAll()).toEqual([2, 1]);
});

test("reads a row again that knows better: ended, due later, gone", () => {
  const stage = new Stage();
  for (const id of [1, 2, 3]) stage.add(id, 0);
  stage.rows.set(1, { due: null, isParked: false });
  stage.rows.set(2, { due: NOW + 1, isParked: false });
  stage.rows.delete(3);
  for (const id of [1, 2, 3]) stage.backlog.reload(id);
  expect([stage.takeAll(), stage.backlog.ids(), stage.backlog.nextDue]).toEqual([[], [2], NOW + 1]);
});

test("a change of the order sorts anew what is in memory", () => {
  const stage = new Stage();
  stage.add(1, 30);
  stage.add(2, 10);
  stage.backlog.follow({ id: 1, ordering: "fifo" });
  expect(stage.backlog.head?.id).toBe(1);
  stage.backlog.follow({ id: 1, ordering: "none" });
  expect(stage.backlog.head?.id).toBe(2);
});

test("a change of the order reads what is parked in the new one, the rows being as they were", () => {
  for (const [ordering, changed, expected] of [
    ["none", "fifo", [1, 2, 3, 4]],
    ["fifo", "none", [3, 4, 2, 1]],
  ] as const) {
    const stage = new Stage(ordering);
    stage.park(1, 40);
    stage.park(2, 30);
    stage.add(3, 10, true);
    expect(stage.backlog.isEmpty).toBe(false);
    stage.backlog.follow({ id: 1, ordering: changed });
    stage.add(4, 20, true);
    expect(stage.takeAll()).toEqual([...expected]);
  }
});

test("where order is kept, more is parked than is fetched at once, due at any time, and goes by its key", () => {
  const stage = new Stage("fifo");
  const count = 3 * limit("actorRefillMax");
  for (let id = 1; id <= count; id++) stage.park(id, 1 + ((id * 7919) % NOW));
  expect(stage.takeAll()).toEqual(Array.from({ length: count }, (_, at) => at + 1));
  expect([stage.backlog.isEmpty, stage.reads < 10]).toEqual([true, true]);
});

test("what is to be ended comes a slice at a time, first what is in memory, then what is parked, then nothing", () => {
  const stage = new Stage();
  const slice = limit("sliceRows");
  for (let id = 1; id <= slice + 1; id++) stage.add(id, id);
  stage.add(9000, 9000, true);
  expect(stage.backlog.takeForDisposal(false)).toEqual(Array.from({ length: slice }, (_, at) => at + 1));
  expect([stage.backlog.takeForDisposal(false), stage.backlog.takeForDisposal(false)]).toEqual([
    [slice + 1],
    [9000],
  ]);
  stage.rows.delete(9000);
  expect([stage.backlog.isEmpty, stage.backlog.takeForDisposal(false), stage.backlog.isEmpty]).toEqual([
    false,
    [],
    true,
  ]);
});

test("what is parked before a busy delivery wants to be fetched, where order is kept", () => {
  const stage = new Stage("fifo");
  stage.add(5, NOW);
  beginFlight(stage.flights, 5, true);
  expect(stage.backlog.nextDue).toBe(NEVER);
  // Opened again, while the queue is full.
  stage.add(2, NOW, true);
  expect(stage.backlog.nextDue).toBeLessThanOrEqual(NOW);
  expect([stage.takeAll(), stage.backlog.nextDue]).toEqual([[2], NEVER]);
});

test("what is read while it is busy is read once more after its attempt", () => {
  const stage = new Stage();
  stage.add(1, NOW);
  stage.takeAll();
  const flight = beginFlight(stage.flights, 1, false);
  stage.add(1, NOW);
  expect([flight.readsRow, stage.backlog.ids()]).toEqual([true, []]);
  stage.flights.end(flight);
  stage.backlog.reload(1);
  expect(stage.backlog.ids()).toEqual([1]);
});

test("a parked delivery that is busy holds those behind it once it is fetched, where order is kept", () => {
  const stage = new Stage("fifo");
  const flight = beginFlight(stage.flights, 1, true);
  stage.add(1, NOW, true);
  stage.add(2, NOW, true);
  expect(stage.takeAll()).toEqual([]);
  stage.flights.land(flight);
  stage.flights.end(flight);
  expect(stage.takeAll()).toEqual([1, 2]);
});
