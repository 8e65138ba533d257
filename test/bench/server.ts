import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { startChild, stopChild } from "./children.ts";
import { eventType } from "./event.ts";

const START_TIMEOUT_MS = 20_000;
const POLL_MS = 20;

/**
 * What is measured: the bare loop or the service, both started by a command and driven over the same paths.
 */
export interface Contender {
  name: "bare" | "service";
  command: string[];
}

/** The service from its sources. */
export const SERVICE: Contender = {
  name: "service",
  command: [process.execPath, join(import.meta.dir, "../../src/main.ts")],
};

export interface Server {
  pid: number;
  port: number;
  /** Of the live project; empty under an operator, who makes accounts. */
  apiKey: string;
  /** Of the test project; empty where the contender has none. */
  testKey: string;
  stop(): Promise<number>;
}

/**
 * Starts a contender on a fresh data directory below `directory`; resolves once it answers /readyz with 200.
 */
export async function startServer(
  contender: Contender,
  directory: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const dataDirectory = join(directory, "data");
  const output = join(directory, "output.log");
  mkdirSync(dataDirectory);
  const port = findFreePort();
  const child = startChild(contender.command, {
    env: { ...environment(port, dataDirectory), ...env },
    stdio: ["ignore", Bun.file(output), Bun.file(output)],
  });
  await waitUntil(() => isReady(port), child, output);
  const printed = readFileSync(output, "utf8");
  const isOperated = "SEALPOST_OPERATOR_TOKEN" in env;
  const apiKey = /\bsp_live_\w+/.exec(printed)?.[0] ?? (isOperated ? "" : undefined);
  const testKey = /\bsp_test_\w+/.exec(printed)?.[0] ?? "";
  if (apiKey === undefined) throw new Error(`${contender.name} printed no sp_live_… key on its first start`);
  return { pid: child.pid, port, apiKey, testKey, stop: () => stopChild(child) };
}

/** Creates one endpoint for each event type of the run, all at the receiver, with the highest concurrency. */
export async function createEndpoints(server: Server, receiverPort: number, count: number): Promise<void> {
  for (let endpoint = 0; endpoint < count; endpoint++) {
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/endpoints`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({
        url: `http://127.0.0.1:${receiverPort}/hooks/${endpoint}`,
        event_types: [eventType(endpoint)],
        max_concurrency: 100,
      }),
    });
    if (response.status !== 201) throw new Error(`no endpoint: ${response.status} ${await response.text()}`);
  }
}

/**
 * The bench's own environment without any SEALPOST_* of the caller, so that every run has the same settings.
 */
function environment(port: number, dataDirectory: string): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("SEALPOST_"));
  return {
    ...Object.fromEntries(inherited),
    SEALPOST_HOST: "127.0.0.1",
    SEALPOST_PORT: String(port),
    SEALPOST_DATA_DIR: dataDirectory,
    SEALPOST_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
    SEALPOST_PUBLISH_RATE_LIMIT: "0",
    SEALPOST_MANAGEMENT_RATE_LIMIT: "0",
  };
}

function findFreePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

async function isReady(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  return response?.status === 200;
}

async function waitUntil(ready: () => Promise<boolean>, child: Subprocess, output: string): Promise<void> {
  const giveUpAt = performance.now() + START_TIMEOUT_MS;
  while (!(await ready())) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (hasEnded || performance.now() > giveUpAt) {
      const reason = hasEnded ? `ended with exit code ${child.exitCode}` : "did not become ready";
      throw new Error(`the server ${reason}:\n${readFileSync(output, "utf8").slice(-2000)}`);
    }
    await Bun.sleep(POLL_MS);
  }
}
