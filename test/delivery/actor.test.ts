import { describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { limit } from "../../src/core/limits.ts";
import { type Endpoint, HEALTHY, type Health } from "../../src/core/model.ts";
import type { Mode } from "../../src/delivery/actor-state.ts";
import type { Load } from "../../src/core/waiting.ts";
import { NOW, ActorStage } from "../kit/actor-stage.ts";
import { Rng } from "../simulation/world.ts";

const LATER_MS = 10_000;
const LONG_MS = 3_600_000;
const BACKING_OFF: Health = { ...HEALTHY, failuresInRow: 5, backoffLevel: 1, backoffUntil: NOW + LATER_MS };

/** The ways into each state, by what happens outside. */
const WAYS: Record<Mode, () => ActorStage | Promise<ActorStage>> = {
  idle: () => new ActorStage(),
  waiting: () => {
    const stage = new ActorStage();
    stage.deliver(LATER_MS);
    return stage;
  },
  blocked: () => {
    const stage = new ActorStage();
    stage.isSuspended = true;
    stage.deliver();
    return stage;
  },
  sending: () => {
    const stage = new ActorStage();
    stage.deliver();
    return stage;
  },
  backing_off: () => {
    const stage = new ActorStage(BACKING_OFF);
    stage.deliver();
    return stage;
  },
  paused: () => {
    const stage = new ActorStage();
    stage.change({ status: "paused" });
    stage.deliver();
    return stage;
  },
  closing: async () => {
    const stage = new ActorStage();
    stage.deliver();
    stage.deliver(LATER_MS);
    await stage.answer(410);
    return stage;
  },
  disposing: async () => {
    const stage = endingStage();
    await stage.write();
    return stage;
  },
  stopped: () => {
    const stage = new ActorStage();
    stage.deliver(LATER_MS);
    void stage.actor.stop().then(() => (stage.isStopped = true));
    return stage;
  },
};
const MODES = Object.keys(WAYS) as Mode[];

/** A slice of what waits is on its way to the disk. */
function endingStage(): ActorStage {
  const stage = new ActorStage();
  stage.deliver(LATER_MS);
  stage.change({ status: "disabled" });
  return stage;
}

const EVENTS = {
  "a delivery comes": (stage: ActorStage) => stage.deliver(),
  "a delivery for later comes": (stage: ActorStage) => stage.deliver(LATER_MS),
  "its time comes": (stage: ActorStage) => stage.clock.advance(LONG_MS),
  "the answer is 200": async (stage: ActorStage) => {
    await stage.answer(200);
    await stage.write();
  },
  "the answer is 500": async (stage: ActorStage) => {
    await stage.answer(500);
    await stage.write();
  },
  "the answer is 410": async (stage: ActorStage) => {
    await stage.answer(410);
    await stage.write();
  },
  "the disk has written": (stage: ActorStage) => stage.write(),
  pause: (stage: ActorStage) => stage.change({ status: "paused" }),
  "resume or enable": (stage: ActorStage) => stage.change({ status: "active" }),
  disable: (stage: ActorStage) => stage.change({ status: "disabled" }),
  delete: (stage: ActorStage) => stage.change({ status: "deleted" }),
  "another address": (stage: ActorStage) => stage.change({ config: { url: "https://example.com/other" } }),
  "waits are cleared": (stage: ActorStage) => stage.actor.clearWaits(),
  "the account is suspended": (stage: ActorStage) => {
    stage.isSuspended = true;
    stage.actor.wake();
  },
  "the account goes on": (stage: ActorStage) => {
    stage.isSuspended = false;
    stage.actor.wake();
  },
  "the disk is full": (stage: ActorStage) => {
    stage.canRecord = false;
    stage.actor.wake();
  },
  "what waits is cancelled": (stage: ActorStage) => {
    const { held, busy } = stage.actor.inMemory;
    for (const id of [...held, ...busy]) {
      stage.rows.delete(id);
      stage.actor.forget(id);
    }
  },
  "an attempt by hand": (stage: ActorStage) => {
    stage.rows.set(99, stage.clock.now());
    const delivery = untriedDelivery({
      id: 99,
      eventId: 99,
      endpointId: 1,
      projectId: 1,
      origin: "publish",
      due: NOW,
    });
    const load: Load = { delivery, type: "order.paid", hops: 0, trace: null, body: new Uint8Array(2) };
    void stage.actor.attemptNow(load, "manual");
  },
  "the process stops": (stage: ActorStage) => void stage.actor.stop().then(() => (stage.isStopped = true)),
} satisfies Record<string, (stage: ActorStage) => unknown>;
type EventName = keyof typeof EVENTS;
const EVENT_NAMES = Object.keys(EVENTS) as EventName[];

const OUTSIDE = { disable: "disposing", delete: "disposing", "the process stops": "stopped" } as const;
const ANSWERED = {
  "the answer is 200": "disposing",
  "the answer is 500": "disposing",
  "the answer is 410": "disposing",
} as const;

/** Where each event leads from each state. What is not named leaves it as it is. */
const LEADS_TO: Record<Mode, Partial<Record<EventName, Mode>>> = {
  idle: {
    ...OUTSIDE,
    pause: "paused",
    "a delivery comes": "sending",
    "a delivery for later comes": "waiting",
    "an attempt by hand": "sending",
  },
  waiting: {
    ...OUTSIDE,
    pause: "paused",
    "a delivery comes": "sending",
    "its time comes": "sending",
    "the account is suspended": "blocked",
    "the disk is full": "blocked",
    "what waits is cancelled": "idle",
    "an attempt by hand": "sending",
  },
  blocked: {
    ...OUTSIDE,
    pause: "paused",
    "the account goes on": "sending",
    "what waits is cancelled": "idle",
    "an attempt by hand": "sending",
  },
  sending: {
    ...OUTSIDE,
    pause: "paused",
    "the answer is 200": "idle",
    "the answer is 500": "waiting",
    "the answer is 410": "disposing",
  },
  backing_off: {
    ...OUTSIDE,
    pause: "paused",
    "another address": "sending",
    "waits are cleared": "sending",
  },
  paused: { ...OUTSIDE, "resume or enable": "sending" },
  // The outcome that closes it is on its way: with the next write the endpoint is disabled.
  closing: { ...OUTSIDE, ...ANSWERED, "the disk has written": "disposing" },
  disposing: { "the process stops": "stopped", pause: "paused", "resume or enable": "idle" },
  stopped: {},
};

/** What holds in every state, as its row of the table in actor.ts says. */
function requireRow({ actor, clock, flying }: ActorStage): void {
  const { mode } = actor;
  const timers = mode === "waiting" ? [1] : mode === "sending" || mode === "backing_off" ? [0, 1] : [0];
  expect({ mode, timers: timers.includes(clock.timers) }).toEqual({ mode, timers: true });
  const isBusy = flying.length > 0;
  if (mode === "idle") expect({ queued: actor.queued, isBusy }).toEqual({ queued: 0, isBusy: false });
  if (mode === "waiting" || mode === "blocked") expect(isBusy).toBe(false);
}

describe("the actor of an endpoint", () => {
  for (const mode of MODES) {
    for (const event of EVENT_NAMES) {
      const next = LEADS_TO[mode][event] ?? mode;
      test(`${mode}: ${event} leads to ${next}`, async () => {
        const stage = await WAYS[mode]();
        expect(stage.actor.mode).toBe(mode);
        requireRow(stage);
        await EVENTS[event](stage);
        await nextTurn();
        expect(stage.actor.mode).toBe(next);
        requireRow(stage);
      });
    }
  }

  for (const status of ["active", "paused", "deleted"] as const)
    test(`it stays disposing until the slice under way is on disk, though it is ${status} meanwhile`, async () => {
      const stage = endingStage();
      stage.change({ status });
      stage.deliver();
      expect([stage.actor.mode, stage.flying.length]).toEqual(["disposing", 0]);
      await stage.write();
      const after = { active: "sending", paused: "paused", deleted: "disposing" }[status];
      expect(stage.actor.mode).toBe(after as Mode);
      requireRow(stage);
    });

  test("it stops only once the slice under way is on disk", async () => {
    const stage = endingStage();
    void stage.actor.stop().then(() => (stage.isStopped = true));
    await nextTurn();
    expect(stage.isStopped).toBe(false);
    await stage.write();
    expect(stage.isStopped).toBe(true);
  });

  test("closing ends where the outcome does not disable the endpoint: it leads somewhere else by now", async () => {
    const stage = await WAYS.closing();
    stage.change({ config: { url: "https://example.com/other" } });
    expect(stage.actor.mode).toBe("closing");
    await stage.write();
    expect(stage.actor.mode).toBe("waiting");
    requireRow(stage);
  });

  test("a delivery that is due says what holds it: the slots of all endpoints, the disk", () => {
    const stage = new ActorStage();
    stage.isFull = true;
    stage.canRecord = false;
    stage.deliver();
    const now = stage.clock.now();
    expect(stage.actor.waitingFor(1, now)).toBe("disk");
    expect(stage.actor.waitingFor(1, now + 1)).toBeNull();
    stage.canRecord = true;
    expect(stage.actor.waitingFor(1, now)).toBe("concurrency");
    stage.isFull = false;
    expect(stage.actor.waitingFor(1, now)).toBeNull();
  });

  describe("an attempt by hand of the next delivery that hangs", () => {
    const hanging = (ordering: Endpoint["ordering"]) => {
      const stage = new ActorStage();
      stage.change({ ordering });
      stage.deliver(LATER_MS);
      stage.deliver(LATER_MS + 1);
      stage.byHand(1);
      return stage;
    };

    test("holds up no other, and is looked at again once it has failed", async () => {
      const stage = hanging("none");
      stage.clock.advance(LATER_MS + 1);
      expect([stage.flying.length, stage.actor.inMemory.busy]).toEqual([2, [1, 2]]);
      await stage.answer(500);
      await stage.write();
      stage.flying.shift()?.(200);
      await nextTurn();
      expect([stage.flying.length, stage.actor.inMemory.busy]).toEqual([1, [2, 1]]);
    });

    test("holds up those behind it where order is kept, or comes to be kept", async () => {
      const stage = hanging("none");
      stage.change({ ordering: "fifo" });
      for (const one of [stage, hanging("fifo")]) {
        one.clock.advance(LATER_MS + 1);
        expect(one.flying.length).toBe(1);
        await one.answer(500);
        await one.write();
        expect(one.flying.length).toBe(1);
      }
    });
  });

  test.each([1, 2, 3])("stays in a row of the table whatever happens, walk %d", async (seed) => {
    const rng = new Rng(seed);
    for (let walk = 0; walk < 100; walk++) {
      const stage = new ActorStage();
      for (let step = 0; step < 30; step++) {
        const event = rng.pick(EVENT_NAMES);
        // Few walks end early.
        if (event !== "the process stops" || rng.chance(0.1)) await EVENTS[event](stage);
        if (rng.chance(0.1)) stage.canRecord = true;
        requireRow(stage);
      }
      // All that is under way ends: an actor that stops is quiet then.
      void stage.actor.stop().then(() => (stage.isStopped = true));
      while (stage.flying.length + stage.recording.length + stage.disposing.length > 0) {
        await stage.answer(200);
        await stage.write();
      }
      await nextTurn();
      expect(stage.isStopped).toBe(true);
    }
  });
});

test("an attempt that got no file for a socket uses up nothing, and is made again a moment later", async () => {
  const stage = new ActorStage();
  stage.deliver();
  for (let times = 0; times < 20; times++) {
    await stage.answer(null);
    expect([stage.flying.length, stage.recording.length, stage.actor.mode]).toEqual([0, 0, "backing_off"]);
    expect(stage.actor.currentHealth).toBe(HEALTHY);
    stage.clock.advance(1000);
    await nextTurn();
  }
  await stage.answer(200);
  expect(stage.recording[0]?.settlement.sent.outcome).toBe("delivered");
});

test("such an attempt goes with the others where the endpoint is disabled or stopped meanwhile", async () => {
  const stage = new ActorStage();
  stage.deliver();
  stage.change({ status: "disabled" });
  await stage.answer(null);
  await stage.write();
  expect([stage.rows.size, stage.actor.queued]).toEqual([0, 0]);
  const stopped = new ActorStage();
  stopped.deliver();
  const quiet = stopped.actor.stop();
  await stopped.answer(null);
  await quiet;
  expect([stopped.rows.size, stopped.flying.length]).toEqual([1, 0]);
});

describe("a test that finds no attempt", () => {
  const loadOf = (stage: ActorStage, id = 99): Load => {
    const keys = { id, eventId: id, endpointId: 1, projectId: 1 };
    stage.rows.set(id, NOW);
    const delivery = untriedDelivery({ ...keys, origin: "test", due: NOW });
    return { delivery, type: "order.paid", hops: 0, trace: null, body: new Uint8Array(2) };
  };

  for (const status of ["disabled", "deleted"] as const)
    test(`is ended where the endpoint is ${status}`, async () => {
      const stage = new ActorStage();
      stage.change({ status });
      expect(stage.actor.attemptNow(loadOf(stage), "test")).toBe("closed");
      await stage.write();
      expect([stage.rows.size, stage.actor.isQuiet]).toEqual([0, true]);
    });

  test("is ended where an answer is about to disable the endpoint", async () => {
    const stage = new ActorStage();
    stage.deliver();
    await stage.answer(410);
    expect(stage.actor.attemptNow(loadOf(stage), "test")).toBe("closed");
    await stage.write();
    await stage.write();
    expect([stage.rows.size, stage.actor.isQuiet]).toEqual([0, true]);
  });

  test("is sent with what waits where it had no slot, or was given up", async () => {
    const full = new ActorStage();
    full.isFull = true;
    expect(full.actor.attemptNow(loadOf(full), "test")).toBe("full");
    full.isFull = false;
    full.actor.wake();
    expect(full.flying.length).toBe(1);
    const short = new ActorStage();
    void short.actor.attemptNow(loadOf(short), "test");
    await short.answer(null);
    short.clock.advance(LONG_MS);
    expect(short.flying.length).toBe(1);
  });

  test("takes no slot of the queue, and has a few beside them: ten, or as many as its endpoint takes", () => {
    const stage = new ActorStage();
    let id = 99;
    const ask = (count: number) =>
      Array.from({ length: count }, () => stage.actor.attemptNow(loadOf(stage, id++), "manual"));
    const few = limit("concurrencyDefault");
    expect(ask(few + 2).filter((answer) => answer === "full")).toHaveLength(2);
    expect([stage.flying.length, stage.actor.reserveByHand()]).toEqual([few, "full"]);
    stage.deliver();
    expect(stage.flying.length).toBe(few + 1);
    stage.change({ maxConcurrency: few + 5 });
    expect(ask(6).filter((answer) => answer === "full")).toHaveLength(1);
  });

  test("has room again once one is answered", async () => {
    const stage = new ActorStage();
    const ask = (id: number) => stage.actor.attemptNow(loadOf(stage, id), "manual");
    for (let n = 0; n < limit("concurrencyDefault"); n++) void ask(200 + n);
    expect(ask(99)).toBe("full");
    await stage.answer(200);
    expect(ask(99)).toBeInstanceOf(Promise);
  });

  test("a retry that had no slot leaves the delivery as it was", () => {
    const stage = new ActorStage();
    stage.isFull = true;
    expect(stage.actor.attemptNow(loadOf(stage), "manual")).toBe("full");
    expect(stage.actor.queued).toBe(0);
  });
});
