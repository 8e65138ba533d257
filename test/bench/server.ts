import { mkdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expectToLast, killChild, startChild, stopChild } from "./children.ts";
import { nowUs } from "./clock.ts";
import { eventType, FIRST_SEQUENCE } from "./event.ts";

const START_TIMEOUT_MS = 20_000;
const POLL_MS = 20;
const CREATED_AT_ONCE = 16;
const BATCH = 500;
const LOADED_MS = 2000;
const BATCH_CONNECTIONS = 4;

/**
 * What is measured: the bare loop or the service, both started by a command and driven over the same paths.
 */
export interface Contender {
  name: "bare" | "service";
  command: string[];
  env?: Readonly<Record<string, string>>;
}

/** The least that such a service must do. */
export const BARE: Contender = {
  name: "bare",
  command: [process.execPath, join(import.meta.dir, "bare.ts")],
};

/** The service from its sources. */
export const SERVICE: Contender = {
  name: "service",
  command: [process.execPath, join(import.meta.dir, "../../src/main.ts")],
};

/** The service from its sources, or an executable of it. */
export function serviceOf(binary: string | undefined): Contender {
  return binary === undefined ? SERVICE : { name: "service", command: [binary] };
}

/** The same from its sources: a process that ends in peace leaves its CPU profile in that file. */
export function profiled(contender: Contender, file: string): Contender {
  const [bun = "", ...rest] = contender.command;
  const flags = ["--cpu-prof", `--cpu-prof-dir=${dirname(file)}`, `--cpu-prof-name=${basename(file)}`];
  const profiling = { ...contender, command: [bun, ...flags, ...rest] };
  // The service sets this by executing itself anew: a signal of the profiler may end it meanwhile.
  return contender === BARE ? profiling : { ...profiling, env: { BUN_JSC_heapGrowthMaxIncrease: "1" } };
}

export interface Server {
  pid: number;
  port: number;
  /** Of the live project; empty under an operator, who makes accounts. */
  apiKey: string;
  /** Of the test project; empty where the contender has none. */
  testKey: string;
  stop(): Promise<number>;
  /** SIGKILL. */
  kill(): Promise<number>;
}

/**
 * Starts a contender on a fresh data directory below `directory`; resolves once it answers /readyz with 200.
 */
export async function startServer(
  contender: Contender,
  directory: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Server> {
  mkdirSync(join(directory, "data"));
  const output = join(directory, "output.log");
  const server = await launch(contender, directory, env);
  const printed = readFileSync(output, "utf8");
  const isOperated = "SEALPOST_OPERATOR_TOKEN" in env;
  const apiKey = /\bsp_live_\w+/.exec(printed)?.[0] ?? (isOperated ? "" : undefined);
  const testKey = /\bsp_test_\w+/.exec(printed)?.[0] ?? "";
  if (apiKey === undefined) throw new Error(`${contender.name} printed no sp_live_… key on its first start`);
  return { ...server, apiKey, testKey };
}

/** Starts it once more on what another start, which has ended, left in `directory`. */
export async function startAgain(
  contender: Contender,
  directory: string,
  { apiKey, testKey }: Server,
): Promise<Server> {
  return { ...(await launch(contender, directory, {})), apiKey, testKey };
}

/** Killed with SIGKILL after two seconds in which batches of this type were published. */
export async function killUnderLoad(server: Server, type: string): Promise<void> {
  const publishing = publishBatches(server, type, Infinity).catch(() => {});
  await Bun.sleep(LOADED_MS);
  await server.kill();
  await publishing;
}

async function launch(
  contender: Contender,
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<Omit<Server, "apiKey" | "testKey">> {
  const output = join(directory, "output.log");
  const port = findFreePort();
  const child = startChild(contender.command, {
    env: { ...environment(port, join(directory, "data")), ...contender.env, ...env },
    stdio: ["ignore", Bun.file(output), Bun.file(output)],
  });
  expectToLast(child, (code) => `the server ended with exit code ${code}:\n${readEnd(output)}`);
  await waitUntil(() => isReady(port), output);
  return {
    pid: child.pid,
    port,
    stop: () => stopChild(child),
    kill: () => killChild(child),
  };
}

/** Calls the API; throws where the answer is no 2xx. */
export async function callServer(
  { port, apiKey }: Pick<Server, "port" | "apiKey">,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, string>> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Record<string, string>;
}

/** Publishes so many events of some 1 KiB by batches, with the numbers by which the receiver tells them. */
export async function publishBatches(
  server: Pick<Server, "port" | "apiKey">,
  type: string,
  count: number,
): Promise<void> {
  const padding = "x".repeat(920);
  let published = 0;
  const publishAll = async () => {
    while (published < count) {
      const first = FIRST_SEQUENCE + 1 + published;
      published += BATCH;
      const events = Array.from({ length: BATCH }, (_, n) => ({
        type,
        data: { sequence: first + n, sent_at_us: nowUs(), padding },
      }));
      await callServer(server, "POST", "/v1/events/batch", { events });
    }
  };
  await Promise.all(Array.from({ length: BATCH_CONNECTIONS }, publishAll));
}

/** Where endpoints are: `at` gives the origin of each. */
export interface EndpointsToCreate {
  count: number;
  /** So many of them get each event type. */
  fanout: number;
  at: (index: number) => string;
}

/** Creates the endpoints, with the highest concurrency. */
export async function createEndpoints(server: Server, asked: EndpointsToCreate): Promise<void> {
  let next = 0;
  const createAll = async () => {
    while (next < asked.count) await createEndpoint(server, next++, asked);
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, createAll));
}

async function createEndpoint(server: Server, index: number, { fanout, at }: EndpointsToCreate) {
  const endpoint = {
    url: `${at(index)}/hooks/${index}`,
    event_types: [eventType(Math.floor(index / fanout))],
    max_concurrency: 100,
  };
  await callServer(server, "POST", "/v1/endpoints", endpoint);
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

export function findFreePort(): number {
  const probe = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data() {} },
  });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** Whether /readyz answers 200 there. */
export async function isReady(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  return response?.status === 200;
}

/** Throws with the end of the file `output` where it takes too long. */
export async function waitUntil(ready: () => Promise<boolean>, output: string): Promise<void> {
  const giveUpAt = performance.now() + START_TIMEOUT_MS;
  while (!(await ready())) {
    if (performance.now() > giveUpAt) throw new Error(`the server did not become ready:\n${readEnd(output)}`);
    await Bun.sleep(POLL_MS);
  }
}

export function readEnd(output: string): string {
  return readFileSync(output, "utf8").slice(-2000);
}
