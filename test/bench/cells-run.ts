/** One run of the bench of cells (cells.ts): the service alone, or as one or two cells behind HAProxy. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { writeRouterConfig } from "../kit/router.ts";
import type { Setup, SetupRun } from "./cells-report.ts";
import { expectToLast, startChild, startPeer, stopChild } from "./children.ts";
import type { GeneratorSettings } from "./generator.ts";
import { type Load, type Peers, perSecond, publishAndDrain, warmUp } from "./measurement.ts";
import { type ProcessUsage, readChildren, readMachineCpuSeconds, readProcess } from "./proc.ts";
import {
  createEndpoints,
  findFreePort,
  isReady,
  readEnd,
  type Server,
  SERVICE,
  startServer,
  waitUntil,
} from "./server.ts";

const NAMES = ["1A", "2B"];

interface Router {
  port: number;
  /** The master, and the workers that do its work. */
  pids: number[];
  stop(): Promise<number>;
}

interface Bench extends Peers {
  cells: Server[];
  router: Router | undefined;
}

/** Runs a setup once on fresh data directories below `directory`, and stops all that it started. */
export async function measureCells(setup: Setup, load: Load, directory: string): Promise<SetupRun> {
  const bench = await startBench(setup, load, mkdtempSync(join(directory, "cells-")));
  // Each cell compiles its own code, and gets its share of the events.
  for (const _ of bench.cells) await warmUp(bench, load);
  const before = readUsage(bench);
  const { published, received } = await publishAndDrain(bench, load, load.seconds * 1000);
  const after = readUsage(bench);
  await stopBench(bench);
  const cpuForThousand = (part: "cells" | "router") =>
    (1000 * (cpuSecondsOf(after[part]) - cpuSecondsOf(before[part]))) / published.accepted;
  return {
    contender: setup.name,
    acceptedPerSecond: perSecond(published.accepted, published.firstAtUs, published.lastAtUs),
    deliveredPerSecond: perSecond(received.received, published.firstAtUs, received.lastAtUs),
    publish: published.latency,
    cellsCpu: cpuForThousand("cells"),
    routerCpu: setup.isRouted ? cpuForThousand("router") : undefined,
    cellPeakBytes: after.cells.map(({ peakRssBytes }) => peakRssBytes),
    routerPeakBytes: setup.isRouted ? sum(after.router.map(({ peakRssBytes }) => peakRssBytes)) : undefined,
    accepted: published.accepted,
    lost: published.accepted - received.received,
    duplicates: received.duplicates,
    refused: published.refused,
    otherCores: (after.otherCpuSeconds - before.otherCpuSeconds) / ((after.atMs - before.atMs) / 1000),
  };
}

async function startBench(setup: Setup, load: Load, directory: string): Promise<Bench> {
  const receiver = await startPeer("receiver.ts", { copies: 1, delayMs: 0 });
  const at = `http://127.0.0.1:${(receiver.ready as { port: number }).port}`;
  const cells: Server[] = [];
  for (const name of NAMES.slice(0, setup.cells)) {
    const cell = await startServer(SERVICE, mkdtempSync(join(directory, "cell-")), { SEALPOST_CELL: name });
    await createEndpoints(cell, { count: 1, fanout: 1, at: () => at });
    cells.push(cell);
  }
  const router = setup.isRouted ? await startRouter(cells, directory) : undefined;
  const settings: GeneratorSettings = {
    port: router?.port ?? cells[0]?.port ?? 0,
    apiKeys: cells.map(({ apiKey }) => apiKey),
    connections: load.connections,
    types: 1,
    bodyBytes: load.bodyBytes,
    perSecond: load.perSecond,
  };
  const generator = await startPeer("generator.ts", settings);
  return { cells, router, generator: generator.peer, receiver: receiver.peer };
}

/** Its log, a line for each request, goes into a file, as on a machine that keeps it. */
async function startRouter(cells: readonly Server[], directory: string): Promise<Router> {
  const port = findFreePort();
  const listed = cells.map((cell, at) => ({ cell: NAMES[at] ?? "", machines: [`127.0.0.1:${cell.port}`] }));
  const options = { cells: listed, router: { listen: `127.0.0.1:${port}` } };
  const { file } = await writeRouterConfig("haproxy", options, directory);
  const output = join(directory, "haproxy.log");
  const child = startChild(["haproxy", "-W", "-f", file], {
    stdio: ["ignore", Bun.file(output), Bun.file(output)],
  });
  expectToLast(child, (code) => `HAProxy ended with exit code ${code}:\n${readEnd(output)}`);
  await waitUntil(() => isReady(port), output);
  const workers = readChildren(child.pid);
  // Without them its processor's time would be 0, and nobody would see that it is wrong.
  if (workers.length === 0) throw new Error("HAProxy has no worker");
  return { port, pids: [child.pid, ...workers], stop: () => stopChild(child) };
}

/** The generator goes first: it treats a connection that is closed under it as a fault. */
async function stopBench({ cells, router, generator, receiver }: Bench): Promise<void> {
  await generator.stop();
  await router?.stop();
  for (const cell of cells) await cell.stop();
  await receiver.stop();
}

function readUsage({ cells, router, generator, receiver }: Bench) {
  const used = {
    cells: cells.map(({ pid }) => readProcess(pid)),
    router: (router?.pids ?? []).map(readProcess),
  };
  const peers = [process.pid, generator.pid, receiver.pid].map(readProcess);
  const own = cpuSecondsOf([...peers, ...used.cells, ...used.router]);
  return { ...used, otherCpuSeconds: readMachineCpuSeconds() - own, atMs: performance.now() };
}

function cpuSecondsOf(processes: readonly ProcessUsage[]): number {
  return sum(processes.map(({ cpuSeconds }) => cpuSeconds));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
