/**
 * The image, built by buildah from the Dockerfile, and containers of it: processes in namespaces. Needs root.
 */
import { cpSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findGo } from "./go.ts";
import { buildLitestream, childrenOf } from "./litestream.ts";
import { mayMakeNamespaces } from "./namespaces.ts";
import { freePorts, runCommand } from "./real-server.ts";
import { type Exit, type Service, startService } from "./service.ts";
import { requireTool } from "./tools.ts";

const BUILD = join(import.meta.dir, "image-build.sh");
const RUN = join(import.meta.dir, "container.sh");
const repository = join(import.meta.dir, "../..");
const NAMESPACES = ["--mount", "--pid", "--fork"];

/** Whether it can be built here; says why not. */
export function canBuildImage(): boolean {
  const tools = [
    requireTool("buildah", "apt-get install buildah"),
    requireTool("mmdebstrap", "apt-get install mmdebstrap"),
  ];
  return tools.every(Boolean) && mayMakeNamespaces(["unshare", ...NAMESPACES, "true"]);
}

/** What an image says of itself, as Docker writes it. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Cmd: string[];
  WorkingDir: string;
  Volumes: Record<string, object>;
  ExposedPorts: Record<string, object>;
  Healthcheck: { Test: string[] };
}

export class Image {
  private constructor(private readonly folder: string) {}

  /** Builds it in an empty folder, within a minute where this machine has compiled Litestream before. */
  static async build(folder: string): Promise<Image> {
    await buildLitestream();
    const paths = await runCommand([await findGo(), "env", "GOROOT", "GOMODCACHE", "GOCACHE"]);
    await runCommand(["unshare", "--mount", "bash", BUILD, folder, repository, ...paths.trim().split("\n")]);
    return new Image(folder);
  }

  /** Its files. */
  get root(): string {
    return join(this.folder, "root");
  }

  get config(): ImageConfig {
    const { Docker } = JSON.parse(readFileSync(join(this.folder, "image.json"), "utf8")) as {
      Docker: { config: ImageConfig };
    };
    return Docker.config;
  }

  /** What it adds to its base, in bytes. */
  get ownBytes(): number {
    const [base = 0, all = 0] = readFileSync(join(this.folder, "sizes"), "utf8").split("\n").map(parseFloat);
    return all - base;
  }

  /** Starts a command, by default the image's own, on a new volume: a copy of the image's folder. */
  async start(env: Record<string, string> = {}, command = this.config.Cmd): Promise<Container> {
    const volume = join(mkdtempSync(join(this.folder, "volume-")), "data");
    cpSync(join(this.root, "data"), volume, { recursive: true, preserveTimestamps: true });
    await runCommand(["chown", "--reference", join(this.root, "data"), volume]);
    await runCommand(["chmod", "--reference", join(this.root, "data"), volume]);
    const [port = 0] = await freePorts(1);
    const settings = { SEALPOST_HOST: "127.0.0.1", SEALPOST_PORT: String(port), ...env };
    const variables = [...this.config.Env, ...Object.entries(settings).map((pair) => pair.join("="))];
    const isolated = ["setpriv", "--pdeathsig", "KILL", "unshare", ...NAMESPACES, "--kill-child=KILL"];
    const inside = [
      "bash",
      RUN,
      this.root,
      volume,
      ...this.config.User.split(":"),
      "env",
      "-i",
      ...variables,
      ...command,
    ];
    const service = await startService({
      command: [...isolated, ...inside],
      env: { SEALPOST_PORT: String(port) },
    });
    return new Container(service, this.config, variables);
  }
}

export class Container implements AsyncDisposable {
  constructor(
    readonly service: Service,
    private readonly config: ImageConfig,
    private readonly variables: readonly string[],
  ) {}

  /** SIGTERM to its first process, then how that ended. */
  stop(): Promise<Exit> {
    process.kill(this.#first, "SIGTERM");
    return this.service.exit();
  }

  /** Runs the health check of the image in it; its exit code. */
  async checkHealth(): Promise<number> {
    const [user = "", group = ""] = this.config.User.split(":");
    const enter = ["nsenter", "--target", String(this.#first), "--mount", "--pid", "--root", "--wd"];
    const as = [`--setuid=${user}`, `--setgid=${group}`, "env", "-i", ...this.variables];
    const [, ...words] = this.config.Healthcheck.Test;
    return await Bun.spawn([...enter, ...as, ...words], { stdout: "ignore", stderr: "inherit" }).exited;
  }

  get #first(): number {
    const [first] = childrenOf(this.service.pid);
    if (first === undefined) throw new Error("the container has ended");
    return first;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.service.close();
  }
}
