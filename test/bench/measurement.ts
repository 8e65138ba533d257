import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAuthority } from "../transport/certificates.ts";
import { type Peer, startPeer } from "./children.ts";
import type { Percentiles } from "./clock.ts";
import type { GeneratorReport, GeneratorSettings } from "./generator.ts";
import { readMachineCpuSeconds, readProcess } from "./proc.ts";
import type { ReceiverReport, ReceiverSettings } from "./receiver.ts";
import { type Contender, createEndpoints, publishBatches, type Server, startServer } from "./server.ts";

/**
 * For the first three seconds the just-in-time compiler takes half of a core, and a third less is delivered.
 */
const WARM_UP_MS = 4000;
const DRAIN_POLL_MS = 50;
/** A certificate of very many names takes more memory than all else of a connection. */
const NAMES_OF_CERTIFICATE = 50;
/** A drain that makes no progress for so long has lost something. */
const STALL_MS = 10_000;

/** What is published, and who gets it. */
export interface Load {
  seconds: number;
  connections: number;
  endpoints: number;
  bodyBytes: number;
  /** Events are of so many types, each for endpoints of its own. 0: until all endpoints have theirs. */
  types: number;
  /** So many of the endpoints get each event. */
  fanout: number;
  /** The receiver answers so much later. */
  receiverDelayMs: number;
  /** So many endpoints get events like the others, and are not measured: each event is for one endpoint. */
  uncounted: number;
  /** Those are never answered. */
  uncountedHang: boolean;
  /** So many events of 1 KiB, which no endpoint gets, are there before. */
  stored: number;
  /** Events a second; 0: as often as answers come. */
  perSecond: number;
  /** The endpoints are at so many loopback addresses. */
  hosts: number;
  /** They are reached over TLS, under an authority of the bench. */
  isTls: boolean;
  /** The receiver closes a connection with each answer. */
  closes: boolean;
}

/** What a run is unless something else is asked for. */
export const USUAL_LOAD: Load = {
  seconds: 6,
  connections: 64,
  endpoints: 1,
  bodyBytes: 1024,
  types: 0,
  fanout: 1,
  receiverDelayMs: 0,
  uncounted: 0,
  uncountedHang: false,
  stored: 0,
  perSecond: 0,
  hosts: 1,
  isTls: false,
  closes: false,
};

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
  /** Open in the server's process when all is delivered, and connections stand that are kept. */
  files: number;
  accepted: number;
  /** Deliveries of accepted events that were never received. */
  lost: number;
  duplicates: number;
  refused: Record<string, number>;
  /** CPU seconds a second that went to processes that are not the bench's. */
  otherCores: number;
}

/** Who publishes and who receives. */
export interface Peers {
  generator: Peer;
  receiver: Peer;
}

/** A contender under load, and who loads it. */
export interface Bench extends Peers {
  server: Server;
}

/** Runs one contender once on a fresh data directory below `directory`, and stops all that it started. */
export async function measure(contender: Contender, load: Load, directory: string): Promise<Measurement> {
  const bench = await startBench(contender, load, mkdtempSync(join(directory, `${contender.name}-`)));
  const idleBytes = readProcess(bench.server.pid).rssBytes;
  await warmUp(bench, load);
  const before = readUsage(bench);
  const { published, received } = await publishAndDrain(bench, load, load.seconds * 1000);
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
    files: after.server.files,
    accepted: published.accepted,
    lost: published.accepted * load.fanout - received.received,
    duplicates: received.duplicates,
    refused: published.refused,
    otherCores: (after.otherCpuSeconds - before.otherCpuSeconds) / ((after.atMs - before.atMs) / 1000),
  };
}

/** Starts all that a run needs, on the empty folder `directory`. */
export async function startBench(contender: Contender, load: Load, directory: string): Promise<Bench> {
  const tls = load.isTls ? certify(load.hosts, directory) : undefined;
  const { fanout, receiverDelayMs: delayMs, uncounted, uncountedHang: hangs, closes } = load;
  const toReceive: ReceiverSettings = {
    copies: fanout,
    delayMs,
    hangs,
    closes,
    ...(uncounted > 0 && { counted: load.endpoints - uncounted }),
    certificates: tls?.certificates,
  };
  const receiver = await startPeer("receiver.ts", toReceive);
  const { port } = receiver.ready as { port: number };
  const server = await startServer(contender, directory, tls && { NODE_EXTRA_CA_CERTS: tls.authority });
  const at = (index: number) => `${tls ? "https" : "http"}://${addressOf(index % load.hosts)}:${port}`;
  await createEndpoints(server, { count: load.endpoints, fanout, at });
  await publishBatches(server, "bench.stored", load.stored);
  const settings: GeneratorSettings = {
    port: server.port,
    apiKeys: [server.apiKey],
    connections: load.connections,
    types: load.types || load.endpoints / load.fanout,
    uncounted,
    bodyBytes: load.bodyBytes,
    perSecond: load.perSecond,
  };
  const generator = await startPeer("generator.ts", settings);
  return { server, generator: generator.peer, receiver: receiver.peer };
}

/** The first is 127.0.0.1. */
function addressOf(host: number): string {
  return `127.0.${Math.floor(host / 250)}.${(host % 250) + 1}`;
}

/** Certificates for so many addresses, and the file of the authority that signed them. */
function certify(hosts: number, directory: string) {
  const authority = createAuthority();
  const all = Array.from({ length: hosts }, (_, host) => addressOf(host));
  const certificates: NonNullable<ReceiverSettings["certificates"]> = [];
  while (all.length > 0) {
    const addresses = all.splice(0, NAMES_OF_CERTIFICATE);
    certificates.push({ addresses, ...authority.sign(addresses.map((at) => `IP:${at}`).join(",")) });
  }
  const file = join(directory, "authority.pem");
  writeFileSync(file, authority.pem);
  authority.remove();
  return { certificates, authority: file };
}

/** The generator goes first: it treats a connection that is closed under it as a fault. */
export async function stopBench(bench: Bench): Promise<void> {
  await bench.generator.stop();
  await bench.server.stop();
  await bench.receiver.stop();
}

/** Publishes for a while, of which the receiver then knows nothing. */
export async function warmUp(peers: Peers, load: Load): Promise<void> {
  const { published, received } = await publishAndDrain(peers, load, WARM_UP_MS);
  if (received.received !== published.accepted * load.fanout)
    throw new Error("events were lost during the warm-up");
  await peers.receiver.ask("reset");
}

/** Publishes for so long, and waits until all of it has been received. */
export async function publishAndDrain({ generator, receiver }: Peers, { fanout }: Load, runMs: number) {
  const published = await generator.ask<GeneratorReport>({ runMs });
  await drain(receiver, published.accepted * fanout);
  const received = await receiver.ask<ReceiverReport>("report");
  return { published, received };
}

/** Resolves when the receiver has `expected` deliveries, or has got no further for `STALL_MS`. */
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

export function perSecond(count: number, fromUs: number, toUs: number): number {
  return count / ((toUs - fromUs) / 1_000_000);
}
