/** Retries by hand, and what becomes of those that were answered and not made. */
import { expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { unavailable } from "../../src/core/errors.ts";
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
  saysGone: false,
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
    const begun = this.begin(id);
    expect(begun).toBeInstanceOf(Promise);
    await begun;
  }

  begin(id: number): ReturnType<typeof this.retries.begin> {
    return this.retries.begin(id, () => this.data.store.write(() => this.retries.ask(id)));
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

async function suspend({ data, project }: TestData, suspended: boolean): Promise<void> {
  const { store, tenants } = data;
  const { made } = await store.write(() => tenants.updateAccount(project.accountId, () => ({ suspended })));
  tenants.rememberAccount(made);
}

/** A share of a turn that is over after one look. */
function shortShare() {
  let looks = 0;
  return {
    get isOver() {
      return looks++ > 0;
    },
  };
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
  expect([life.sent, life.asked, life.begin(id)]).toEqual([[id], [id], "busy"]);
  life.endWith(Promise.resolve(ARRIVED)).clock.advance(limit("shortageRestMs"));
  await it.data.store.untilCommitted();
  expect([life.sent, life.asked]).toEqual([[id, id], []]);
});

test("a retry that waits to be started is not made once its delivery has arrived as it was scheduled", async () => {
  await using it = await openTestData();
  const { store } = it.data;
  const [late, arrived] = [await closedDelivery(it), await closedDelivery(it)];
  const arrive = (id: number) =>
    store.write(() => store.sqlite.run("UPDATE delivery SET status = 2 WHERE id = ?", [id]));
  await arrive(arrived);
  expect(it.data.deliveries.get(arrived)?.status).toBe("delivered");
  const life = new Life(it).endWith(Promise.resolve(null));
  await life.retry(late);
  await life.retry(arrived);
  await arrive(late);
  life.endWith(Promise.resolve(ARRIVED)).clock.advance(limit("shortageRestMs"));
  await store.untilCommitted();
  expect([life.sent, life.asked]).toEqual([[late, arrived, arrived], []]);
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

test("a retry whose write is refused is not made later", async () => {
  await using it = await openTestData();
  const id = await closedDelivery(it);
  const life = new Life(it).endWith(Promise.resolve(null));
  const refuse = () => Promise.reject(unavailable("The disk is full."));
  await expect(Promise.resolve(life.retries.begin(id, refuse))).rejects.toThrow("The disk is full.");
  life.endWith(Promise.resolve(ARRIVED)).clock.advance(2 * limit("shortageRestMs"));
  await it.data.store.write(() => {});
  expect(life.sent).toEqual([id]);
  // And may be asked for again.
  await life.retry(id);
  expect(life.sent).toEqual([id, id]);
});

test("retries that are put off are looked at once in the shares of a round, however short those are", async () => {
  await using it = await openTestData({ beginShare: shortShare });
  const ids = [await closedDelivery(it), await closedDelivery(it), await closedDelivery(it)];
  const before = new Life(it).endWith(NEVER);
  for (const id of ids) await before.retry(id);
  await suspend(it, true);
  await it.reopen();
  const after = new Life(it);
  const looked = spyOn(it.data.tenants, "isSuspended");
  after.retries.recover();
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  expect(looked).toHaveBeenCalledTimes(ids.length);
  await suspend(it, false);
  after.clock.advance(limit("shortageRestMs"));
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  expect(after.sent).toEqual(ids);
});

test("a retry ends after it was asked for, also where writes are many and projects take turns", async () => {
  await using it = await openTestData({ beginShare: shortShare });
  const { store, endpoints, deliveries } = it.data;
  const id = await closedDelivery(it);
  const life = new Life(it).endWith(Promise.resolve(null));
  for (let n = 0; n < 3; n++) void store.writeFor(it.project.id, () => {});
  const write = () => store.writeFor(it.project.id, () => life.retries.ask(id));
  const begun = life.retries.begin(id, write);
  // It is given up, and its endpoint is disabled, while the write stands in line.
  for (let n = 0; n < 20; n++) await Promise.resolve();
  const endpoint = endpoints.get(deliveries.get(id)?.endpointId ?? 0);
  if (endpoint) endpoints.announce({ ...endpoint, status: "disabled" });
  life.clock.advance(limit("shortageRestMs"));
  await begun;
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect([life.sent, life.asked]).toEqual([[id], []]);
});

test("a retry that a restart finds waits as long as its account is suspended", async () => {
  await using it = await openTestData();
  const id = await closedDelivery(it);
  await new Life(it).endWith(NEVER).retry(id);
  await suspend(it, true);
  await it.reopen();
  const after = new Life(it);
  after.retries.recover();
  after.clock.advance(limit("shortageRestMs"));
  expect([after.sent, after.asked]).toEqual([[], [id]]);
  await suspend(it, false);
  after.clock.advance(limit("shortageRestMs"));
  await it.data.store.untilCommitted();
  expect([after.sent, after.asked]).toEqual([[id], []]);
});
