import { expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { withoutWaits } from "../../src/core/delivery.ts";
import { HEALTHY } from "../../src/core/model.ts";
import { EndpointActor } from "../../src/delivery/actor.ts";
import { Slots } from "../../src/delivery/slots.ts";
import type { Sent } from "../../src/delivery/send.ts";
import { makeActors } from "../kit/actors.ts";
import { SetClock, steadyOver } from "../kit/clock.ts";
import { ANSWERED, openTestData, type TestData } from "../kit/data.ts";

const SLOWED: Sent = {
  ...ANSWERED,
  statusCode: 429,
  outcome: "rejected",
  saysGone: false,
  slows: true,
  retryAfterMs: 86_400_000,
  messageId: null,
  endpointId: null,
};

/** An endpoint with one delivery, whose attempt `answers` end. */
async function attemptUnderWay(it: TestData) {
  const answers: ((sent: Sent) => void)[] = [];
  const { actors } = makeActors(it.data, {
    clock: steadyOver(new SetClock(1000)),
    send: () => new Promise((resolve) => answers.push(resolve)),
  });
  const endpoint = await it.endpoint();
  const id = await it.data.store.write(() => it.insertDelivery(it.insertEvent(), endpoint.id));
  actors.enqueue({ id, endpointId: endpoint.id, due: 0, queueOrder: null, load: null });
  return { actors, endpoint, answers };
}

test.each([0, 5])(
  "what a resume ended does not come back with a restart, %i other writes of the project before the answer's",
  async (neighbours) => {
    await using it = await openTestData();
    const { data, project } = it;
    const { actors, endpoint, answers } = await attemptUnderWay(it);
    let isCommitted = false;
    const resumed = data.store
      .writeFor(project.id, () => {
        isCommitted = true;
        data.health.set(endpoint.id, withoutWaits(data.health.get(endpoint.id)));
      })
      .then(() => actors.clearWaits(endpoint.id));
    while (!isCommitted) await nextTurn();
    // It is on its way to the disk.
    const others = Array.from({ length: neighbours }, () => data.store.writeFor(project.id, () => null));
    for (const answer of answers) answer(SLOWED);
    await Promise.all([resumed, ...others]);
    await data.store.settled();
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect([answers.length, actors.isLeftAlone(endpoint.id)]).toEqual([1, false]);
    expect(data.health.get(endpoint.id).slowUntil).toBe(0);
  },
);

test("of an endpoint that is deleted before what a resume ended is written, no health is kept", async () => {
  await using it = await openTestData();
  const { data } = it;
  const { actors, endpoint, answers } = await attemptUnderWay(it);
  for (const answer of answers) answer(SLOWED);
  await data.store.settled();
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect([actors.isLeftAlone(endpoint.id), data.health.get(endpoint.id).failuresInRow]).toEqual([true, 1]);
  // As an erasure does.
  const erased = data.store.writeFor(it.project.id, () => {
    data.endpoints.delete(endpoint.id);
    data.orphans.dropEndpoint(endpoint.id);
  });
  actors.clearWaits(endpoint.id);
  await erased;
  await data.store.settled();
  expect(data.health.get(endpoint.id)).toEqual(HEALTHY);
});

test("headers of an endpoint count among the bytes in flight, and what is given back is what was taken", async () => {
  await using it = await openTestData();
  const { data } = it;
  const ends: ((sent: Sent) => void)[] = [];
  using taken = spyOn(Slots.prototype, "take");
  using given = spyOn(Slots.prototype, "giveBack");
  const { actors } = makeActors(data, {
    clock: steadyOver(new SetClock(1000)),
    send: () => new Promise((resolve) => ends.push(resolve)),
  });
  const endpoint = await it.endpoint({ headers: [["x-long", "v".repeat(4000)]] });
  const id = await data.store.write(() => it.insertDelivery(it.insertEvent(), endpoint.id));
  actors.enqueue({ id, endpointId: endpoint.id, due: 0, queueOrder: null, load: null });
  await data.endpoints.change(endpoint.id, () => ({ headers: [] }));
  ends[0]?.(SLOWED);
  await nextTurn();
  await data.store.settled();
  const bytes = taken.mock.calls[0]?.[1] ?? 0;
  expect([bytes > 4000, given.mock.calls.map((call) => call[1])]).toEqual([true, [bytes]]);
});

test("are counted a hundred a piece, so that others go first in between", async () => {
  await using it = await openTestData();
  const { actors } = makeActors(it.data, {
    clock: steadyOver(new SetClock(1000)),
    send: () => Promise.resolve(null),
  });
  const endpoints = await Promise.all(Array.from({ length: 250 }, () => it.endpoint()));
  // Each asked one has an actor from then on.
  for (const { id } of endpoints) actors.waitingFor({ id: 1, eventId: 1, endpointId: id, due: 0 });
  const pieces = actors.counts();
  const stops: unknown[] = [];
  let last = pieces.next();
  for (; !last.done; last = pieces.next()) stops.push(last.value);
  expect([stops, last.value.actors]).toEqual([[0, 0], 250]);
});

/** A share that is over once it was asked so often. */
function shareOf(questions: number) {
  let left = questions;
  return {
    get isOver() {
      return --left <= 0;
    },
  };
}

test("a change of an account wakes its own endpoints, and a turn looks at as many as its share lasts for", async () => {
  const share = { questions: Number.POSITIVE_INFINITY };
  await using it = await openTestData({ beginShare: () => shareOf(share.questions) });
  const { tenants } = it.data;
  const { actors } = makeActors(it.data, {
    clock: steadyOver(new SetClock(1000)),
    send: () => Promise.resolve(null),
  });
  const actorOf = async (projectId: number) => {
    const { id } = await it.endpoint({ projectId });
    actors.reserveByHand(id);
  };
  for (let n = 0; n < 30; n++) await actorOf(it.project.id);
  const { id: accountId } = await tenants.createAccount({ name: "b", plan: "free" });
  const other = await tenants.createProject(accountId, "live", "live");
  for (let n = 0; n < 3; n++) await actorOf(other.id);

  share.questions = 4;
  using woken = spyOn(EndpointActor.prototype, "wake");
  using looked = spyOn(tenants, "accountIdOf");
  const account = tenants.account(accountId);
  if (!account) throw new Error("the account is gone");
  tenants.rememberAccount({ ...account, suspended: true });
  expect(looked.mock.calls.length).toBeLessThan(10);
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  expect(woken.mock.contexts.map((actor) => (actor as EndpointActor<Sent>).projectId)).toEqual([
    other.id,
    other.id,
    other.id,
  ]);
});
