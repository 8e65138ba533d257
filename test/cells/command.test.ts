import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MAIN = join(import.meta.dir, "../../src/main.ts");
const SAMPLES = 20_000;

const folder = mkdtempSync(join(tmpdir(), "sealpost-cells-"));
/** A cell that has more to tell than a pipe holds. */
const cell = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => {
    const samples = Array.from({ length: SAMPLES }, (_, n) => `a{n="${n}"} 1\n`);
    return new Response(`# TYPE a gauge\n${samples.join("")}`);
  },
});
const list = join(folder, "cells.json");
writeFileSync(list, JSON.stringify({ cells: [{ cell: "00", machines: [`127.0.0.1:${cell.port}`] }] }));

afterAll(async () => {
  await cell.stop(true);
  rmSync(folder, { recursive: true });
});

function run(words: readonly string[], token = "token") {
  return Bun.spawn([process.execPath, MAIN, "cells", ...words], {
    env: { PATH: process.env["PATH"] ?? "", SEALPOST_OPERATOR_TOKEN: token },
    stdout: "pipe",
    stderr: "pipe",
  });
}

test("a slow reader gets all of what is printed", async () => {
  await using child = run(["metrics", list]);
  await Bun.sleep(1000);
  const lines = (await child.stdout.text()).trimEnd().split("\n");
  expect([lines.length, lines.at(-1)]).toEqual([1 + SAMPLES, `a{cell="00",n="${SAMPLES - 1}"} 1`]);
});

test.each<[string, string[], string, string]>([
  ["no verb", [], "token", "usage: sealpost cells"],
  ["a verb that nobody knows", ["move"], "token", "usage: sealpost cells"],
  ["a router that nobody knows", ["config", "nginx", list], "token", "knows haproxy, envoy"],
  ["no list", ["accounts"], "token", "One file"],
  ["two lists", ["accounts", list, list], "token", "One file"],
  ["a list that is not there", ["usage", join(folder, "none.json")], "token", "cannot be read"],
  ["no token", ["metrics", list], "", "SEALPOST_OPERATOR_TOKEN"],
])("%s ends with exit code 2 and the reason", async (_what, words, token, reason) => {
  await using child = run(words, token);
  const [said, exitCode] = await Promise.all([child.stderr.text(), child.exited]);
  expect([exitCode, said.includes(reason) ? reason : said]).toEqual([2, reason]);
});
