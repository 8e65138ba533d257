import { expect, test } from "bun:test";
import { RateBucket } from "../../src/delivery/rate-bucket.ts";

/** Instants at which attempts go in ten seconds, where there is always one waiting. */
function goes(perSecond: number): number[] {
  const bucket = new RateBucket(0);
  const instants: number[] = [];
  for (let now = 0; now < 10_000; now = Math.max(now, bucket.nextAt(perSecond, now))) {
    if (bucket.nextAt(perSecond, now) > now) continue;
    bucket.take();
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
  const bucket = new RateBucket(3_600_000);
  bucket.take();
  expect(bucket.nextAt(10, 0) - 0).toBeLessThanOrEqual(100);
});

test("a new rate holds from the next attempt on", () => {
  const bucket = new RateBucket(0);
  bucket.take();
  expect(bucket.nextAt(1, 0)).toBe(1000);
  expect(bucket.nextAt(10, 0)).toBe(100);
});
