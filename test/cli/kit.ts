/** The executable's command line, run from the sources. */
import { join } from "node:path";

export const MAIN = join(import.meta.dir, "../../src/main.ts");

export interface Ended {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** What a command sees: nothing of this process's environment but where programs are. */
export type Env = Record<string, string>;

/** Runs a command to its end; `stdin` is what it reads. */
export async function sealpost(words: readonly string[], env: Env = {}, stdin = ""): Promise<Ended> {
  const child = Bun.spawn([process.execPath, MAIN, ...words], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdin: Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { exitCode: await child.exited, stdout, stderr };
}
