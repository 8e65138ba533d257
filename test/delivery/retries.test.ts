/** Retries by hand, and what becomes of those that were answered and not made. */
import { expect, test } from "bun:test";
import type { Data } from "../../src/store/data.ts";
import { Retries } from "../../src/delivery/retries.ts";
import type { Sent } from "../../src/delivery/send.ts";
import { limit } from "../../src/core/limits.ts";
import { makeActors } from "../kit/actors.ts";
import { SetClock, steadyOver } from "../kit/clock.ts";
import { ANSWERED, openTestData, type TestData } from "../kit/data.ts";

const ARRIVED: Sent = {
  ...ANSWERED,
  statusCode: 204,
  outcome: "delivered",
  slows: false,
  retryAfterMs: null,
  messageId: null,
  endpointId: null,
};

/** One life of the process over the data, whose attempts end as the test says. */
class Life {
  readonly clock = new SetClock(1000);
  readonly sent: number[] = [];
  readonly retries: Retries;
  readonly data: Data;
  #outcome: Promise<Sent | null> = Promise.resolve(ARRIVED);

  constructor(it: TestData) {
    this.data = it.data;
    const { actors } = makeActors(it.data, {
      clock: steadyOver(this.clock),
      send: (_, { delivery }) => {
        this.sent.push(delivery.id);
        return this.#outcome;
      },
    });
    this.retries = new Retries(it.data, actors);
  }

  endWith(outcome: Promise<Sent | null>): this {
    this.#outcome = outcome;
    return this;
  }

  /** As the API does: begun, and on disk with its answer. */
  async retry(id: number): Promise<void> {
    expect(this.retries.begin(id)).toBeNull();
    await this.data.store.write(() => this.retries.ask(id));
  }

  get asked(): number[] {
    return this.data.askedRetries.all();
  }
}

/** A delivery that was cancelled: its queue knows nothing of it. */
async function closedDelivery(it: TestData): Promise<number> {
  const endpoint = await it.endpoint();
  return it.data.store.write(() => {
    const id = it.insertDelivery(it.insertEvent(), endpoint.id);
    it.data.deliveries.cancel(id);
    return id;
  });
}

const NEVER = new Promise<null>(() => {});

test("a retry that was answered is made after a restart, whose process died with it in flight", async () => {
  await using it = await openTestData();
  const id = await closedDelivery(it);
  const before = new Life(it).endWith(NEVER);
  await before.retry(id);
  expect([before.sent, before.asked]).toEqual([[id], [id]]);
  await it.reopen();
  const after = new Life(it);
  after.retries.recover();
  expect(after.sent).toEqual([id]);
  await it.data.store.untilCommitted();
  expect([it.data.deliveries.get(id)?.status, after.asked]).toEqual(["delivered", []]);
  await it.reopen();
  const third = new Life(it);
  third.retries.recover();
  expect(third.sent).toEqual([]);
});

test("a retry that was given up is made a moment later, and is busy until then", async () => {
  await using it = await openTestData();
  const id = await closedDelivery(it);
  const life = new Life(it).endWith(Promise.resolve(null));
  await life.retry(id);
  expect([life.sent, life.asked, life.retries.begin(id)]).toEqual([[id], [id], "busy"]);
  life.endWith(Promise.resolve(ARRIVED)).clock.advance(limit("shortageRestMs"));
  await it.data.store.untilCommitted();
  expect([life.sent, life.asked]).toEqual([[id, id], []]);
});

test("a retry that was answered ends where its delivery is cancelled, or its endpoint disabled, before the restart", async () => {
  await using it = await openTestData();
  const [cancelled, disabled] = [await closedDelivery(it), await closedDelivery(it)];
  const life = new Life(it).endWith(NEVER);
  await life.retry(cancelled);
  await life.retry(disabled);
  const { deliveries, endpoints, store } = it.data;
  const endpointId = deliveries.get(disabled)?.endpointId ?? 0;
  await store.write(() => {
    deliveries.cancel(cancelled);
    endpoints.update(endpointId, () => ({ status: "disabled" }));
  });
  expect(life.asked).toEqual([disabled]);
  await it.reopen();
  const after = new Life(it);
  after.retries.recover();
  await it.data.store.settled();
  expect([after.sent, after.asked]).toEqual([[], []]);
});

test("a retry that waits to be started is not made once its delivery is cancelled", async () => {
  await using it = await openTestData();
  const endpoint = await it.endpoint();
  const id = await it.data.store.write(() => it.insertDelivery(it.insertEvent(), endpoint.id));
  const life = new Life(it).endWith(Promise.resolve(null));
  await life.retry(id);
  await it.data.store.write(() => it.data.deliveries.cancel(id));
  life.endWith(Promise.resolve(ARRIVED)).clock.advance(2 * limit("shortageRestMs"));
  await it.data.store.write(() => {});
  expect([life.sent, it.data.deliveries.get(id)?.status]).toEqual([[id], "cancelled"]);
});

test("a retry that a restart finds waits as long as its account is suspended", async () => {
  await using it = await openTestData();
  const id = await closedDelivery(it);
  await new Life(it).endWith(NEVER).retry(id);
  const suspend = async (suspended: boolean) => {
    const { store, tenants } = it.data;
    const { made } = await store.write(() => tenants.updateAccount(it.project.accountId, { suspended }));
    tenants.rememberAccount(made);
  };
  await suspend(true);
  await it.reopen();
  const after = new Life(it);
  after.retries.recover();
  after.clock.advance(limit("shortageRestMs"));
  expect([after.sent, after.asked]).toEqual([[], [id]]);
  await suspend(false);
  after.clock.advance(limit("shortageRestMs"));
  await it.data.store.untilCommitted();
  expect([after.sent, after.asked]).toEqual([[id], []]);
});
