/** How long work in slices rests, by a clock that the test moves. */
import { expect, spyOn, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { createJobControl } from "../../src/platform/job-control.ts";

test("a rest is twice as long as its slice, within bounds, and the first one too: what was before the run does not count", async () => {
  let now = 3_600_000;
  const rests: number[] = [];
  using clock = spyOn(performance, "now").mockImplementation(() => now);
  using timer = spyOn(globalThis, "setTimeout").mockImplementation(((wake: () => void, ms: number) => {
    rests.push(ms);
    now += ms;
    wake();
  }) as unknown as typeof setTimeout);
  const control = createJobControl(() => false);
  for (const sliceMs of [10, 1, 60_000, 20]) {
    now += sliceMs;
    await control.rest();
  }
  expect([clock.mock.calls.length, timer.mock.calls.length]).toEqual([9, 4]);
  expect(rests).toEqual([20, limit("sliceRestMsMin"), limit("sliceRestMsMax"), 40]);
});
