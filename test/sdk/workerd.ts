/** A worker of the project in workerd, which is what runs Cloudflare's workers. */
import { join } from "node:path";
import { installProgram } from "../kit/npm.ts";
import { freePorts, RealServer } from "../kit/real-server.ts";
import type { Project } from "./project.ts";

export const WORKERD = "workerd@1.20261117.1";

/**
 * Starts the worker, which answers any path; its address. `modules`: the paths of all its files within the
 * project, its own first, or a name that is imported and the path for it.
 */
export async function startWorker(project: Project, modules: readonly (string | [string, string])[]) {
  const [port = 0] = await freePorts(1);
  const embedded = modules
    .map((module) => (typeof module === "string" ? [module, module] : module))
    .map(([name, path]) => `(name = "${name}", esModule = embed "${path}")`);
  const config = await project.write(
    "worker.capnp",
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = (modules = [${embedded.join(", ")}], compatibilityDate = "2026-01-01")),
        (name = "internet", network = (allow = ["private", "public"])),
      ],
      sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
    );`,
  );
  const url = `http://127.0.0.1:${port}`;
  const server = new RealServer({
    name: "workerd",
    command: ["node", join(await installProgram(WORKERD), "bin/workerd"), "serve", config],
    isReady: async () => (await fetch(url)).status > 0,
    deadlineMs: 30_000,
  });
  await server.start();
  return { url, [Symbol.asyncDispose]: () => server.stop() };
}
