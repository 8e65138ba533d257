// time budget: 180 s
/**
 * The README's Python reads a genuine delivery and refuses a forged one, with the published library in a venv
 * of its own.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireTool } from "../kit/tools.ts";
import { findOnly, readGuide } from "../readme/blocks.ts";
import { forge, type Sample, takeDelivery } from "../readme/delivery.ts";

const PACKAGE = "standardwebhooks==1.1.0";
const READ_FROM_STDIN = `
import json, sys
from delivery import read_delivery
sample = json.load(sys.stdin)
print(json.dumps(read_delivery(sample["body"].encode(), sample["headers"])))
`;

const hasPython = requireTool("python3", "apt-get install python3 python3-venv");
const folder = mkdtempSync(join(tmpdir(), "sealpost-readme-python-"));
const python = join(folder, "venv/bin/python");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(command: string[], input = "", env: Record<string, string> = {}) {
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { exitCode: await child.exited, stdout, stderr };
}

function readByPython(sample: Sample) {
  return run([python, "read.py"], JSON.stringify(sample), { WEBHOOK_SECRET: sample.secret });
}

describe.skipIf(!hasPython)("the README's Python", () => {
  let sample: Sample;

  beforeAll(async () => {
    const block = findOnly(await readGuide(), "python");
    await Bun.write(join(folder, "delivery.py"), block.text);
    await Bun.write(join(folder, "read.py"), READ_FROM_STDIN);
    expect(await run(["python3", "-m", "venv", "venv"])).toMatchObject({ exitCode: 0 });
    expect(await run([python, "-m", "pip", "install", "--quiet", PACKAGE])).toMatchObject({ exitCode: 0 });
    sample = await takeDelivery();
  }, 150_000);

  test("reads a genuine delivery", async () => {
    const { stdout, stderr } = await readByPython(sample);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({ type: "invoice.paid", data: { amount: 4200 } });
  });

  test("raises on one whose body was changed", async () => {
    const { exitCode, stderr } = await readByPython(forge(sample));
    expect(exitCode).toBe(1);
    expect(stderr).toContain("WebhookVerificationError");
  });
});
