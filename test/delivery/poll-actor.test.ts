import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limit } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { PollActor } from "../../src/delivery/poll-actor.ts";
import { SetClock } from "../kit/clock.ts";
import { plainEndpoint } from "../kit/endpoint.ts";

const NOW = 1000;

/** An actor over so many parked deliveries, whose writes end when the test says so. */
class Stage {
  readonly clock = new SetClock(NOW);
  endpoint: Endpoint = { ...plainEndpoint, id: 1, kind: "poll", previous: null };
  parked: number[] = [];
  canRecord = true;
  isSuspended = false;
  readonly disposing: { ids: readonly number[]; done: () => void }[] = [];
  readonly failures: unknown[] = [];
  readonly actor = new PollActor(this.endpoint, {
    timer: (at, wake) => this.clock.timer(at, wake),
    parked: (_endpoint, count) =>
      this.parked.slice(0, count).map((id) => ({ id, endpointId: 1, due: 0, queueOrder: id, load: null })),
    dispose: (ids) =>
      new Promise((resolve) =>
        this.disposing.push({
          ids,
          done: () => {
            this.parked = this.parked.filter((id) => !ids.includes(id));
            resolve([]);
          },
        }),
      ),
    canRecord: () => this.canRecord,
    isSuspended: () => this.isSuspended,
    unattended: (_work, running) => void running.catch((error: unknown) => this.failures.push(error)),
  });

  change(fields: Partial<Endpoint>): void {
    this.endpoint = { ...this.endpoint, ...fields };
    this.actor.update(this.endpoint);
  }

  /** A poller that waits; what it was woken for shows. */
  wait(ms = 100, signal = new AbortController().signal) {
    const waiter = { isAwake: false };
    void this.actor.changed(this.actor.changes, NOW + ms, signal).then(() => (waiter.isAwake = true));
    return waiter;
  }
}

test("all who wait look again once something comes, and no timer is left", async () => {
  const stage = new Stage();
  const both = [stage.wait(), stage.wait()];
  expect([stage.actor.pollers, stage.clock.timers]).toEqual([2, 2]);
  stage.actor.enqueue();
  await nextTurn();
  expect(both).toEqual([{ isAwake: true }, { isAwake: true }]);
  expect([stage.actor.pollers, stage.clock.timers]).toEqual([0, 0]);
});

test("what comes between the look and the wait is not missed", async () => {
  const stage = new Stage();
  const seen = stage.actor.changes;
  stage.actor.enqueue();
  await stage.actor.changed(seen, NOW + 100, new AbortController().signal);
  expect(stage.actor.pollers).toBe(0);
});

test("each waits until its own time, or until its client leaves", async () => {
  const stage = new Stage();
  const leaving = new AbortController();
  const [short, long, gone] = [stage.wait(10), stage.wait(20), stage.wait(20, leaving.signal)];
  leaving.abort();
  stage.clock.advance(10);
  await nextTurn();
  expect([short, long, gone]).toEqual([{ isAwake: true }, { isAwake: false }, { isAwake: true }]);
  expect([stage.actor.pollers, stage.clock.timers]).toEqual([1, 1]);
  await stage.actor.changed(stage.actor.changes, NOW + 50, leaving.signal);
});

test("is held back while paused or suspended, and says by which; nobody can be made to take anything", () => {
  const stage = new Stage();
  const state = () => [stage.actor.isHeldBack, stage.actor.waitingFor(), stage.actor.attemptNow()];
  expect(state()).toEqual([false, null, "polled"]);
  stage.isSuspended = true;
  expect(state()).toEqual([true, "plan_limit", "polled"]);
  stage.change({ status: "paused" });
  expect(state()).toEqual([true, "paused", "polled"]);
  stage.change({ status: "disabled" });
  expect(stage.actor.attemptNow()).toBe("closed");
});

test("once disabled or deleted, what waits is ended slice by slice, by one walk", async () => {
  const stage = new Stage();
  const slice = limit("sliceRows");
  stage.parked = Array.from({ length: slice + 1 }, (_, at) => at + 1);
  stage.change({ status: "disabled" });
  stage.change({ status: "deleted" });
  expect(stage.disposing.map(({ ids }) => ids.length)).toEqual([slice]);
  expect([stage.actor.isQuiet, stage.actor.isGone]).toEqual([false, false]);
  stage.disposing[0]?.done();
  await nextTurn();
  expect(stage.disposing[1]?.ids).toEqual([slice + 1]);
  stage.disposing[1]?.done();
  await nextTurn();
  expect([stage.disposing.length, stage.actor.isGone, stage.failures]).toEqual([2, true, []]);
});

test("what was enabled meanwhile is ended no further, and a full disk is waited for", async () => {
  const stage = new Stage();
  stage.parked = Array.from({ length: limit("sliceRows") + 5 }, (_, at) => at + 1);
  stage.canRecord = false;
  stage.change({ status: "disabled" });
  await nextTurn();
  expect(stage.disposing).toEqual([]);
  stage.canRecord = true;
  stage.actor.wake();
  stage.change({ status: "active" });
  stage.disposing[0]?.done();
  await nextTurn();
  expect([stage.disposing.length, stage.parked.length]).toEqual([1, 5]);
});

test("a stop sends everybody away, lets nobody wait, and comes after what is on its way to the disk", async () => {
  const stage = new Stage();
  const waiter = stage.wait();
  stage.parked = [1];
  stage.change({ status: "deleted" });
  let isStopped = false;
  const stopped = stage.actor.stop().then(() => (isStopped = true));
  await nextTurn();
  expect([waiter.isAwake, isStopped, stage.actor.isStopped]).toEqual([true, false, true]);
  await stage.actor.changed(stage.actor.changes, NOW + 100, new AbortController().signal);
  stage.disposing[0]?.done();
  await stopped;
  expect([stage.actor.pollers, stage.clock.timers]).toEqual([0, 0]);
});
