import { afterEach, describe, expect, test } from "bun:test";
import { FAULT_NAMES, type Tally } from "./receivers.ts";
import { Simulation } from "./run.ts";
import { setBounds } from "./scenario.ts";

afterEach(() => setBounds(false));

const noFaults = () => Object.fromEntries(FAULT_NAMES.map((name) => [name, 0])) as Tally;

async function runSeed(seed: number): Promise<{ violations: string[]; hash: number }> {
  const run = new Simulation(seed, noFaults());
  const violations = await run.run();
  run.sqlite.close();
  return { violations, hash: run.hash };
}

describe("the service under chance", () => {
  test("keeps its promises over 60 seeds", async () => {
    for (let seed = 10_000; seed < 10_060; seed++) {
      const { violations } = await runSeed(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  });

  test("does the same again with the same seed", async () => {
    for (const seed of [1, 7, 42]) expect((await runSeed(seed)).hash).toBe((await runSeed(seed)).hash);
    expect((await runSeed(1)).hash).not.toBe((await runSeed(2)).hash);
  });
});
