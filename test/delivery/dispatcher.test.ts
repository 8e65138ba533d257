import { expect, test } from "bun:test";
import { untriedDelivery } from "../../src/core/delivery.ts";
import type { Waiting } from "../../src/core/waiting.ts";
import { limit } from "../../src/core/limits.ts";
import type { Delivery, Endpoint } from "../../src/core/model.ts";
import type { Starts } from "../../src/delivery/actor-parts.ts";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { plainEndpoint } from "../kit/endpoint.ts";

/** A dispatcher whose turns come when the test says so; rows stand as they were made unless set. */
class Stage {
  readonly rows = new Map<number, Delivery>();
  readonly #endpoints = new Map<number, Endpoint>();
  readonly handed: { endpoint: number; id: number; due: number; hasLoad: boolean; starts: Starts }[] = [];
  isShareOver = false;
  readonly #turns: (() => void)[] = [];
  readonly dispatcher: Dispatcher;

  constructor() {
    const isShareOver = () => this.isShareOver;
    this.dispatcher = new Dispatcher({
      read: (id) => this.rows.get(id) ?? null,
      endpoint: (id) => this.#endpoints.get(id),
      accountOf: (projectId) => Math.trunc(projectId / 10),
      enqueue: ({ id, endpointId, due, load }, starts) =>
        void this.handed.push({ endpoint: endpointId, id, due, hasLoad: load !== null, starts }),
      schedule: (next) => void this.#turns.push(next),
      beginShare: () => ({
        get isOver() {
          return isShareOver();
        },
      }),
    });
  }

  get ids(): number[] {
    return this.handed.map(({ id }) => id);
  }

  make(id: number, fields: Partial<Endpoint> = {}, bytes = 2, queueOrder: number | null = null): Waiting {
    const endpoint: Endpoint = { ...plainEndpoint, id: 1, previous: null, ...fields };
    this.#endpoints.set(endpoint.id, endpoint);
    const keys = { id, eventId: id, endpointId: endpoint.id, projectId: endpoint.projectId };
    const delivery = untriedDelivery({ ...keys, origin: "publish", due: 5 });
    this.rows.set(id, delivery);
    const load = { delivery, type: "a.b", hops: 0, trace: null, body: new Uint8Array(bytes) };
    return { id, endpointId: endpoint.id, due: 5, queueOrder, load };
  }

  many(count: number, from = 1, fields: Partial<Endpoint> = {}, bytes = 2): Waiting[] {
    return Array.from({ length: count }, (_, at) => this.make(from + at, fields, bytes));
  }

  /** The next turn of the loop; false where nothing was scheduled. */
  turn(): boolean {
    const next = this.#turns.shift();
    next?.();
    return next !== undefined;
  }

  drain(): void {
    while (this.turn()) continue;
  }
}

test("few go at once, however much waits; of many a share, and the rest in later turns, in order", () => {
  const stage = new Stage();
  stage.dispatcher.dispatch(stage.many(100));
  const first = stage.handed.length;
  expect([first > 0 && first < 100, stage.dispatcher.waiting]).toEqual([true, 100 - first]);
  stage.dispatcher.dispatch(stage.many(10, 1001));
  expect(stage.ids.slice(first)).toEqual(Array.from({ length: 10 }, (_, at) => 1001 + at));
  stage.dispatcher.dispatch(stage.many(11, 2001));
  expect(stage.handed.length).toBe(first + 10);
  stage.drain();
  const late = stage.ids.filter((id) => id < 1001 || id > 2000);
  expect(late).toEqual(late.toSorted((a, b) => a - b));
  expect([late.length, stage.dispatcher.waiting]).toEqual([111, 0]);
});

test("of endpoints that keep the order all are told, and those start later that a turn has no time for", () => {
  const stage = new Stage();
  const fifo = stage.many(3, 1, { ordering: "fifo" });
  stage.dispatcher.dispatch(fifo);
  stage.isShareOver = true;
  stage.dispatcher.dispatch(stage.many(2, 4, { ordering: "fifo" }));
  stage.dispatcher.dispatch([stage.make(6, {}, 2, 5)]);
  expect(stage.handed.map(({ id, starts }) => [id, starts])).toEqual([
    [1, "now"],
    [2, "now"],
    [3, "now"],
    [4, "later"],
    [5, "later"],
    [6, "later"],
  ]);
});

test("a share that is over hands over one, so that each turn comes to something", () => {
  const stage = new Stage();
  stage.isShareOver = true;
  stage.dispatcher.dispatch(stage.many(12));
  expect(stage.ids).toEqual([1]);
  for (let nth = 2; nth <= 12; nth++) expect([stage.turn(), stage.ids.at(-1)]).toEqual([true, nth]);
  expect([stage.turn(), stage.dispatcher.waiting]).toEqual([false, 0]);
});

test("projects take turns, so that one's backlog does not hold up another", () => {
  const stage = new Stage();
  stage.isShareOver = true;
  const both = [1, 2].flatMap((projectId) => stage.many(11, projectId * 100, { projectId, id: projectId }));
  stage.dispatcher.dispatch(both);
  for (let nth = 0; nth < 4; nth++) stage.turn();
  expect(stage.handed.slice(1).map(({ endpoint }) => endpoint)).toEqual([1, 2, 1, 2]);
});

test("an account has no more turns than another, however many projects it has", () => {
  const stage = new Stage();
  stage.isShareOver = true;
  const projects = [10, 11, 12, 13, 20];
  stage.dispatcher.dispatch(
    projects.flatMap((projectId) => stage.many(11, projectId * 100, { projectId, id: projectId })),
  );
  for (let nth = 0; nth < 8; nth++) stage.turn();
  const turns = stage.handed.slice(1).map(({ endpoint }) => endpoint);
  expect(turns.join(" ")).toBe("10 20 11 20 12 20 13 20");
});

test("those that wait are counted by project, and each turn tells that some have gone", async () => {
  const stage = new Stage();
  stage.isShareOver = true;
  const counts = () => [1, 2, 3].map((id) => stage.dispatcher.waitingOfProject(id));
  await stage.dispatcher.untilNextTurn();
  stage.dispatcher.dispatch(
    [1, 2].flatMap((projectId) => stage.many(11, projectId * 100, { projectId, id: projectId })),
  );
  expect(counts()).toEqual([10, 11, 0]);
  let told = 0;
  void stage.dispatcher.untilNextTurn().then(() => told++);
  await Promise.resolve();
  expect(told).toBe(0);
  stage.turn();
  await Promise.resolve();
  expect([told, ...counts()]).toEqual([1, 9, 11, 0]);
  stage.turn();
  stage.turn();
  await Promise.resolve();
  expect([told, ...counts()]).toEqual([1, 8, 10, 0]);
  stage.dispatcher.bringAllOf({ id: 2, projectId: 2 });
  expect(counts()).toEqual([8, 0, 0]);
});

test("endpoints that keep the order, and what is parked, are told at once, before all that waits", () => {
  const stage = new Stage();
  stage.isShareOver = true;
  const ordered = stage.many(20, 100, { id: 2, ordering: "fifo" });
  const parked = stage.make(200, { id: 3 }, 2, 7);
  stage.dispatcher.dispatch([...stage.many(20), ...ordered, parked]);
  expect(stage.ids.slice(0, 21)).toEqual([...ordered.map(({ id }) => id), 200]);
  expect(stage.dispatcher.waiting).toBe(19);
});

test("who waited a turn goes by the row: cancelled, erased and taken up anew", () => {
  const stage = new Stage();
  stage.isShareOver = true;
  stage.dispatcher.dispatch(stage.many(13));
  const row = (id: number, change: Partial<Delivery>) =>
    stage.rows.set(id, { ...(stage.rows.get(id) as Delivery), ...change });
  row(5, { status: "cancelled", due: null });
  stage.rows.delete(6);
  row(7, { due: 99 });
  stage.drain();
  expect(stage.ids).toEqual([1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13]);
  expect(stage.handed.find(({ id }) => id === 7)?.due).toBe(99);
});

test("those that wait are counted by endpoint until their turn, or until they are handed over", () => {
  const stage = new Stage();
  stage.isShareOver = true;
  stage.dispatcher.dispatch([...stage.many(13), ...stage.many(4, 101, { id: 2 })]);
  const counts = () => [1, 2, 3].map((id) => stage.dispatcher.waitingOf(id));
  expect(counts()).toEqual([12, 4, 0]);
  stage.turn();
  stage.dispatcher.bringAllOf({ id: 2, projectId: plainEndpoint.projectId });
  expect(counts()).toEqual([11, 0, 0]);
  stage.drain();
  expect(counts()).toEqual([0, 0, 0]);
});

test("what was just committed needs no look at its row", () => {
  const stage = new Stage();
  const committed = stage.many(3);
  stage.rows.delete(2);
  stage.dispatcher.dispatch(committed);
  expect(stage.ids).toEqual([1, 2, 3]);
});

test("bodies of those that wait take so many bytes; beyond them a body is read again, and then there is room", () => {
  const stage = new Stage();
  stage.isShareOver = true;
  const bytes = limit("dispatchBytesMax") / 16;
  stage.dispatcher.dispatch(stage.many(20, 1, {}, bytes));
  stage.drain();
  expect(stage.handed.map(({ hasLoad }) => hasLoad)).toEqual([
    ...Array.from({ length: 17 }, () => true),
    ...Array.from({ length: 3 }, () => false),
  ]);
  stage.dispatcher.dispatch(stage.many(12, 100, {}, bytes));
  stage.drain();
  expect(stage.handed.slice(20).every(({ hasLoad }) => hasLoad)).toBe(true);
});

test("what waits for an endpoint that comes to keep the order is handed over before what follows", () => {
  const stage = new Stage();
  stage.isShareOver = true;
  stage.dispatcher.dispatch([...stage.many(12), ...stage.many(12, 100, { id: 2 })]);
  const later = stage.make(200, { id: 2, ordering: "fifo" });
  stage.dispatcher.bringAllOf({ id: 2, projectId: 1 });
  stage.dispatcher.dispatch([later]);
  expect(stage.ids).toEqual([1, ...Array.from({ length: 12 }, (_, at) => 100 + at), 200]);
  expect(stage.dispatcher.waiting).toBe(11);
  stage.drain();
  expect([stage.ids.slice(14), stage.dispatcher.waiting]).toEqual([
    Array.from({ length: 11 }, (_, at) => at + 2),
    0,
  ]);
});
