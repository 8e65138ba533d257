import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { atMost, endTraffic, type Traffic } from "../../src/maintenance/drain.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** The end, of a service that has neither attempts nor answers in flight unless `parts` has some. */
function end(parts: Partial<Traffic>): Promise<void> {
  const confirmations = { untilAnswered: async () => {} };
  const actors = { stop: async () => {} };
  const abort = new AbortController();
  return endTraffic({ actors, confirmations, abort, isRouted: false, enter: () => {}, ...parts });
}

/** True once `work` has come to its end. */
function ended(work: Promise<unknown>): () => Promise<boolean> {
  let isOver = false;
  void work.finally(() => (isOver = true)).catch(() => {});
  return async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    return isOver;
  };
}

test("attempts get 8.5 seconds, those that are cut then half a second more", async () => {
  const abort = new AbortController();
  const isOver = ended(end({ actors: { stop: () => new Promise(() => {}) }, abort }));
  jest.advanceTimersByTime(8499);
  expect([abort.signal.aborted, await isOver()]).toEqual([false, false]);
  jest.advanceTimersByTime(1);
  expect([abort.signal.aborted, await isOver()]).toEqual([true, false]);
  jest.advanceTimersByTime(500);
  expect(await isOver()).toBe(true);
});

test("it is over with the last attempt and the last answer that waits, and nothing is cut later", async () => {
  const abort = new AbortController();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const isOver = ended(end({ confirmations: { untilAnswered: () => answered }, abort }));
  expect(await isOver()).toBe(false);
  answer();
  expect(await isOver()).toBe(true);
  jest.advanceTimersByTime(10_000);
  expect(abort.signal.aborted).toBe(false);
});

test("who leaves tells the router once attempts have ended, and gives it three seconds to see that", async () => {
  const abort = new AbortController();
  const phases: string[] = [];
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const isOver = ended(
    end({ actors: { stop: () => stopped }, abort, isRouted: true, enter: (is) => phases.push(is) }),
  );
  jest.advanceTimersByTime(8499);
  expect([await isOver(), phases, abort.signal.aborted]).toEqual([false, ["leaving"], false]);
  stop();
  expect([await isOver(), phases]).toEqual([false, ["leaving", "parting"]]);
  jest.advanceTimersByTime(2999);
  expect(await isOver()).toBe(false);
  jest.advanceTimersByTime(1);
  expect([await isOver(), abort.signal.aborted]).toEqual([true, false]);
  expect(phases).toEqual(["leaving", "parting", "stopping"]);
});

test("attempts that a full disk keeps open while it leaves are not waited for once more, answers are", async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const confirmations = { untilAnswered: () => answered };
  const actors = { stop: () => new Promise<void>(() => {}) };
  const isOver = ended(end({ actors, confirmations, isRouted: true }));
  jest.advanceTimersByTime(9000);
  await isOver();
  jest.advanceTimersByTime(3000);
  expect(await isOver()).toBe(false);
  answer();
  expect(await isOver()).toBe(true);
});

test("work that fails or hangs keeps nobody", async () => {
  await atMost(500, Promise.reject(new Error("the disk is full")));
  const isOver = ended(atMost(500, new Promise(() => {})));
  expect(await isOver()).toBe(false);
  jest.advanceTimersByTime(500);
  expect(await isOver()).toBe(true);
});
