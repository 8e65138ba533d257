import { expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limit } from "../../../src/core/limits.ts";
import type { Endpoint } from "../../../src/core/model.ts";
import { PollActor } from "../../../src/delivery/polling/poll-actor.ts";
import { plainEndpoint } from "../../kit/endpoint.ts";

/** An actor over so many parked deliveries, whose writes end when the test says so. */
class Stage {
  endpoint: Endpoint = { ...plainEndpoint, id: 1, kind: "poll", previous: null };
  parked: number[] = [];
  canRecord = true;
  isSuspended = false;
  readonly disposing: { ids: readonly number[]; done: () => void }[] = [];
  /** Others have their turn to end what waits. */
  isLineTaken = false;
  readonly inLine: (() => void)[] = [];
  readonly failures: unknown[] = [];
  readonly actor = new PollActor(this.endpoint, {
    giveWay: () => nextTurn(),
    parked: (_endpoint, count) =>
      this.parked.slice(0, count).map((id) => ({ id, endpointId: 1, due: 0, queueOrder: id, load: null })),
    dispose: (_, take) =>
      this.isLineTaken
        ? new Promise<void>((go) => this.inLine.push(go)).then(() => this.#dispose(take()))
        : this.#dispose(take()),
    canRecord: () => this.canRecord,
    isSuspended: () => this.isSuspended,
    unattended: (_work, running) => void running.catch((error: unknown) => this.failures.push(error)),
  });

  #dispose(ids: readonly number[]): Promise<readonly number[] | null> {
    if (ids.length === 0) return Promise.resolve(null);
    return new Promise((resolve) =>
      this.disposing.push({
        ids,
        done: () => {
          this.parked = this.parked.filter((id) => !ids.includes(id));
          resolve([]);
        },
      }),
    );
  }

  /** The turn of all has come. */
  async openLine(): Promise<void> {
    this.isLineTaken = false;
    for (const go of this.inLine.splice(0)) go();
    await nextTurn();
  }

  change(fields: Partial<Endpoint>): void {
    this.endpoint = { ...this.endpoint, ...fields };
    this.actor.update(this.endpoint);
  }

  /** A poller that waits; what it was woken for shows. */
  wait(signal = new AbortController().signal) {
    const waiter = { isAwake: false };
    void this.actor.changed(this.actor.changes, signal).then(() => (waiter.isAwake = true));
    return waiter;
  }

  /** So many that wait; each acknowledges the first that is parked once it is woken. */
  takers(count: number): { woken: number } {
    const takers = { woken: 0 };
    for (let n = 0; n < count; n++)
      void this.actor.changed(this.actor.changes, new AbortController().signal).then(() => {
        takers.woken++;
        this.parked.shift();
      });
    return takers;
  }
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await nextTurn();
}

test("what comes wakes all who wait for as long as it is there, one after the other, each in its turn", async () => {
  const stage = new Stage();
  const all = [stage.wait(), stage.wait(), stage.wait()];
  stage.parked = [1];
  stage.actor.enqueue();
  expect(stage.actor.pollers).toBe(3);
  const pollers: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    await nextTurn();
    pollers.push(stage.actor.pollers);
  }
  expect(pollers).toEqual([2, 1, 0, 0]);
  expect(all).toEqual([{ isAwake: true }, { isAwake: true }, { isAwake: true }]);
});

test("no more are woken than there is something for: one event one, many as many as take them", async () => {
  const stage = new Stage();
  const takers = stage.takers(100);
  stage.parked = [1];
  stage.actor.enqueue();
  await turns(5);
  expect([takers.woken, stage.actor.pollers]).toEqual([1, 99]);
  for (const id of [2, 3, 4, 5, 6]) {
    stage.parked.push(id);
    stage.actor.enqueue();
  }
  await turns(10);
  expect([takers.woken, stage.actor.pollers]).toEqual([6, 94]);
});

test("while nothing is handed out nobody is woken, whatever comes; afterwards all are", async () => {
  for (const isSuspended of [false, true]) {
    const stage = new Stage();
    if (isSuspended) stage.isSuspended = true;
    else stage.change({ status: "paused" });
    const all = [stage.wait(), stage.wait()];
    stage.parked = [1, 2];
    stage.actor.enqueue();
    stage.actor.enqueue();
    stage.actor.wake();
    await turns(5);
    expect([all, stage.actor.pollers]).toEqual([[{ isAwake: false }, { isAwake: false }], 2]);
    stage.isSuspended = false;
    if (isSuspended) stage.actor.wake();
    else stage.change({ status: "active" });
    await turns(5);
    expect(all).toEqual([{ isAwake: true }, { isAwake: true }]);
  }
});

test("a changed endpoint wakes all, also where nothing is there: its secret may be another", async () => {
  const stage = new Stage();
  const all = [stage.wait(), stage.wait()];
  stage.actor.wake();
  await turns(3);
  expect(all).toEqual([{ isAwake: false }, { isAwake: false }]);
  stage.change({});
  const later = stage.wait();
  await turns(5);
  expect([...all, later]).toEqual([{ isAwake: true }, { isAwake: true }, { isAwake: false }]);
});

test("whoever leaves, before its turn or once woken, leaves what came to the next one", async () => {
  const stage = new Stage();
  const leaving = new AbortController();
  const [gone, woken, last] = [stage.wait(leaving.signal), stage.wait(), stage.wait()];
  stage.parked = [1];
  stage.actor.enqueue();
  leaving.abort();
  await nextTurn();
  // This one takes nothing.
  expect([gone, woken, last]).toEqual([{ isAwake: true }, { isAwake: true }, { isAwake: false }]);
  await turns(2);
  expect([last, stage.actor.pollers]).toEqual([{ isAwake: true }, 0]);
  await stage.actor.changed(stage.actor.changes, leaving.signal);
});

test("what comes while pollers are being woken wakes those who have looked meanwhile", async () => {
  const stage = new Stage();
  const first = stage.wait();
  stage.parked = [1];
  stage.actor.enqueue();
  await nextTurn();
  expect(first).toEqual({ isAwake: true });
  stage.parked = [];
  const again = stage.wait();
  stage.parked = [2];
  stage.actor.enqueue();
  await turns(3);
  expect(again).toEqual({ isAwake: true });
});

test("what comes between the look and the wait is not missed", async () => {
  const stage = new Stage();
  const seen = stage.actor.changes;
  stage.actor.enqueue();
  await stage.actor.changed(seen, new AbortController().signal);
  expect(stage.actor.pollers).toBe(0);
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

test("while others have their turn nothing is ended: not once it is enabled, and a stop does not wait", async () => {
  const stage = new Stage();
  stage.parked = [1, 2];
  stage.isLineTaken = true;
  stage.change({ status: "disabled" });
  stage.change({ status: "active" });
  await stage.openLine();
  expect(stage.disposing).toEqual([]);
  stage.isLineTaken = true;
  stage.change({ status: "disabled" });
  stage.change({ status: "active" });
  stage.change({ status: "deleted" });
  expect(stage.inLine.length).toBe(1);
  await stage.openLine();
  expect(stage.disposing.map(({ ids }) => ids)).toEqual([[1, 2]]);
  const another = new Stage();
  another.parked = [1];
  another.isLineTaken = true;
  another.change({ status: "deleted" });
  await another.actor.stop();
  await another.openLine();
  expect(another.disposing).toEqual([]);
});

test("a turn in which its rows cannot be read is told, and the next wake asks for another one", async () => {
  const stage = new Stage();
  stage.parked = [1];
  stage.isLineTaken = true;
  stage.change({ status: "deleted" });
  const { parked } = stage;
  spyOn(parked, "slice").mockImplementationOnce(() => {
    throw new Error("the disk cannot be read");
  });
  await stage.openLine();
  expect(stage.failures.map(String)).toEqual(["Error: the disk cannot be read"]);
  stage.actor.wake();
  expect(stage.disposing.map(({ ids }) => ids)).toEqual([[1]]);
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
  await stage.actor.changed(stage.actor.changes, new AbortController().signal);
  stage.disposing[0]?.done();
  await stopped;
  expect(stage.actor.pollers).toBe(0);
});
