/** Litestream in the version that the Dockerfile pins, built from its source once on a machine. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildGoTool } from "./go.ts";
import { runCommand } from "./real-server.ts";
import type { Service } from "./service.ts";

const repository = join(import.meta.dir, "../..");
/** The `litestream.yml` of the repository. */
export const CONFIG = join(repository, "litestream.yml");
/** Litestream makes its socket in the data directory, which has to be there. */
const MAKE_DIRECTORY = '[ -z "$SEALPOST_DATA_DIR" ] || mkdir -p "$SEALPOST_DATA_DIR"; exec "$@"';

/**
 * The command that runs the service under Litestream, with the `litestream.yml` of the repository; the
 * service so many seconds later, as on a machine that is busy.
 */
export function replicateCommand(litestream: string, laterSeconds = 0): string[] {
  const main = `${process.execPath} ${join(repository, "src/main.ts")}`;
  const service = laterSeconds === 0 ? main : `sh -c 'sleep ${laterSeconds}; exec ${main}'`;
  return ["sh", "-c", MAKE_DIRECTORY, "sh", litestream, "replicate", "-config", CONFIG, "-exec", service];
}

/** Restores what the replica has of the database at `path` into `output`. */
export async function restore(
  litestream: string,
  path: string,
  output: string,
  env: Record<string, string>,
): Promise<void> {
  await runCommand([litestream, "restore", "-config", CONFIG, "-o", output, path], env);
}

/** The service with Litestream above it; ends both. */
export class Replicated implements AsyncDisposable {
  constructor(readonly service: Service) {}

  /** kill -9 of both at once. Answers when that was, in Unix milliseconds. */
  async loseMachine(): Promise<number> {
    const children = childrenOf(this.service.pid);
    const killed = this.service.kill9();
    for (const pid of children) process.kill(pid, "SIGKILL");
    const at = Date.now();
    await killed;
    return at;
  }

  /** kill -9 of Litestream alone. Answers the processes that it leaves. */
  killLitestream(): number[] {
    const children = childrenOf(this.service.pid);
    process.kill(this.service.pid, "SIGKILL");
    return children;
  }

  /** Litestream stands still, and the service does not, until both are lost. */
  freezeLitestream(): void {
    process.kill(this.service.pid, "SIGSTOP");
  }

  /** The service stands still, and Litestream does not. Answers what ends that. */
  freeze(): () => void {
    const children = childrenOf(this.service.pid);
    const send = (signal: "SIGSTOP" | "SIGCONT") => children.forEach((pid) => process.kill(pid, signal));
    send("SIGSTOP");
    return () => send("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.loseMachine();
    await this.service.close();
  }
}

/** The processes that `pid` started; none where it is gone. */
export function childrenOf(pid: number): number[] {
  if (!existsSync(`/proc/${pid}/task`)) return [];
  const threads = readdirSync(`/proc/${pid}/task`);
  const lists = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"));
  return lists.flatMap((list) => list.trim().split(" ").filter(Boolean).map(Number));
}

/** kill -9 of every process that names a data directory. */
export function killAllOf(dataDir: string): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(dataDir))
        process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** The path of the executable, in the version that the Dockerfile pins. */
export function buildLitestream(): Promise<string> {
  return buildGoTool(`github.com/benbjohnson/litestream/cmd/litestream@${readVersion()}`);
}

function readVersion(): string {
  const dockerfile = readFileSync(join(repository, "Dockerfile"), "utf8");
  const version = /^ARG LITESTREAM_VERSION=(\S+)$/m.exec(dockerfile)?.[1];
  if (version === undefined) throw new Error("the Dockerfile pins no version of Litestream");
  return version;
}
