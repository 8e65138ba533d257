// time budget: 150 s
/**
 * Rules and data made at random, as large as a caller may make them: none holds the loop for long. The bound
 * is many times what is promised, so that it tells of work that no step counts, and of no busy machine.
 */
import { expect, test } from "bun:test";

const SECONDS = 60;
const WORST_MS = 1500;

test("filters, schemas and transformations made at random take no time that no step counts", async () => {
  const args = ["test/bench/steps.ts", "--seconds", String(SECONDS), "--worst", String(WORST_MS)];
  const bench = Bun.spawn([process.execPath, ...args], { stdout: "pipe", stderr: "inherit" });
  const text = await new Response(bench.stdout).text();
  console.log(text);
  expect([await bench.exited, text]).toEqual([0, expect.stringContaining("rules ran")]);
}, 120_000);
