/** How long work in slices rests, by a clock that the test moves. */
import { expect, spyOn, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { createJobControl, inTurns } from "../../src/platform/job-control.ts";
import { jobControlOf } from "../kit/job-control.ts";

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

/**
 * Owners by name, with the slices that each has left; and who had a slice, or a look in vain, in order. Each
 * is an account of its own, but for those of one letter and a number: `a1`, `a2`.
 */
class Work {
  readonly turns: string[] = [];
  readonly rests: number[] = [];

  readonly #accounts: Map<number, string[]>;

  constructor(private readonly slices: Map<string, number>) {
    const accountOf = (name: string) => (/^[a-z]\d/.test(name) ? name.charCodeAt(0) : Bun.hash.crc32(name));
    this.#accounts = Map.groupBy(slices.keys(), accountOf);
  }

  run(rest = () => {}, isStopping = () => false): Promise<number> {
    const control = jobControlOf({
      rest: async () => {
        this.rests.push(this.turns.length);
        rest();
      },
      isStopping,
    });
    return inTurns(
      {
        accounts: () => this.#accounts.keys(),
        of: (accountId) => this.#accounts.get(accountId) ?? [],
      },
      control,
      async (owner) => {
        const left = this.slices.get(owner) ?? 0;
        this.turns.push(left > 0 ? owner : "");
        this.slices.set(owner, Math.max(0, left - 1));
        return left > 0 ? 3 : null;
      },
    );
  }
}

test("owners take turns, a slice each, with a rest behind it", async () => {
  const work = new Work(new Map(Object.entries({ a: 4, b: 1, c: 2 })));
  expect(await work.run()).toBe(7 * 3);
  expect(work.turns.filter((owner) => owner !== "").join("")).toBe("abcacaa");
  expect(work.rests.length).toBe(7);
});

test("accounts take turns, and in them their owners: however many one has, the other comes next", async () => {
  const work = new Work(new Map(Object.entries({ a1: 2, a2: 1, a3: 1, a4: 1, b1: 3, a5: 0 })));
  await work.run();
  expect(work.turns.filter((owner) => owner !== "").join(" ")).toBe("a1 b1 a2 b1 a3 b1 a4 a1");
});

test("an owner who gets something meanwhile has it done beside who has much", async () => {
  const slices = new Map(Object.entries({ a: 1000, b: 0 }));
  const work = new Work(slices);
  await work.run(() => {
    if (work.rests.length === 10) slices.set("b", 1);
  });
  expect(work.turns.indexOf("b")).toBeLessThan(20);
});

test("very many owners who have nothing cost few looks for each slice, and rest now and then", async () => {
  const idle = Array.from({ length: 10_000 }, (_, n): [string, number] => [`idle ${n}`, 0]);
  const work = new Work(new Map([["a", 3000], ...idle]));
  await work.run();
  // Once all of them, and then ten for each slice.
  expect(work.turns.length).toBeLessThan(10_000 + 3000 * 12);
  const longest = Math.max(...work.rests.map((at, n) => at - (work.rests[n - 1] ?? 0)));
  expect(longest).toBeLessThanOrEqual(50);
});

test("no slice begins once the work has to stop", async () => {
  const work = new Work(new Map(Object.entries({ a: 5, b: 5 })));
  expect(await work.run(undefined, () => work.rests.length >= 3)).toBe(3 * 3);
  expect(work.turns.join("")).toBe("aba");
});
