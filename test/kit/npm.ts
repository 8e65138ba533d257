/** Programs of the npm registry that run beside the service, installed once on a machine. */
import { existsSync, mkdtempSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "./real-server.ts";

/** The folder of the installed `NAME@VERSION`, with others `beside` it. */
export async function installProgram(target: string, beside: readonly string[] = []): Promise<string> {
  const name = target.replace(/@[^@]*$/, "");
  const folder = join(tmpdir(), `sealpost-npm-${[target, ...beside].join("+").replaceAll(/[@/]/g, "-")}`);
  if (!existsSync(folder)) {
    const fresh = mkdtempSync(`${folder}-`);
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    await runCommand(["npm", "install", "--prefix", fresh, ...quiet, target, ...beside]);
    renameSync(fresh, folder);
  }
  return join(folder, "node_modules", name);
}
