/** When a refusal leaves the door; how little its time tells is measured by test/bench/refusals.ts. */
import { expect, test } from "bun:test";
import { refuseInTime, refusalMs, type StartTimer } from "../../../src/http/ingest/refusal-time.ts";
import { limit } from "../../../src/core/limits.ts";

/** The first timer goes off when the test says so; what a late machine sets after it, at once. */
function timers() {
  const started: { ms: number; wake: () => void }[] = [];
  const calledOff = { times: 0 };
  const start: StartTimer = (ms, wake) => {
    started.push({ ms, wake });
    if (started.length > 1) wake();
    return () => calledOff.times++;
  };
  return { started, calledOff, start };
}

test("it is set before the work begins, by the body's length alone", async () => {
  for (const status of [401, 200]) {
    const { started, start } = timers();
    const judge = () => {
      expect(started.map(({ ms }) => ms)).toEqual([refusalMs(4096)]);
      started[0]?.wake();
      return Promise.resolve({ status });
    };
    expect(await refuseInTime(4096, judge, start)).toEqual({ status });
  }
  expect(refusalMs(0)).toBe(limit("refusalMs"));
  expect(refusalMs(1024 * 1024)).toBe(limit("refusalMs") + limit("refusalMsPerMib"));
});

test("a refusal waits for it, whatever else is answered does not", async () => {
  const { started, calledOff, start } = timers();
  let hasLeft = false;
  const refusal = refuseInTime(0, () => Promise.resolve({ status: 401 }), start).then((answer) => {
    hasLeft = true;
    return answer;
  });
  expect(await refuseInTime(0, () => Promise.resolve({ status: 200 }), start)).toEqual({ status: 200 });
  expect([hasLeft, calledOff.times]).toEqual([false, 1]);
  started[0]?.wake();
  expect(await refusal).toEqual({ status: 401 });
  const failed = refuseInTime(0, () => Promise.reject(new Error("no keys")), start);
  expect(await failed.catch((error: unknown) => String(error))).toBe("Error: no keys");
  expect(calledOff.times).toBe(3);
});
