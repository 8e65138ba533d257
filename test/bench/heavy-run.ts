import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Peer, startPeer } from "./children.ts";
import type { HeavyFlood } from "./heavy.ts";
import { liveKeyOf, makeAccount, type Tally } from "./heavy-kit.ts";
import type { PacerReport } from "./pacer.ts";
import { readProcess, resetPeak } from "./proc.ts";
import { SERVICE, startServer } from "./server.ts";

const MIB = 1024 * 1024;
const OPERATOR = "an-operator-token-of-the-bench";
const ENV = { SEALPOST_OPERATOR_TOKEN: OPERATOR, SEALPOST_LOG_LEVEL: "warn" };

/** Some times what a busy machine makes of the worst: above it the service stood still. */
const WORST_MS_MAX = 4000;

/** What the neighbour does, so many times a second each. */
const PER_SECOND = 20;

interface Outcome {
  publish: PacerReport;
  read: PacerReport;
  tally: Tally;
  beforeMiB: number;
  peakMiB: number;
}

/** Runs the floods one after the other, prints a line of each, and answers what is wrong. */
export async function runHeavy(floods: readonly HeavyFlood[], endpoints: number): Promise<string[]> {
  if (floods.length === 0) return [];
  console.log(
    "\nheavy floods          publish p50, worst ms     read p50, worst ms   before    at most  answers",
  );
  const faults: string[] = [];
  for (const flood of floods) {
    const outcome = await runOne(flood, endpoints);
    console.log(format(flood.name, outcome));
    faults.push(...faultsOf(flood, outcome));
  }
  return faults;
}

async function runOne(flood: HeavyFlood, endpoints: number): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), "sealpost-heavy-"));
  const server = await startServer(SERVICE, directory, ENV);
  const makeKey = async () => liveKeyOf(await makeAccount(server.port, OPERATOR));
  const [key, neighbour] = [await makeKey(), await makeKey()];
  const [publisher, reader] = [
    await startNeighbour(server.port, publishOf(neighbour)),
    await startNeighbour(server.port, readOf(neighbour)),
  ];
  const start = await flood.prepare({ port: server.port, key, endpoints });
  const beforeMiB = readProcess(server.pid).rssBytes / MIB;
  resetPeak(server.pid);
  const watch = (peer: Peer) => peer.ask<PacerReport>({ runMs: flood.seconds * 1000 });
  const [publish, read, tally] = await Promise.all([watch(publisher), watch(reader), start()]);
  const peakMiB = readProcess(server.pid).peakRssBytes / MIB;
  await Promise.all([publisher.stop(), reader.stop(), server.stop()]);
  rmSync(directory, { recursive: true, force: true });
  return { publish, read, tally, beforeMiB, peakMiB };
}

async function startNeighbour(port: number, request: string): Promise<Peer> {
  return (await startPeer("pacer.ts", { port, request, perSecond: PER_SECOND, connections: 4 })).peer;
}

function publishOf(key: string): string {
  const body = JSON.stringify({ type: "bench.neighbour", data: {} });
  const head = `host: 127.0.0.1\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json`;
  return `POST /v1/events HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

function readOf(key: string): string {
  return `GET /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n\r\n`;
}

function format(name: string, { publish, read, tally, beforeMiB, peakMiB }: Outcome): string {
  const tell = ({ latency, worstMs }: PacerReport) =>
    `${latency.p50Ms.toFixed(1).padStart(10)} ${worstMs.toFixed(0).padStart(10)}`;
  const memory = [beforeMiB, peakMiB].map((mib) => `${Math.round(mib)} MiB`.padStart(10)).join(" ");
  return `${name.padEnd(20)} ${tell(publish)}   ${tell(read)} ${memory}  ${JSON.stringify(tally)}`;
}

function faultsOf({ name, peakMiBMax }: HeavyFlood, { publish, read, peakMiB }: Outcome): string[] {
  const statuses = [...Object.keys(publish.statuses), ...Object.keys(read.statuses)];
  const refused = statuses.filter((status) => !status.startsWith("2"));
  const worstMs = Math.max(publish.worstMs, read.worstMs);
  const peak = `${name}: at most ${Math.round(peakMiB)} MiB, above ${peakMiBMax}`;
  return [
    ...(peakMiB > peakMiBMax ? [peak] : []),
    ...(worstMs > WORST_MS_MAX ? [`${name}: the neighbour waited ${Math.round(worstMs)} ms`] : []),
    ...(refused.length > 0 ? [`${name}: the neighbour got ${refused.join(", ")}`] : []),
  ];
}
