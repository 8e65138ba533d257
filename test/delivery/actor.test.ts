import { describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { type Endpoint, HEALTHY, type Health, isSameDestination } from "../../src/core/model.ts";
import { EndpointActor, type Mode } from "../../src/delivery/actor.ts";
import type { Load } from "../../src/core/dispatch.ts";
import type { Performed, Settlement } from "../../src/delivery/actor-parts.ts";
import { SetClock, steadyOver } from "../kit/clock.ts";
import { Rng } from "../simulation/world.ts";
import { plainEndpoint } from "../kit/endpoint.ts";

const NOW = 1_000_000;
const LATER_MS = 10_000;
const LONG_MS = 3_600_000;
const endpoint: Endpoint = {
  ...plainEndpoint,
  id: 1,
  maxConcurrency: 1,
  retry: { schedule: [60] },
  previous: null,
};
const BACKING_OFF: Health = { ...HEALTHY, failuresInRow: 5, backoffLevel: 1, backoffUntil: NOW + LATER_MS };

/** An actor whose attempts end, and whose outcomes reach the disk, when the test says so. */
class Stage {
  readonly clock = new SetClock(NOW);
  endpoint = endpoint;
  canRecord = true;
  isSuspended = false;
  isFull = false;
  /** What the database knows of open deliveries. */
  readonly rows = new Map<number, number>();
  /** null: it was not tried. */
  readonly flying: ((answer: number | null) => void)[] = [];
  readonly recording: { settlement: Settlement<Performed>; done: () => void }[] = [];
  readonly disposing: (() => void)[] = [];
  isStopped = false;
  readonly actor: EndpointActor<Performed>;
  #ids = 0;

  constructor(health: Health = HEALTHY) {
    this.actor = new EndpointActor<Performed>(endpoint, health, {
      held: { deliveries: 0, bytes: 0 },
      clock: steadyOver(this.clock),
      random: () => 0.5,
      load: (id) => this.#load(id),
      parked: () => [],
      firstParked: () => null,
      perform: () =>
        new Promise((resolve) =>
          this.flying.push((statusCode) => {
            if (statusCode === null) return resolve(null);
            const outcome = statusCode === 200 ? "delivered" : "rejected";
            resolve({ finding: { outcome, statusCode, retryAfterAt: null } });
          }),
        ),
      landed: () => {},
      record: (settlement) =>
        new Promise((resolve) =>
          this.recording.push({
            settlement,
            done: () => {
              this.#write(settlement);
              resolve(true);
            },
          }),
        ),
      dispose: (ids) =>
        new Promise((resolve) =>
          this.disposing.push(() => {
            for (const id of ids) this.rows.delete(id);
            resolve([]);
          }),
        ),
      hasSlot: () => !this.isFull,
      isSlotFree: () => !this.isFull,
      canRecord: () => this.canRecord,
      isRoomy: () => true,
      unattended: (_work, running) => void running,
      isSuspended: () => this.isSuspended,
    });
  }

  deliver(inMs = 0): void {
    const id = ++this.#ids;
    const due = this.clock.now() + inMs;
    this.rows.set(id, due);
    this.actor.enqueue({ id, due, queueOrder: null });
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
    return { delivery, type: "order.paid", hops: 0, body: new Uint8Array(2) };
  }

  #write({ endpoint: asked, load, change, disable }: Settlement<Performed>): void {
    if (change?.due) this.rows.set(load.delivery.id, change.due);
    else if (change) this.rows.delete(load.delivery.id);
    if (disable && isSameDestination(asked, this.endpoint))
      this.change({ status: "disabled", disabledReason: disable });
  }
}

/** The ways into each state, by what happens outside. */
const WAYS: Record<Mode, () => Stage | Promise<Stage>> = {
  idle: () => new Stage(),
  waiting: () => {
    const stage = new Stage();
    stage.deliver(LATER_MS);
    return stage;
  },
  blocked: () => {
    const stage = new Stage();
    stage.isSuspended = true;
    stage.deliver();
    return stage;
  },
  sending: () => {
    const stage = new Stage();
    stage.deliver();
    return stage;
  },
  backing_off: () => {
    const stage = new Stage(BACKING_OFF);
    stage.deliver();
    return stage;
  },
  paused: () => {
    const stage = new Stage();
    stage.change({ status: "paused" });
    stage.deliver();
    return stage;
  },
  closing: async () => {
    const stage = new Stage();
    stage.deliver();
    stage.deliver(LATER_MS);
    await stage.answer(410);
    return stage;
  },
  disposing: () => {
    const stage = new Stage();
    stage.deliver(LATER_MS);
    stage.change({ status: "disabled" });
    return stage;
  },
  stopped: () => {
    const stage = new Stage();
    stage.deliver(LATER_MS);
    void stage.actor.stop().then(() => (stage.isStopped = true));
    return stage;
  },
};
const MODES = Object.keys(WAYS) as Mode[];

const EVENTS = {
  "a delivery comes": (stage: Stage) => stage.deliver(),
  "a delivery for later comes": (stage: Stage) => stage.deliver(LATER_MS),
  "its time comes": (stage: Stage) => stage.clock.advance(LONG_MS),
  "the answer is 200": async (stage: Stage) => {
    await stage.answer(200);
    await stage.write();
  },
  "the answer is 500": async (stage: Stage) => {
    await stage.answer(500);
    await stage.write();
  },
  "the answer is 410": async (stage: Stage) => {
    await stage.answer(410);
    await stage.write();
  },
  "the disk has written": (stage: Stage) => stage.write(),
  pause: (stage: Stage) => stage.change({ status: "paused" }),
  "resume or enable": (stage: Stage) => stage.change({ status: "active" }),
  disable: (stage: Stage) => stage.change({ status: "disabled" }),
  delete: (stage: Stage) => stage.change({ status: "deleted" }),
  "another address": (stage: Stage) => stage.change({ config: { url: "https://example.com/other" } }),
  "waits are cleared": (stage: Stage) => stage.actor.clearWaits(),
  "the account is suspended": (stage: Stage) => {
    stage.isSuspended = true;
    stage.actor.wake();
  },
  "the account goes on": (stage: Stage) => {
    stage.isSuspended = false;
    stage.actor.wake();
  },
  "the disk is full": (stage: Stage) => {
    stage.canRecord = false;
    stage.actor.wake();
  },
  "what waits is cancelled": (stage: Stage) => {
    for (const id of stage.actor.ids()) {
      stage.rows.delete(id);
      stage.actor.forget(id);
    }
  },
  "an attempt by hand": (stage: Stage) => {
    stage.rows.set(99, stage.clock.now());
    const delivery = untriedDelivery({
      id: 99,
      eventId: 99,
      endpointId: 1,
      projectId: 1,
      origin: "publish",
      due: NOW,
    });
    const load: Load = { delivery, type: "order.paid", hops: 0, body: new Uint8Array(2) };
    void stage.actor.attemptNow(load, "manual");
  },
  "the process stops": (stage: Stage) => void stage.actor.stop().then(() => (stage.isStopped = true)),
} satisfies Record<string, (stage: Stage) => unknown>;
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
  // What was about to be ended is on its way to the disk.
  disposing: { "the process stops": "stopped", pause: "paused", "resume or enable": "idle" },
  stopped: {},
};

/** What holds in every state, as its row of the table in actor.ts says. */
function requireRow({ actor, clock, flying }: Stage): void {
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

  test("closing ends where the outcome does not disable the endpoint: it leads somewhere else by now", async () => {
    const stage = await WAYS.closing();
    stage.change({ config: { url: "https://example.com/other" } });
    expect(stage.actor.mode).toBe("closing");
    await stage.write();
    expect(stage.actor.mode).toBe("waiting");
    requireRow(stage);
  });

  test("a delivery that is due says what holds it: the slots of all endpoints, the disk", () => {
    const stage = new Stage();
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
      const stage = new Stage();
      stage.change({ ordering });
      stage.deliver(LATER_MS);
      stage.deliver(LATER_MS + 1);
      stage.byHand(1);
      return stage;
    };

    test("holds up no other, and is looked at again once it has failed", async () => {
      const stage = hanging("none");
      stage.clock.advance(LATER_MS + 1);
      expect([stage.flying.length, stage.actor.ids()]).toEqual([2, [1, 2]]);
      await stage.answer(500);
      await stage.write();
      stage.flying.shift()?.(200);
      await nextTurn();
      expect([stage.flying.length, stage.actor.ids()]).toEqual([1, [2, 1]]);
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
      const stage = new Stage();
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
  const stage = new Stage();
  stage.deliver();
  for (let times = 0; times < 20; times++) {
    await stage.answer(null);
    expect([stage.flying.length, stage.recording.length, stage.actor.mode]).toEqual([0, 0, "backing_off"]);
    expect(stage.actor.currentHealth).toBe(HEALTHY);
    stage.clock.advance(1000);
    await nextTurn();
  }
  await stage.answer(200);
  expect(stage.recording[0]?.settlement.performed.finding.outcome).toBe("delivered");
});

test("such an attempt goes with the others where the endpoint is disabled or stopped meanwhile", async () => {
  const stage = new Stage();
  stage.deliver();
  stage.change({ status: "disabled" });
  await stage.answer(null);
  await stage.write();
  expect([stage.rows.size, stage.actor.queued]).toEqual([0, 0]);
  const stopped = new Stage();
  stopped.deliver();
  const quiet = stopped.actor.stop();
  await stopped.answer(null);
  await quiet;
  expect([stopped.rows.size, stopped.flying.length]).toEqual([1, 0]);
});
