import { edenGC } from "bun:jsc";
import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Finding, untriedDelivery } from "../../src/core/delivery.ts";
import { EndpointActor } from "../../src/delivery/actor.ts";
import type { Load } from "../../src/core/waiting.ts";
import { HEALTHY, type Endpoint } from "../../src/core/model.ts";
import { SetClock, steadyOver } from "../kit/clock.ts";
import { plainEndpoint } from "../kit/endpoint.ts";

const ROUNDS = 20;
const AT_ONCE = 100;

const endpoint: Endpoint = { ...plainEndpoint, id: 1, maxConcurrency: AT_ONCE, previous: null };
const delivered: Finding = { outcome: "delivered", saysGone: false, slows: false, retryAfterMs: null };

/** An actor whose attempts and outcomes each take a turn of the loop, and succeed. */
function makeActor(): EndpointActor<Finding> {
  return new EndpointActor<Finding>(endpoint, HEALTHY, {
    totals: { deliveries: 0, bytes: 0 },
    clock: steadyOver(new SetClock(1000)),
    timer: () => () => {},
    random: () => 0,
    rows: {
      load: () => null,
      parked: () => [],
      firstParked: () => null,
      dispose: () => Promise.resolve([]),
    },
    slots: { take: () => {}, giveBack: () => {}, ask: () => true, isFree: () => true },
    meter: { beginFirst: () => {}, endFirst: () => {} },
    send: () => nextTurn().then(() => delivered),
    record: () => nextTurn().then(() => "applied" as const),
    isTurnOver: () => false,
    canRecord: () => true,
    unattended: () => {},
    isSuspended: () => false,
    hasFailedTooLong: () => false,
  });
}

function makeLoad(id: number): Load {
  const keys = { id, eventId: id, endpointId: 1, projectId: 1 };
  const delivery = untriedDelivery({ ...keys, origin: "publish", due: 1000 });
  return { delivery, type: "order.paid", hops: 0, trace: null, body: new Uint8Array(1024) };
}

/**
 * A Map's or Set's old tables live on from one small collection to the next, each held by the one before it,
 * with all that stood in them: half of all bodies did, until a full collection.
 */
test("what an actor has sent does not wait for a full collection", async () => {
  const actor = makeActor();
  const bodies: WeakRef<Uint8Array>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (let at = 0; at < AT_ONCE; at++) {
      const load = makeLoad(round * AT_ONCE + at + 1);
      bodies.push(new WeakRef(load.body));
      actor.enqueue({ id: load.delivery.id, endpointId: 1, due: 1000, queueOrder: null, load });
      if (at % 10 === 9) await nextTurn();
    }
    edenGC();
  }
  while (!actor.isQuiet) await nextTurn();
  edenGC();
  await nextTurn();
  const kept = bodies.filter((body) => body.deref() !== undefined).length;
  // What was on its way at one of the collections stays until a full one.
  expect(kept).toBeLessThan(bodies.length / 4);
});
