/**
 * Every crash point of a scenario: one run without a crash counts the steps; then the same run dies once,
 * after step 1, after step 2, and so on to the last.
 *
 *   bun test/simulation/crash-points.ts [--scenarios N] [--from SEED]
 *
 * Prints every step after which a promise is broken; exits 1 where there is one.
 */
import { parseArgs } from "node:util";
import { Simulation } from "./run.ts";
import { newTally } from "./tally.ts";

const { values: options } = parseArgs({
  options: { scenarios: { type: "string", default: "4" }, from: { type: "string", default: "1" } },
});
/** A step that no run reaches. */
const NEVER = 0;
const FAILURES_MAX = 5;

async function runOnce(seed: number, crashAt: number): Promise<{ steps: number; violations: string[] }> {
  const tally = newTally();
  const run = new Simulation(seed, tally, crashAt);
  const violations = await run.run();
  run.sqlite.close();
  return { steps: run.steps, violations: [...new Set(violations)] };
}

const first = Number(options.from);
const began = performance.now();
let points = 0;
let failures = 0;
for (let seed = first; seed < first + Number(options.scenarios); seed++) {
  const { steps } = await runOnce(seed, NEVER);
  for (let step = NEVER; step <= steps && failures < FAILURES_MAX; step++) {
    const { violations } = await runOnce(seed, step);
    points++;
    if (violations.length === 0) continue;
    failures++;
    console.log(`seed ${seed} fails with a crash after step ${step}: ${violations.slice(0, 4).join("; ")}`);
  }
}
const seconds = ((performance.now() - began) / 1000).toFixed(1);
console.log(`${points} crash points of ${options.scenarios} scenarios in ${seconds} s, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
