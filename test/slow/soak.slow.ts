// time budget: 150 s
/** The soak in its short form; the long one is `bun test/bench/soak.ts --seconds 7200`. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const SECONDS = 60;

test(`${SECONDS} s of steady load beside hostile receivers and broken uploads lose nothing and keep nothing open`, async () => {
  const soak = join(import.meta.dir, "../bench/soak.ts");
  const child = Bun.spawn([process.execPath, soak, "--seconds", String(SECONDS)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, faults, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  console.log(output.trim());
  expect({ exitCode, faults }).toEqual({ exitCode: 0, faults: "" });
}, 140_000);
