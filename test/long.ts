/**
 * The long form of a slow suite: the suite again and again, each time from nothing.
 *
 *   bun test/long.ts --suite kill --times 21
 *
 * Prints a line for each run and the sum; exits 1 where one run has failed.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Counts, describeCounts } from "./run.ts";

const { values: options } = parseArgs({
  options: { suite: { type: "string", default: "kill" }, times: { type: "string", default: "20" } },
});
const COUNTS = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/m;
const suite = join(import.meta.dir, "slow", `${options.suite}.slow.ts`);
const sum: Counts = { passed: 0, failed: 0, skipped: 0 };
const began = performance.now();

for (let nth = 1; nth <= Number(options.times); nth++) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "run.ts"), suite], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const output = await child.stdout.text();
  const [, passed = "0", failed = "1", skipped = "0"] = COUNTS.exec(output) ?? [];
  sum.passed += Number(passed);
  sum.failed += Number(failed);
  sum.skipped += Number(skipped);
  console.log(`run ${nth}: ${passed} passed, ${failed} failed`);
  if (Number(failed) > 0) console.log(output);
}
const minutes = ((performance.now() - began) / 60_000).toFixed(0);
console.log(`${options.suite}, ${options.times} times in ${minutes} min: ${describeCounts(sum)}`);
process.exit(sum.failed === 0 ? 0 : 1);
