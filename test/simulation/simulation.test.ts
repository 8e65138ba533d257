import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { MUTANTS } from "./mutants.ts";
import { FAULT_NAMES, type Tally } from "./receivers.ts";
import { Simulation } from "./run.ts";
import { setBounds } from "./scenario.ts";

afterEach(() => setBounds(null));

const noFaults = () => Object.fromEntries(FAULT_NAMES.map((name) => [name, 0])) as Tally;

async function runSeed(seed: number): Promise<{ violations: string[]; hash: number }> {
  const run = new Simulation(seed, noFaults());
  const violations = await run.run();
  run.sqlite.close();
  return { violations, hash: run.hash };
}

test.each(MUTANTS)("there is a place for the planted bug: $name", async ({ file, find }) => {
  const text = await Bun.file(join(import.meta.dir, "../../src", file)).text();
  expect(text.split(find)).toHaveLength(2);
});

describe("the service under chance", () => {
  const seeds = Array.from({ length: 60 }, (_, n) => 10_000 + n);

  // Each by itself: all together take longer than a test may on a machine that is busy.
  test.each(seeds)("keeps its promises with seed %i", async (seed) => {
    expect((await runSeed(seed)).violations).toEqual([]);
  });

  test.each([1, 7, 42])("does the same again with the same seed, %i", async (seed) => {
    expect((await runSeed(seed)).hash).toBe((await runSeed(seed)).hash);
  });

  test("does something else with another seed", async () => {
    expect((await runSeed(1)).hash).not.toBe((await runSeed(2)).hash);
  });
});
