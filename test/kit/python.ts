/**
 * Programs of the Python package index, each set in an environment of its own, installed once on a machine.
 */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "./real-server.ts";

/** The published verifier of Standard Webhooks. */
export const STANDARD_WEBHOOKS = "standardwebhooks==1.1.0";

export const PYTHON_HINT = "apt-get install python3 python3-venv";

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
