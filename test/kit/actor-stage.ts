import { setImmediate as nextTurn } from "node:timers/promises";
import { type Finding, hasFailedTooLong, untriedDelivery } from "../../src/core/delivery.ts";
import { type Endpoint, HEALTHY, type Health, isSameDestination } from "../../src/core/model.ts";
import { slowsEndpoint } from "../../src/core/retry.ts";
import type { Load } from "../../src/core/waiting.ts";
import { EndpointActor } from "../../src/delivery/actor.ts";
import type { Settlement, Starts } from "../../src/delivery/actor-parts.ts";
import { SetClock, steadyOver } from "./clock.ts";
import { plainEndpoint } from "./endpoint.ts";

export const NOW = 1_000_000;
const endpoint: Endpoint = {
  ...plainEndpoint,
  id: 1,
  maxConcurrency: 1,
  retry: { schedule: [60] },
  previous: null,
};

/** An actor whose attempts end, and whose outcomes reach the disk, when the test says so. */
export class ActorStage {
  readonly clock = new SetClock(NOW);
  endpoint = endpoint;
  canRecord = true;
  isSuspended = false;
  isFull = false;
  isTurnOver = false;
  /** Of those that all endpoints share. */
  slotsTaken = 0;
  /** What the database knows of open deliveries. */
  readonly rows = new Map<number, number>();
  /** null: it was not tried. */
  readonly flying: ((answer: number | null) => void)[] = [];
  readonly recording: { settlement: Settlement<Finding>; done: () => void; refused: () => void }[] = [];
  readonly disposing: (() => void)[] = [];
  /** Others have their turn to end what waits. */
  isLineTaken = false;
  readonly inLine: (() => void)[] = [];
  isStopped = false;
  readonly actor: EndpointActor<Finding>;
  #ids = 0;

  constructor(health: Health = HEALTHY) {
    this.actor = new EndpointActor<Finding>(endpoint, health, {
      totals: { deliveries: 0, bytes: 0 },
      clock: steadyOver(this.clock),
      timer: (_, at, wake) => this.clock.timer(at, wake),
      random: () => 0.5,
      rows: {
        load: (id) => this.#load(id),
        parked: () => [],
        firstParked: () => null,
        dispose: (_, take) =>
          this.isLineTaken
            ? new Promise((resolve) => this.inLine.push(() => resolve(this.#dispose(take()))))
            : this.#dispose(take()),
      },
      slots: {
        take: () => this.slotsTaken++,
        giveBack: () => this.slotsTaken--,
        ask: () => !this.isFull,
        isFree: () => !this.isFull,
      },
      meter: { beginFirst: () => {}, endFirst: () => {} },
      send: () =>
        new Promise((resolve) =>
          this.flying.push((statusCode) => {
            if (statusCode === null) return resolve(null);
            const outcome = statusCode === 200 ? "delivered" : "rejected";
            resolve({
              outcome,
              saysGone: statusCode === 410,
              slows: slowsEndpoint(statusCode),
              retryAfterMs: null,
            });
          }),
        ),
      record: (settlement) =>
        new Promise((resolve) =>
          this.recording.push({
            settlement,
            done: () => {
              this.#write(settlement);
              resolve("applied");
            },
            refused: () => resolve("not_recorded"),
          }),
        ),
      isTurnOver: () => this.isTurnOver,
      canRecord: () => this.canRecord,
      unattended: (_work, running) => void running,
      isSuspended: () => this.isSuspended,
      hasFailedTooLong: (_, { failingSince }) =>
        hasFailedTooLong({ failingSince }, this.clock.now(), (at) => at),
    });
  }

  #dispose(ids: readonly number[]): Promise<readonly number[] | null> {
    if (ids.length === 0) return Promise.resolve(null);
    return new Promise((resolve) =>
      this.disposing.push(() => {
        for (const id of ids) this.rows.delete(id);
        resolve([]);
      }),
    );
  }

  /** The turn of all has come. */
  async openLine(): Promise<void> {
    this.isLineTaken = false;
    for (const go of this.inLine.splice(0)) go();
    await nextTurn();
  }

  deliver(inMs = 0, starts: Starts = "now"): void {
    const id = ++this.#ids;
    const due = this.clock.now() + inMs;
    this.rows.set(id, due);
    this.actor.enqueue({ id, endpointId: 1, due, queueOrder: null, load: null }, starts);
  }

  byHand(id: number): void {
    const load = this.#load(id);
    if (load) void this.actor.attemptNow(load, "manual");
  }

  change(change: Partial<Endpoint>): void {
    this.endpoint = { ...this.endpoint, ...change };
    this.actor.update(this.endpoint);
  }

  async answer(statusCode: number | null): Promise<void> {
    this.flying.shift()?.(statusCode);
    await nextTurn();
  }

  /** All that is on its way to the disk reaches it. */
  async write(): Promise<void> {
    for (const { done } of this.recording.splice(0)) done();
    for (const done of this.disposing.splice(0)) done();
    await nextTurn();
  }

  /** No transaction of an attempt succeeds: the rows stay as they were. */
  async refuse(): Promise<void> {
    for (const { refused } of this.recording.splice(0)) refused();
    await nextTurn();
  }

  #load(id: number): Load | null {
    const due = this.rows.get(id);
    if (due === undefined) return null;
    const delivery = untriedDelivery({
      id,
      eventId: id,
      endpointId: 1,
      projectId: 1,
      origin: "publish",
      due,
    });
    return { delivery, type: "order.paid", hops: 0, trace: null, body: new Uint8Array(2) };
  }

  #write({ endpoint: asked, load, change, disable }: Settlement<Finding>): void {
    if (change?.due) this.rows.set(load.delivery.id, change.due);
    else if (change) this.rows.delete(load.delivery.id);
    if (disable && isSameDestination(asked, this.endpoint))
      this.change({ status: "disabled", disabledReason: disable });
  }
}
