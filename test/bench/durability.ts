/**
 * The durability bench: what it costs that an answer waits for the replica.
 *
 *   bun test/bench/durability.ts [--seconds 10] [--rates 200,1000,3000] [--away-ms 60]
 *
 * The service runs under the real Litestream. At each rate events of 1 KiB come twice, by turns: answered
 * after the disk, and answered after the replica, which is a folder, a bucket on this machine, and the same
 * bucket with every answer of it so many milliseconds later, as from a store that is away. Prints numbers and
 * judges none of them.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Bucket, gauge, METRICS_TOKEN } from "../durability/machine.ts";
import { buildLitestream, replicateCommand } from "../kit/litestream.ts";
import { startPeer } from "./children.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport } from "./pacer.ts";
import { callServer, type Server, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    rates: { type: "string", default: "200,1000,3000" },
    "away-ms": { type: "string", default: "60" },
  },
});
const runMs = Number(options.seconds) * 1000;
const rates = options.rates.split(",").map(Number);
const awayMs = Number(options["away-ms"]);
const WARM_UP_MS = 3000;
/** More than wait for the slowest replica at the highest rate. */
const CONNECTIONS = 1500;
const PADDING = "x".repeat(960);
const DURABILITIES = ["disk", "replica"] as const;

type Durability = (typeof DURABILITIES)[number];

/** Litestream stumbles over it. */
delete process.env["AWS_CA_BUNDLE"];

const directory = mkdtempSync(join(tmpdir(), "sealpost-bench-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));

/** Passes bytes on to a port of this machine; what comes back arrives so much later. */
async function startDelay(toPort: number, ms: number): Promise<{ port: number; stop(): void }> {
  const server = createServer((client) => {
    const other = connect(toPort, "127.0.0.1");
    client.pipe(other);
    other.on("data", (chunk) => setTimeout(() => client.write(chunk), ms));
    other.on("close", () => setTimeout(() => client.destroy(), ms));
    for (const socket of [client, other]) socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return { port, stop: () => server.close() };
}

function requestOf({ port, apiKey }: Server, durability: Durability): string {
  const body = JSON.stringify({ type: "bench.event", data: { padding: PADDING } });
  const head = [
    "POST /v1/events HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${apiKey}`,
    `sealpost-durability: ${durability}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
  ];
  return [...head, "", body].join("\r\n");
}

async function publish(server: Server, durability: Durability, perSecond: number, ms: number) {
  const { port } = server;
  const settings = { port, request: requestOf(server, durability), perSecond, connections: CONNECTIONS };
  const { peer } = await startPeer("pacer.ts", settings);
  const uploads = () => gauge({ url: `http://127.0.0.1:${port}` }, "sealpost_replica_uploads");
  const before = await uploads();
  const report = await peer.ask<PacerReport>({ runMs: ms });
  const count = (await uploads()) - before;
  await peer.stop();
  return { report, uploads: count };
}

function describe(durability: Durability, { report, uploads }: Awaited<ReturnType<typeof publish>>): string {
  const { latency, worstMs, perSecond, statuses } = report;
  const events = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const accepted = statuses["202"] ?? 0;
  const refused = accepted === events ? "" : `, ${events - accepted} refused`;
  return (
    `  ${durability}: answered p50 ${latency.p50Ms.toFixed(1)} ms, p99 ${latency.p99Ms.toFixed(1)}, at most ${worstMs.toFixed(0)}; ` +
    `${Math.round(perSecond)}/s, ${((1000 * uploads) / events).toFixed(1)} uploads for 1,000 events${refused}`
  );
}

async function measure(name: string, env: Record<string, string>): Promise<void> {
  const folder = mkdtempSync(join(directory, "run-"));
  const command = replicateCommand(litestream);
  const settings = { SEALPOST_METRICS_TOKEN: METRICS_TOKEN, SEALPOST_LOG_LEVEL: "warn", ...env };
  const server = await startServer({ name: "service", command }, folder, settings);
  await callServer(server, "POST", "/v1/endpoints", { url: `http://127.0.0.1:${receiver.port}/` });
  for (const durability of DURABILITIES) await publish(server, durability, 500, WARM_UP_MS);
  for (const rate of rates) {
    console.log(`${name}, ${rate} events/s`);
    for (const durability of DURABILITIES)
      console.log(describe(durability, await publish(server, durability, rate, runMs)));
  }
  await server.stop();
}

console.log(describeMachine(directory));
const litestream = await buildLitestream();
const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
const replica = join(directory, "replica");
mkdirSync(replica);
await measure("a folder", { LITESTREAM_REPLICA_URL: `file://${replica}` });
{
  await using bucket = await Bucket.start();
  await measure("a bucket on this machine", bucket.places(directory).env);
  const delay = await startDelay(bucket.port, awayMs);
  await measure(`a bucket ${awayMs} ms away`, bucket.places(directory, `http://127.0.0.1:${delay.port}`).env);
  delay.stop();
}
await receiver.stop(true);
