/**
 * Programs of the Python package index, each set in an environment of its own, installed once on a machine.
 */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "./real-server.ts";
import { requireTool } from "./tools.ts";

/** The published verifier of Standard Webhooks. */
export const STANDARD_WEBHOOKS = "standardwebhooks==1.1.0";

export const PYTHON_HINT = "apt-get install python3 python3-venv";

/** Whether Python is installed, in a version that the SDK runs in; in CI an error where it is not. */
export function requirePythonOfSdk(): boolean {
  if (!requireTool("python3", PYTHON_HINT)) return false;
  const isNew = "import sys; sys.exit(sys.version_info < (3, 11))";
  if (Bun.spawnSync(["python3", "-c", isNew]).exitCode === 0) return true;
  const problem = "python3 is older than 3.11: install a newer one";
  if (process.env["CI"] === "true") throw new Error(problem);
  console.error(`skipping tests: ${problem}`);
  return false;
}

/** The folder of an environment with these `NAME==VERSION`; their commands are in its `bin`. */
export async function installPython(packages: readonly string[]): Promise<string> {
  const folder = join(tmpdir(), `sealpost-python-${packages.join("+").replaceAll(/[^\w.+-]+/g, "-")}`);
  const done = join(folder, "installed");
  if (existsSync(done)) return folder;
  await runCommand(["python3", "-m", "venv", "--clear", folder]);
  await runCommand([join(folder, "bin/pip"), "install", "--quiet", ...packages]);
  await Bun.write(done, "");
  return folder;
}
