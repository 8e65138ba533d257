/** Attempts by account: a few names, however many accounts there are, and no count that goes down. */
import { describe, expect, test } from "bun:test";
import { AccountAttempts, NAMED_ACCOUNTS_MAX } from "../../src/platform/account-attempts.ts";

const THOUSANDS = 5000;

function countMany(attempts: AccountAttempts, accountId: number, times: number): void {
  for (let n = 0; n < times; n++) attempts.count(accountId, "delivered");
}

const namesOf = (attempts: AccountAttempts) => new Set(attempts.read().map(([id]) => id));

const totalOf = (attempts: AccountAttempts) =>
  attempts.read().reduce((sum, [, { delivered, failed }]) => sum + delivered + failed, 0);

describe("attempts by account", () => {
  test("have a name each, while there are few accounts, from the first attempt on", () => {
    const attempts = new AccountAttempts();
    attempts.count(7, "delivered");
    attempts.count(7, "failed");
    attempts.count(8, "failed");
    expect(attempts.read()).toEqual([
      [7, { delivered: 1, failed: 1 }],
      [8, { delivered: 0, failed: 1 }],
      [null, { delivered: 0, failed: 0 }],
    ]);
  });

  test("of thousands of accounts are counted once each, under as many names as before", () => {
    const attempts = new AccountAttempts();
    for (let id = 1; id <= THOUSANDS; id++) attempts.count(id, "delivered");
    expect(attempts.read()).toHaveLength(NAMED_ACCOUNTS_MAX + 1);
    expect(totalOf(attempts)).toBe(THOUSANDS);
    expect(attempts.read().at(-1)).toEqual([null, { delivered: THOUSANDS - NAMED_ACCOUNTS_MAX, failed: 0 }]);
  });

  test("show the busy accounts after a period, wherever these stand among thousands", () => {
    const attempts = new AccountAttempts();
    const busy = Array.from({ length: NAMED_ACCOUNTS_MAX }, (_, at) => THOUSANDS - at * 17);
    // The first accounts take the names.
    for (let id = 1; id <= NAMED_ACCOUNTS_MAX; id++) attempts.count(id, "delivered");
    // Each of the busy ones makes one attempt of twenty, among others that make one each.
    for (let id = 1; id <= THOUSANDS; id++) {
      attempts.count(id, "delivered");
      attempts.count(busy[id % busy.length] ?? 0, "failed");
    }
    attempts.endPeriod();
    expect(namesOf(attempts)).toEqual(new Set([...busy, null]));
    // They begin at zero, as what they made before stands under the others.
    expect(attempts.read().filter(([id, { failed }]) => id !== null && failed > 0)).toEqual([]);
  });

  test("keep their names where nobody is much busier, so that no new series come with every period", () => {
    const attempts = new AccountAttempts();
    for (let id = 1; id <= NAMED_ACCOUNTS_MAX; id++) attempts.count(id, "delivered");
    const before = namesOf(attempts);
    for (let period = 0; period < 10; period++) {
      for (let id = 1; id <= THOUSANDS; id++) countMany(attempts, id, 2);
      attempts.endPeriod();
    }
    expect(namesOf(attempts)).toEqual(before);
  });

  test("change the name of the quietest account only, and for twice its attempts only", () => {
    const attempts = new AccountAttempts();
    for (let id = 1; id <= NAMED_ACCOUNTS_MAX; id++) countMany(attempts, id, 9 + id);
    countMany(attempts, 1000, 20);
    attempts.endPeriod();
    expect(namesOf(attempts).has(1000)).toBe(false);
    for (let id = 1; id <= NAMED_ACCOUNTS_MAX; id++) countMany(attempts, id, 9 + id);
    countMany(attempts, 1000, 21);
    attempts.endPeriod();
    expect(namesOf(attempts).has(1000)).toBe(true);
    expect(namesOf(attempts).has(1)).toBe(false);
    expect(namesOf(attempts).has(2)).toBe(true);
  });

  test("never go down, but where an account that lost its name gets one again", () => {
    const attempts = new AccountAttempts();
    const before = new Map<number | null, number>();
    for (let period = 0; period < 50; period++) {
      // Other accounts are busy in each period.
      for (let id = 1; id <= 200; id++) countMany(attempts, id, (id * (period + 7)) % 31);
      const named = new Map(attempts.read().map(([id, { delivered }]) => [id, delivered]));
      for (const [id, delivered] of named) expect(delivered).toBeGreaterThanOrEqual(before.get(id) ?? 0);
      attempts.endPeriod();
      before.clear();
      for (const [id, { delivered }] of attempts.read()) before.set(id, delivered);
    }
  });
});
