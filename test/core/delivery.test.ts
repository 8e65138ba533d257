import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type AttemptStart,
  deliveryAfter,
  disabledBy,
  hasFailedTooLong,
  type Finding,
  gateOf,
  healthAfter,
  withoutWaits,
} from "../../src/core/delivery.ts";
import { HEALTHY, type Health } from "../../src/core/model.ts";
import {
  DEFAULT_SCHEDULE,
  doublingMs,
  nextScheduledAt,
  readRetryAfter,
  slowsEndpoint,
} from "../../src/core/retry.ts";

const now = Date.UTC(2026, 10, 21, 9);
const at = { now, random: 0.5 };
const first: AttemptStart = {
  trigger: "publish",
  delivery: { status: "pending", step: 0, due: now },
  probe: false,
  isOutdated: false,
  schedule: DEFAULT_SCHEDULE,
};
const ok: Finding = { outcome: "delivered", saysGone: false, slows: false, retryAfterMs: null };
const status = (statusCode: number, retryAfterMs: number | null = null): Finding => ({
  outcome: "rejected",
  saysGone: statusCode === 410,
  slows: slowsEndpoint(statusCode),
  retryAfterMs,
});
const refused: Finding = { outcome: "unreachable", saysGone: false, slows: false, retryAfterMs: null };
const day = 86_400_000;

const manual: AttemptStart = {
  ...first,
  trigger: "manual",
  delivery: { status: "retrying", step: 3, due: now + 5000 },
};

describe("the schedule", () => {
  test("is that of Standard Webhooks, ±10 %", () => {
    const waits = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
    for (const [step, seconds] of waits.entries()) {
      const at0 = nextScheduledAt(DEFAULT_SCHEDULE, step + 1, 0, 0);
      const at1 = nextScheduledAt(DEFAULT_SCHEDULE, step + 1, 0, 0.999999);
      expect(at0).toBe(seconds * 900);
      expect(at1).toBeCloseTo(seconds * 1100, -2);
    }
    expect(nextScheduledAt(DEFAULT_SCHEDULE, 10, 0, 0.5)).toBeNull();
  });

  test("without entries is exhausted by the first attempt", () => {
    expect(deliveryAfter({ ...first, schedule: [] }, refused, at)).toEqual({
      status: "dead",
      step: 1,
      due: null,
      deadReason: "exhausted",
    });
  });
});

describe("retry-after", () => {
  test.each([
    ["120", 120_000],
    ["0", null],
    ["-5", null],
    ["soon", null],
    ["", null],
    ["1.5", null],
    [undefined, null],
    ["Sat, 21 Nov 2026 09:01:00 GMT", 60_000],
    ["Sat, 21 Nov 2020 09:01:00 GMT", null],
    ["999999999", day],
    ["Fri, 21 Nov 2036 09:01:00 GMT", day],
    ["Saturday, 21-Nov-26 09:01:00 GMT", 60_000],
    ["Sat Nov 21 09:01:00 2026", 60_000],
    ["Fri, 31 Feb 2027 10:00:00 GMT", null],
    ["2026-11-21T09:01:00Z", null],
    ["GMT", null],
  ])("%p is read as %p", (value, expected) => expect(readRetryAfter(value, undefined, now)).toBe(expected));

  test.each([
    ["Sat, 21 Nov 2026 21:00:05 GMT", "Sat, 21 Nov 2026 21:00:00 GMT", 5000],
    ["Sat, 21 Nov 2026 09:00:05 GMT", "Sat, 21 Nov 2026 21:00:00 GMT", null],
    ["5", "Sat, 21 Nov 2026 21:00:00 GMT", 5000],
    ["Sat, 21 Nov 2026 09:01:00 GMT", "today", 60_000],
  ])("%p in an answer of %p is read by the receiver's own clock", (value, date, expected) =>
    expect(readRetryAfter(value, date, now)).toBe(expected),
  );

  test("moves the next attempt back, never forward", () => {
    expect(deliveryAfter(first, status(500, 60_000), at)?.due).toBe(now + 60_000);
    expect(deliveryAfter(first, status(500, 1000), at)?.due).toBe(now + 5000);
  });

  test.each([429, 502, 503, 504])("of a %p is the endpoint's, not the delivery's", (code) => {
    const finding = status(code, 60_000);
    expect(deliveryAfter(first, finding, at)?.due).toBe(now + 5000);
    expect(gateOf(healthAfter(HEALTHY, first, finding, at))).toBe(now + 60_000);
  });

  test("of an earlier destination counts for nothing", () => {
    const outdated = { ...first, isOutdated: true };
    expect(deliveryAfter(outdated, status(500, 60_000), at)?.due).toBe(now + 5000);
  });
});

describe("a delivery after an attempt", () => {
  test("is delivered by a success", () => {
    expect(deliveryAfter(first, ok, at)).toEqual({
      status: "delivered",
      step: 0,
      due: null,
      deadReason: null,
    });
  });

  test("is dead at once where it was blocked, malformed or gone", () => {
    for (const outcome of ["blocked", "malformed"] as const) {
      expect(deliveryAfter(first, { ...refused, outcome }, at)?.deadReason).toBe(outcome);
    }
    expect(deliveryAfter(first, status(410), at)?.deadReason).toBe("gone");
  });

  test("is dead as exhausted after ten failures of the default schedule", () => {
    let step = 0;
    let change = deliveryAfter(first, refused, at);
    while (change?.due !== null && step < 20) {
      const delivery = { status: "retrying", step: ++step, due: now } as const;
      change = deliveryAfter({ ...first, delivery }, refused, at);
    }
    expect(step + 1).toBe(10);
    expect(change?.deadReason).toBe("exhausted");
  });

  test("stays as it is after a failure by hand, and is delivered by a success by hand", () => {
    expect(deliveryAfter(manual, refused, at)).toBeNull();
    expect(deliveryAfter(manual, ok, at)?.status).toBe("delivered");
  });

  test("is tried no earlier than an answer by hand asked for, and otherwise as it was", () => {
    const { delivery } = manual;
    expect(deliveryAfter(manual, status(500, 2000), at)).toBeNull();
    expect(deliveryAfter(manual, status(500, 9000), at)).toEqual({
      ...delivery,
      due: now + 9000,
      deadReason: null,
    });
    // It slows down its endpoint, whose health holds all that waits.
    expect(deliveryAfter(manual, status(503, 9000), at)).toBeNull();
    expect(deliveryAfter({ ...manual, isOutdated: true }, status(500, 9000), at)).toBeNull();
    const dead: AttemptStart = { ...manual, delivery: { status: "dead", step: 3, due: null } };
    expect(deliveryAfter(dead, status(500, 9000), at)).toBeNull();
  });
});

describe("the health of an endpoint", () => {
  const fail = (health: Health, begun = first, finding: Finding = refused, time = now) =>
    healthAfter(health, begun, finding, { now: time, random: 0.5 });

  test("backs off after five failures in a row, 1 s doubling to 5 min with each failing probe", () => {
    let health: Health = HEALTHY;
    for (let n = 0; n < 4; n++) health = fail(health);
    expect(health.backoffLevel).toBe(0);
    health = fail(health);
    const waits = [health.backoffUntil - now];
    for (let n = 0; n < 10; n++) {
      health = fail(health, { ...first, probe: true });
      waits.push(health.backoffUntil - now);
    }
    expect(waits).toEqual([
      1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000,
    ]);
  });

  test("does not double for attempts that began before the backoff", () => {
    let health: Health = HEALTHY;
    for (let n = 0; n < 10; n++) health = fail(health);
    expect(health.backoffLevel).toBe(1);
  });

  test("does not count malformed deliveries, nor failures by hand", () => {
    let health: Health = HEALTHY;
    for (let n = 0; n < 9; n++) health = fail(health, first, { ...refused, outcome: "malformed" });
    for (let n = 0; n < 9; n++) health = fail(health, { ...first, trigger: "manual" });
    for (let n = 0; n < 9; n++) health = fail(health, { ...first, trigger: "test" });
    expect(health).toEqual(HEALTHY);
  });

  test.each([429, 502, 503, 504])(
    "%p slows the whole endpoint down, 1 s doubling, or as long as it asks",
    (code) => {
      let health = fail(HEALTHY, first, status(code));
      expect(health.slowUntil).toBe(now + 1000);
      health = fail(health, first, status(code), now + 1000);
      expect(health.slowUntil).toBe(now + 3000);
      expect(fail(HEALTHY, first, status(code, 77_000)).slowUntil).toBe(now + 77_000);
    },
  );

  test("answers of attempts from before do not double a slow-down", () => {
    let health: Health = HEALTHY;
    for (let n = 0; n < 8; n++) health = fail(health, first, status(503));
    expect(health.slowUntil).toBe(now + 1000);
  });

  test.each([500, 501, 400, 404, 301])("%p slows nothing down", (code) =>
    expect(fail(HEALTHY, first, status(code)).slowUntil).toBe(0),
  );

  test("forgets everything by a success, but for a slow-down that has not passed", () => {
    let health: Health = HEALTHY;
    for (let n = 0; n < 6; n++) health = fail(health);
    expect(healthAfter(health, first, ok, at)).toBe(HEALTHY);
    const asked = fail(health, first, status(503, 5000));
    expect(healthAfter(asked, first, ok, at)).toEqual({ ...HEALTHY, slowUntil: now + 5000 });
  });

  test("is slowed down until the doubled wait has passed, too, which begins anew after a success", () => {
    const twice = fail(fail(HEALTHY, first, status(503)), first, status(503), now + 1000);
    const well = healthAfter(twice, first, ok, { ...at, now: now + 2999 });
    expect(well).toEqual({ ...HEALTHY, slowUntil: now + 3000 });
    expect(healthAfter(twice, first, ok, { ...at, now: now + 3000 })).toBe(HEALTHY);
    expect(fail(well, first, status(503), now + 3000).slowUntil).toBe(now + 4000);
  });

  test("without its waits, one that did not fail is healthy, and has no row; one that failed keeps that", () => {
    const slowed = fail(HEALTHY, { ...first, trigger: "manual" }, status(503));
    expect(slowed.slowUntil).toBeGreaterThan(now);
    expect(withoutWaits(slowed)).toBe(HEALTHY);
    const failed = fail(HEALTHY, first, status(503));
    expect(withoutWaits(failed)).toEqual({ ...HEALTHY, failuresInRow: 1, failingSince: now });
  });

  test("waits grow within their bounds, whatever happens", () => {
    const findings = fc.constantFrom<Finding>(ok, refused, status(500), status(503), status(429, 10_000));
    fc.assert(
      fc.property(fc.array(fc.tuple(findings, fc.boolean()), { maxLength: 40 }), (steps) => {
        let health: Health = HEALTHY;
        for (const [finding, probe] of steps) health = fail(health, { ...first, probe }, finding);
        expect(health.backoffUntil - now).toBeLessThanOrEqual(300_000);
        expect(health.slowUntil - now).toBeLessThanOrEqual(300_000);
        expect(health.backoffLevel > 0).toBe(health.backoffUntil > 0);
      }),
    );
  });
});

describe("an endpoint is disabled", () => {
  const failedFor = (days: number, from = (since: number) => since) =>
    hasFailedTooLong({ failingSince: now - days * day }, now, from);

  test("by a 410 at once", () => expect(disabledBy(status(410), "publish", () => false)).toBe("gone"));

  test("by five days of failures without a success", () => {
    expect(disabledBy(refused, "retry", () => failedFor(4.99))).toBeNull();
    expect(disabledBy(refused, "retry", () => failedFor(5))).toBe("failing");
  });

  test("not by days that do not count", () => {
    expect([failedFor(9, () => now - 5 * day + 1), failedFor(9, () => now - 5 * day)]).toEqual([false, true]);
  });

  test("never by a success, nor by what counts as no failure", () => {
    expect(hasFailedTooLong(HEALTHY, now, (since) => since)).toBe(false);
    const malformed = { ...refused, outcome: "malformed" as const };
    const extra = (["manual", "test"] as const).map((trigger) => disabledBy(refused, trigger, () => true));
    expect([...extra, disabledBy(malformed, "publish", () => true)]).toEqual([null, null, null]);
  });
});

test("waits double from one second to five minutes", () => {
  expect([1, 2, 3, 9, 10, 50].map(doublingMs)).toEqual([1000, 2000, 4000, 256_000, 300_000, 300_000]);
});
