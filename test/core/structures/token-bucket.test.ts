import { expect, test } from "bun:test";
import { TokenBucket } from "../../../src/core/structures/token-bucket.ts";

const burstOf = (perSecond: number) => Math.max(1, perSecond / 20);

/** Instants at which attempts go in ten seconds, where there is always one waiting. */
function goes(perSecond: number): number[] {
  const bucket = new TokenBucket(1, 0);
  const instants: number[] = [];
  for (let now = 0; now < 10_000; now = Math.max(now, bucket.nextAt(perSecond, burstOf(perSecond), now))) {
    if (bucket.nextAt(perSecond, burstOf(perSecond), now) > now) continue;
    bucket.take(1);
    instants.push(now);
  }
  return instants;
}

test.each([1, 5, 50, 1000])(
  "%p a second are never much more in any second, and not much less in ten",
  (rate) => {
    const instants = goes(rate);
    for (const from of instants) {
      const within = instants.filter((at) => at >= from && at < from + 1000).length;
      expect(within).toBeLessThanOrEqual(rate * 1.05 + 1);
    }
    expect(instants.length).toBeGreaterThanOrEqual(rate * 9.5);
  },
);

test("a clock that is set back takes nothing away", () => {
  const bucket = new TokenBucket(1, 3_600_000);
  bucket.take(1);
  expect(bucket.nextAt(10, 1, 0) - 0).toBeLessThanOrEqual(100);
});

test("a new rate holds from the next attempt on", () => {
  const bucket = new TokenBucket(1, 0);
  bucket.take(1);
  expect(bucket.nextAt(1, 1, 0)).toBe(1000);
  expect(bucket.nextAt(10, 1, 0)).toBe(100);
});
