/**
 * A real server of somebody else's as a child process, on ports of its own: started in a folder that goes
 * with it, waited for until it answers, ended with all that it started.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface RealServerOptions {
  name: string;
  /** Run in the server's folder, in this order, before each start; the last one is the server and stays. */
  command: readonly string[];
  env?: Record<string, string>;
  /** True once it serves, asked with what it printed since its start; may reject until then. */
  isReady: (output: string) => Promise<boolean> | boolean;
  deadlineMs?: number;
}

const PROBE_EVERY_MS = 100;
const STOP_DEADLINE_MS = 20_000;

const running = new Set<RealServer>();

/** Ends what a set-up that failed left behind. */
export async function stopRealServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()));
}

export class RealServer implements AsyncDisposable {
  #child: ChildProcess | null = null;
  #output = "";

  constructor(private readonly options: RealServerOptions) {}

  async start(): Promise<void> {
    const { name, command, env = {}, isReady, deadlineMs = 60_000 } = this.options;
    const [program = "", ...args] = command;
    const { PATH = "", HOME = "" } = process.env;
    // A group of its own, so that what it starts ends with it.
    const child = spawn(program, args, {
      env: { PATH, HOME, ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#output = "";
    running.add(this);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes: Buffer) => (this.#output = (this.#output + bytes.toString()).slice(-10_000)));
    }
    const deadline = performance.now() + deadlineMs;
    while (!(await this.#isReady(isReady))) {
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${this.#output}`);
      if (performance.now() > deadline) throw new Error(`${name} does not answer:\n${this.#output}`);
      await Bun.sleep(PROBE_EVERY_MS);
    }
  }

  /** The last of what it printed. */
  get output(): string {
    return this.#output;
  }

  async #isReady(probe: RealServerOptions["isReady"]): Promise<boolean> {
    try {
      return await probe(this.#output);
    } catch {
      return false;
    }
  }

  /** To it and all that it started. */
  signal(name: NodeJS.Signals): void {
    if (this.#child !== null) signal(this.#child, name);
  }

  /** Ends it in order, or by force past the deadline. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    running.delete(this);
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    signal(child, "SIGTERM");
    const deadline = performance.now() + STOP_DEADLINE_MS;
    while (signal(child, 0)) {
      if (performance.now() > deadline) signal(child, "SIGKILL");
      await Bun.sleep(PROBE_EVERY_MS);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** To the whole group; false where nothing of it is left. */
function signal({ pid }: ChildProcess, name: NodeJS.Signals | 0): boolean {
  try {
    return pid !== undefined && process.kill(-pid, name);
  } catch {
    return false;
  }
}

/** A folder that is removed by `remove`. */
export function makeFolder(name: string): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `sealpost-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, "127.0.0.1", () => {
            const address = server.address();
            resolve(typeof address === "object" && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Runs a command to its end; its output. */
export async function runCommand(
  command: string[],
  env: Record<string, string> = {},
  cwd?: string,
): Promise<string> {
  // Go's clients of S3 and of HTTPS stumble over it.
  const { AWS_CA_BUNDLE: _, ...inherited } = process.env;
  const child = Bun.spawn(command, {
    ...(cwd !== undefined && { cwd }),
    env: { ...inherited, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${errors.trim()}${output.trim()}`);
  return output;
}
