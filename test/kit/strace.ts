/** System calls of a running process that fail, by strace. Needs the right to trace it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireTool } from "./tools.ts";

/** One system call that strace saw, and when (Unix milliseconds). */
export interface TracedCall {
  at: number;
  line: string;
}

export class Tracer implements AsyncDisposable {
  readonly #home = mkdtempSync(join(tmpdir(), "sealpost-strace-"));
  readonly #output = join(this.#home, "trace");
  readonly #child: Bun.Subprocess<"ignore", "ignore", "pipe">;

  constructor(pid: number, options: readonly string[]) {
    this.#child = Bun.spawn(
      ["strace", "-f", "-ttt", "-y", "-o", this.#output, "-p", String(pid), ...options],
      {
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
      },
    );
  }

  /** Resolves when every thread is traced; rejects where the kernel refuses. */
  async attached(): Promise<void> {
    let said = "";
    // preventCancel: strace says more later, and writing to a closed pipe would end it.
    for await (const chunk of this.#child.stderr.values({ preventCancel: true })) {
      said += Buffer.from(chunk).toString();
      if (said.includes("attached")) return;
    }
    throw new Error(`strace does not attach: ${said.trim()}`);
  }

  /** What strace has written by now. */
  linesSoFar(): string[] {
    return readFileSync(this.#output, "utf8").trim().split("\n");
  }

  /** Resolves when the traced process is gone: every call that was traced. */
  async calls(): Promise<TracedCall[]> {
    await this.#child.exited;
    return this.linesSoFar().map((line) => ({ at: Number(line.split(/ +/)[1]) * 1000, line }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.exited;
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/**
 * From now on the n-th fsync of each thread of the process fails with EIO, that of `path` alone where it is
 * given: `await using tracer = await failSyncs(service.pid, { nth: 1 })`.
 */
export async function failSyncs(pid: number, { nth = 1, path = "" } = {}): Promise<Tracer> {
  const only = path === "" ? [] : ["-P", path];
  const options = [...only, "-e", "trace=fsync", "-e", `inject=fsync:error=EIO:when=${nth}`];
  const tracer = new Tracer(pid, options);
  await tracer.attached();
  return tracer;
}

/** Until the tracer is disposed of, every fsync of the process takes so much longer. */
export async function slowSyncs(pid: number, seconds: number): Promise<Tracer> {
  const inject = `inject=fsync:delay_enter=${seconds * 1_000_000}`;
  const tracer = new Tracer(pid, ["-e", "trace=fsync", "-e", inject]);
  await tracer.attached();
  return tracer;
}

/** Until the tracer is disposed of, the file at `path` has no room for more. */
export async function refuseRoom(pid: number, path: string): Promise<Tracer> {
  const tracer = new Tracer(pid, ["-P", path, "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC"]);
  await tracer.attached();
  return tracer;
}

/** Runs a command that is killed (-9) when one of its threads enters its n-th fsync. */
export function killAtSync(nth: number, command: readonly string[]): string[] {
  const inject = `inject=fsync:signal=SIGKILL:when=${nth}`;
  return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", inject, ...command];
}

/** Whether a process may be traced here. What the kernel refuses is a named skip, also in CI. */
export async function canTrace(): Promise<boolean> {
  if (!requireTool("strace", "apt-get install strace")) return false;
  const child = Bun.spawn(["cat"], { stdin: "pipe", stdout: "ignore" });
  try {
    await using tracer = new Tracer(child.pid, ["-e", "trace=fsync"]);
    await tracer.attached();
    return true;
  } catch (error) {
    console.error(`skipping tests: ${String(error)}`);
    return false;
  } finally {
    child.kill("SIGKILL");
  }
}
