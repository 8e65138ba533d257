/**
 * The disk bench: what sharing a commit is worth, and what a slow disk does to the event loop.
 *
 *   bun test/bench/disk.ts [--seconds 6] [--delay-ms 5] [--publishes 2000]
 *
 * First one connection publishes alone, then 64 together; strace counts the syncs of the second run. Then
 * every sync takes some milliseconds longer, by strace again, while events come at a steady rate: /healthz
 * shows whether the loop waits with it. Needs strace, and the right to trace. Prints numbers and judges none
 * of them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Tracer } from "../kit/strace.ts";
import { startPeer } from "./children.ts";
import type { GeneratorReport, GeneratorSettings } from "./generator.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport } from "./pacer.ts";
import { type Server, SERVICE, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "6" },
    "delay-ms": { type: "string", default: "5" },
    publishes: { type: "string", default: "2000" },
  },
});
const runMs = Number(options.seconds) * 1000;
const delayMs = Number(options["delay-ms"]);
const perSecond = Number(options.publishes);
const PROBES_PER_SECOND = 100;
const PADDING = "x".repeat(1000);

async function publishAll(server: Server, connections: number): Promise<GeneratorReport> {
  const { port, apiKey } = server;
  const settings: GeneratorSettings = {
    port,
    apiKeys: [apiKey],
    connections,
    types: 1,
    bodyBytes: 1024,
    perSecond: 0,
  };
  const { peer } = await startPeer("generator.ts", settings);
  const report = await peer.ask<GeneratorReport>({ runMs });
  await peer.stop();
  return report;
}

const rateOf = ({ accepted, firstAtUs, lastAtUs }: GeneratorReport) =>
  accepted / ((lastAtUs - firstAtUs) / 1e6);

function describePublishing(name: string, report: GeneratorReport): string {
  const { p50Ms, p99Ms } = report.latency;
  return `${name}: ${Math.round(rateOf(report))} events/s, answered in ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
}

/** Resolves with the number of lines that strace wrote while `work` ran. */
async function countSyncs(pid: number, work: () => Promise<unknown>): Promise<number> {
  await using tracer = new Tracer(pid, ["-e", "trace=fsync,fdatasync", "-e", "signal=none"]);
  await tracer.attached();
  await work();
  return tracer.linesSoFar().filter((line) => line.includes("sync(")).length;
}

async function paced(server: Server, request: string, rate: number, connections: number) {
  const { peer } = await startPeer("pacer.ts", { port: server.port, request, perSecond: rate, connections });
  return { run: () => peer.ask<PacerReport>({ runMs }), stop: () => peer.stop() };
}

function publishRequest({ port, apiKey }: Server): string {
  const body = JSON.stringify({ type: "bench.event", data: { padding: PADDING } });
  const head = ["POST /v1/events HTTP/1.1", `host: 127.0.0.1:${port}`, `authorization: Bearer ${apiKey}`];
  return [...head, "content-type: application/json", `content-length: ${body.length}`, "", body].join("\r\n");
}

async function reportSlowDisk(server: Server, name: string): Promise<void> {
  const publishing = await paced(server, publishRequest(server), perSecond, 64);
  const probing = await paced(
    server,
    `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`,
    PROBES_PER_SECOND,
    4,
  );
  const [published, probed] = await Promise.all([publishing.run(), probing.run()]);
  await Promise.all([publishing.stop(), probing.stop()]);
  const text = ({ latency: { p50Ms, p99Ms } }: PacerReport) =>
    `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
  console.log(
    `${name}: ${Math.round(published.perSecond)} events/s, publish ${text(published)}; /healthz ${text(probed)}`,
  );
}

const directory = mkdtempSync(join(tmpdir(), "sealpost-bench-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
console.log(describeMachine(directory));
const server = await startServer(SERVICE, directory);

const alone = await publishAll(server, 1);
const together = await publishAll(server, 64);
console.log(describePublishing("1 connection", alone));
console.log(describePublishing("64 connections", together));
console.log(`64 connections ÷ 1: ${(rateOf(together) / rateOf(alone)).toFixed(1)}`);
let traced: GeneratorReport | undefined;
const syncs = await countSyncs(server.pid, async () => {
  traced = await publishAll(server, 64);
});
console.log(`under strace: ${((traced?.accepted ?? 0) / syncs).toFixed(1)} events for each sync`);

await reportSlowDisk(server, "the disk as it is");
{
  const inject = `inject=fsync:delay_exit=${delayMs * 1000}`;
  await using tracer = new Tracer(server.pid, ["-e", "trace=fsync", "-e", inject]);
  await tracer.attached();
  await reportSlowDisk(server, `every sync ${delayMs} ms longer`);
}
await server.stop();
