/**
 * `bun test/simulation/simulate.ts [--seeds N] [--from SEED] [--seconds S]`: prints every failing seed; exits
 * 1 where there is one. Beside some of them runs a crowded one, of a number above a million (scenario.ts).
 */
import { Simulation } from "./run.ts";
import { seedsOf } from "./scenario.ts";
import { COUNTED, newTally } from "./tally.ts";

const option = (name: string, fallback: number) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};
const seeds = option("seeds", 2000);
const from = option("from", 1);
const failuresMax = option("failures", 5);

const tally = newTally();
let failures = 0;
let steps = 0;
let ran = 0;
const began = performance.now();
for (const seed of seedsOf(from, seeds)) {
  if (failures >= failuresMax) break;
  const run = new Simulation(seed, tally);
  const violations = await run.run();
  run.sqlite.close();
  steps += run.steps;
  ran++;
  if (violations.length === 0) continue;
  failures++;
  console.log(`seed ${seed} fails: ${[...new Set(violations)].slice(0, 4).join("; ")}`);
}
const seconds = (performance.now() - began) / 1000;
console.log(
  `${ran} seeds, ${steps} steps in ${seconds.toFixed(1)} s; counted: ${COUNTED.map((name) => `${name} ${tally[name]}`).join(", ")}`,
);
process.exit(failures === 0 ? 0 : 1);
