import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { type Peer, startPeer } from "./children.ts";
import type { Percentiles } from "./clock.ts";
import type { GeneratorReport, GeneratorSettings } from "./generator.ts";
import { readMachineCpuSeconds, readProcess } from "./proc.ts";
import type { ReceiverReport } from "./receiver.ts";
import { type Contender, createEndpoints, type Server, startServer } from "./server.ts";

/**
 * For the first three seconds the just-in-time compiler takes half of a core, and a third less is delivered.
 */
const WARM_UP_MS = 4000;
const DRAIN_POLL_MS = 50;
/** A drain that makes no progress for so long has lost something. */
const STALL_MS = 10_000;

/** The load: how long, over how many connections, for how many endpoints, bodies of how many bytes. */
export interface Load {
  seconds: number;
  connections: number;
  endpoints: number;
  bodyBytes: number;
}

export interface Measurement {
  contender: Contender["name"];
  acceptedPerSecond: number;
  /** From the first publish to the last delivery. */
  deliveredPerSecond: number;
  publish: Percentiles;
  /** From the publish to the arrival at the receiver. */
  delivery: Percentiles;
  /** Of the server's process. */
  cpuSecondsPerThousand: number;
  idleBytes: number;
  peakBytes: number;
  afterBytes: number;
  accepted: number;
  /** Accepted and never received. */
  lost: number;
  duplicates: number;
  refused: Record<string, number>;
  /** CPU seconds a second that went to processes that are not the bench's. */
  otherCores: number;
}

interface Bench {
  server: Server;
  generator: Peer;
  receiver: Peer;
}

/** Runs one contender once on a fresh data directory below `directory`, and stops all that it started. */
export async function measure(contender: Contender, load: Load, directory: string): Promise<Measurement> {
  const bench = await startBench(contender, load, mkdtempSync(join(directory, `${contender.name}-`)));
  const idleBytes = readProcess(bench.server.pid).rssBytes;
  await warmUp(bench);
  const before = readUsage(bench);
  const { published, received } = await publishAndDrain(bench, load.seconds * 1000);
  const after = readUsage(bench);
  await stopBench(bench);
  return {
    contender: contender.name,
    acceptedPerSecond: perSecond(published.accepted, published.firstAtUs, published.lastAtUs),
    deliveredPerSecond: perSecond(received.received, published.firstAtUs, received.lastAtUs),
    publish: published.latency,
    delivery: received.latency,
    cpuSecondsPerThousand: ((after.server.cpuSeconds - before.server.cpuSeconds) / published.accepted) * 1000,
    idleBytes,
    peakBytes: after.server.peakRssBytes,
    afterBytes: after.server.rssBytes,
    accepted: published.accepted,
    lost: published.accepted - received.received,
    duplicates: received.duplicates,
    refused: published.refused,
    otherCores: (after.otherCpuSeconds - before.otherCpuSeconds) / ((after.atMs - before.atMs) / 1000),
  };
}

async function startBench(contender: Contender, load: Load, directory: string): Promise<Bench> {
  const receiver = await startPeer("receiver.ts", {});
  const { port: receiverPort } = receiver.ready as { port: number };
  const server = await startServer(contender, directory);
  await createEndpoints(server, receiverPort, load.endpoints);
  const settings: GeneratorSettings = { ...load, port: server.port, apiKey: server.apiKey };
  const generator = await startPeer("generator.ts", settings);
  return { server, generator: generator.peer, receiver: receiver.peer };
}

/** The generator goes first: it treats a connection that is closed under it as a fault. */
async function stopBench(bench: Bench): Promise<void> {
  await bench.generator.stop();
  await bench.server.stop();
  await bench.receiver.stop();
}

async function warmUp(bench: Bench): Promise<void> {
  const { published, received } = await publishAndDrain(bench, WARM_UP_MS);
  if (received.received !== published.accepted) throw new Error("events were lost during the warm-up");
  await bench.receiver.ask("reset");
}

async function publishAndDrain(bench: Bench, runMs: number) {
  const published = await bench.generator.ask<GeneratorReport>({ runMs });
  await drain(bench.receiver, published.accepted);
  const received = await bench.receiver.ask<ReceiverReport>("report");
  return { published, received };
}

/** Resolves when the receiver has `expected` events, or has got no further for `STALL_MS`. */
async function drain(receiver: Peer, expected: number): Promise<void> {
  let best = -1;
  let progressAt = performance.now();
  while (best < expected && performance.now() - progressAt < STALL_MS) {
    const received = await receiver.ask<number>("count");
    if (received > best) progressAt = performance.now();
    best = received;
    if (best < expected) await Bun.sleep(DRAIN_POLL_MS);
  }
}

function readUsage({ server, generator, receiver }: Bench) {
  const own = [process.pid, server.pid, generator.pid, receiver.pid].map(
    (pid) => readProcess(pid).cpuSeconds,
  );
  const otherCpuSeconds = readMachineCpuSeconds() - own.reduce((sum, seconds) => sum + seconds, 0);
  return { server: readProcess(server.pid), otherCpuSeconds, atMs: performance.now() };
}

function perSecond(count: number, fromUs: number, toUs: number): number {
  return count / ((toUs - fromUs) / 1_000_000);
}
