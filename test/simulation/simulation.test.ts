import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { MUTANTS } from "./mutants.ts";
import { Simulation } from "./run.ts";
import { COUNTED, newTally } from "./tally.ts";
import { seedsOf, setBounds } from "./scenario.ts";

afterEach(() => setBounds(null));

async function runSeed(seed: number, tally = newTally()): Promise<{ violations: string[]; hash: number }> {
  const run = new Simulation(seed, tally);
  const violations = await run.run();
  run.sqlite.close();
  return { violations, hash: run.hash };
}

test.each(MUTANTS)("there is a place for the planted bug: $name", async ({ file, find }) => {
  const text = await Bun.file(join(import.meta.dir, "../../src", file)).text();
  expect(text.split(find)).toHaveLength(2);
});

describe("the service under chance", () => {
  const seeds = seedsOf(10_020, 20);
  const tally = newTally();

  // Each by itself: all together take longer than a test may on a machine that is busy.
  test.each(seeds)("keeps its promises with seed %i", async (seed) => {
    expect((await runSeed(seed, tally)).violations).toEqual([]);
  });

  test("has every fault strike and every bound met by then", () => {
    expect(COUNTED.filter((name) => tally[name] === 0)).toEqual([]);
  });

  test.each([1, 7, 42])("does the same again with the same seed, %i", async (seed) => {
    expect((await runSeed(seed)).hash).toBe((await runSeed(seed)).hash);
  });

  test("does something else with another seed", async () => {
    expect((await runSeed(1)).hash).not.toBe((await runSeed(2)).hash);
  });
});
