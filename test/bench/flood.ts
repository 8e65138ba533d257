/**
 * What a flood does to the others: publishing, another source and reading go on at a steady pace, by turns
 * without a flood, under forged requests to a source, under genuine ones above its rate, under publishing and
 * reading in another project, under readers of the largest page that anybody may ask for, and beside
 * connections that hold something: such an answer, which they do not read, or a body that does not end. Then
 * the floods of heavy.ts, of few requests and much memory.
 *
 *   bun test/bench/flood.ts [--rounds 10] [--seconds 4] [--flood 1000] [--connections 16] [--held 1000]
 *                           [--endpoints 10000] [--heavy "previews"]
 *
 * `--flood 0`: as many as one process can send. `--rounds 0`: the heavy floods alone; `--heavy` names one of
 * them, or `none`. Each tells the most memory that the service had meanwhile, and the bench ends with exit
 * code 1 where that passes its bound, or a neighbour of a heavy one was refused. The bounds are those of the
 * defaults: 100,000 endpoints take 466 MiB before anything floods them.
 */
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Peer, startPeer } from "./children.ts";
import { holdConnections } from "./held.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport, PacerSettings } from "./pacer.ts";
import { HEAVY_FLOODS } from "./heavy.ts";
import { runHeavy } from "./heavy-run.ts";
import { readProcess, resetPeak } from "./proc.ts";
import { type Server, SERVICE, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    seconds: { type: "string", default: "4" },
    flood: { type: "string", default: "1000" },
    connections: { type: "string", default: "16" },
    held: { type: "string", default: "1000" },
    endpoints: { type: "string", default: "10000" },
    heavy: { type: "string", default: "all" },
  },
});
const runMs = Number(options.seconds) * 1000;
const PUBLISHES_PER_SECOND = 200;
const EVENTS_PER_SECOND = 50;
const READS_PER_SECOND = 50;
/** A flood is a multiple of each; the steady ones stay below. */
const RATE_LIMITS = { SEALPOST_PUBLISH_RATE_LIMIT: "250", SEALPOST_MANAGEMENT_RATE_LIMIT: "100" };
/** Of the service in all these phases; half more than was measured. */
const PEAK_MIB_MAX = 900;
const MIB = 1024 * 1024;
const BODY_BYTES = 2048;
const SECRET = "a-webhook-secret";
const BODY = JSON.stringify({ type: "invoice.paid", text: "x".repeat(BODY_BYTES - 36) });

function rawRequest(path: string, headers: Record<string, string>, body: string): string {
  const lines = Object.entries({ host: "127.0.0.1", ...headers, "content-length": String(body.length) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `${body === "" ? "GET" : "POST"} ${path} HTTP/1.1\r\n${head}\r\n${body}`;
}

/** GitHub's scheme, as the one that most sources have. */
async function makeSource({ port, apiKey }: Server): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/sources`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ provider: "github", name: "bench", signing_secret: SECRET }),
  });
  if (reply.status !== 201) throw new Error(`no source: ${reply.status}`);
  return ((await reply.json()) as { ingest_path: string }).ingest_path;
}

/** Without a delivery id each genuine request is an event of its own. */
function inbound(path: string, secret: string): string {
  const mac = createHmac("sha256", secret).update(BODY).digest("hex");
  const headers = { "content-type": "application/json", "x-github-event": "push" };
  return rawRequest(path, { ...headers, "x-hub-signature-256": `sha256=${mac}` }, BODY);
}

function publish(apiKey: string): string {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  return rawRequest("/v1/events", headers, JSON.stringify({ type: "bench.published", data: { text: BODY } }));
}

/** The largest answer that anybody gets without a key: Swagger UI's script, unpacked. */
const PAGE = rawRequest("/docs/assets/swagger-ui-bundle.js", {}, "");

function read(apiKey: string): string {
  return rawRequest("/v1/endpoints", { authorization: `Bearer ${apiKey}` }, "");
}

async function startPacer(settings: PacerSettings): Promise<Peer> {
  return (await startPeer("pacer.ts", settings)).peer;
}

/** What goes on at its pace while something else floods. */
const STEADY = ["publish", "another source", "read"] as const;
type Steady = (typeof STEADY)[number];

interface Result {
  phase: string;
  steady: Record<Steady, PacerReport>;
  flood: PacerReport | null;
  /** Of the service, over the phase. */
  cpuSeconds: number;
  /** Of the service, at most. */
  peakRssBytes: number;
}

async function runPhase(phase: string, steady: Record<Steady, Peer>, flood: Peer | null): Promise<Result> {
  const ask = (peer: Peer) => peer.ask<PacerReport>({ runMs });
  const before = readProcess(server.pid).cpuSeconds;
  resetPeak(server.pid);
  const [flooded, ...reports] = await Promise.all([
    flood && ask(flood),
    ...STEADY.map((name) => ask(steady[name])),
  ]);
  const named = STEADY.map((name, at) => [name, reports[at]]);
  const { cpuSeconds: after, peakRssBytes } = readProcess(server.pid);
  const facts = { flood: flooded, cpuSeconds: after - before, peakRssBytes };
  const result = { phase, steady: Object.fromEntries(named) as Result["steady"], ...facts };
  console.log(format(result));
  return result;
}

/** The same beside connections that hold what this request makes the service hold. */
async function runHeldPhase(phase: string, request: string): Promise<Result> {
  const close = await holdConnections(server.port, request, Number(options.held));
  const result = await runPhase(phase, steady, null);
  close();
  return result;
}

function format({ phase, steady, flood, peakRssBytes }: Result): string {
  const tell = ({ latency }: PacerReport) =>
    `${latency.p50Ms.toFixed(2).padStart(7)} ${latency.p99Ms.toFixed(2).padStart(7)}`;
  const rate = flood === null ? "" : `  ${Math.round(flood.perSecond)}/s ${JSON.stringify(flood.statuses)}`;
  const memory = `${Math.round(peakRssBytes / MIB)} MiB`.padStart(8);
  return `${phase.padEnd(10)} ${STEADY.map((name) => tell(steady[name])).join("   ")} ${memory}${rate}`;
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? 0;
}

/**
 * Over the rounds of a phase: the middle, and the quieter quarter, which other work on the machine
 * disturbs less.
 */
function tellQuantiles(name: string, results: readonly Result[], value: (result: Result) => number): void {
  const of = (phase: string, share: number) =>
    quantile(
      results.filter((result) => result.phase === phase).map((result) => value(result)),
      share,
    );
  console.log(`\n${name}${" ".repeat(24 - name.length)}median   ratio  quarter   ratio`);
  for (const phase of new Set(results.map((result) => result.phase))) {
    const cells = [0.5, 0.25].flatMap((share) => [of(phase, share), of(phase, share) / of("calm", share)]);
    console.log(phase.padEnd(22), cells.map((cell) => cell.toFixed(2).padStart(7)).join(" "));
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** What a request of the flood costs the service: what a phase uses above a calm one. */
function tellCpu(results: readonly Result[]): void {
  const of = (phase: string) => results.filter((result) => result.phase === phase);
  const calm = sum(of("calm").map(({ cpuSeconds }) => cpuSeconds));
  const floods = new Set(results.filter(({ flood }) => flood !== null).map(({ phase }) => phase));
  console.log("\nCPU of one request of the flood, µs");
  for (const phase of floods) {
    const above = sum(of(phase).map(({ cpuSeconds }) => cpuSeconds)) - calm;
    const requests = sum(of(phase).flatMap(({ flood }) => (flood ? Object.values(flood.statuses) : [])));
    console.log(phase.padEnd(22), ((above / requests) * 1e6).toFixed(0).padStart(7));
  }
}

function summarize(results: readonly Result[]): void {
  tellQuantiles("publish, p50 ms", results, ({ steady }) => steady.publish.latency.p50Ms);
  for (const name of STEADY)
    tellQuantiles(`${name}, p99 ms`, results, ({ steady }) => steady[name].latency.p99Ms);
  tellCpu(results);
}

const directory = mkdtempSync(join(tmpdir(), "sealpost-flood-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const server = await startServer(SERVICE, directory, RATE_LIMITS);
const { apiKey, testKey } = server;
const [flooded, calm] = [await makeSource(server), await makeSource(server)];
const paced = (request: string, perSecond: number) =>
  startPacer({ port: server.port, connections: 8, request, perSecond });
const steady: Record<Steady, Peer> = {
  publish: await paced(publish(apiKey), PUBLISHES_PER_SECOND),
  "another source": await paced(inbound(calm, SECRET), EVENTS_PER_SECOND),
  read: await paced(read(apiKey), READS_PER_SECOND),
};
const flood = (request: string) => {
  const [perSecond, connections] = [Number(options.flood), Number(options.connections)];
  return startPacer({ port: server.port, perSecond, connections, request });
};
const floods = {
  forged: await flood(inbound(flooded, "another secret")),
  genuine: await flood(inbound(flooded, SECRET)),
  publishing: await flood(publish(testKey)),
  reading: await flood(read(testKey)),
  pages: await flood(PAGE),
};
/** All but the last bytes of the largest body, to an address that there is not. */
const unended = `POST /ingest/src_01M888DMFK00XMN49FS0AGF330 HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${1024 * 1024}\r\n\r\n${"x".repeat(1024 * 1024 - 100)}`;
const held = { unread: PAGE, unended };

console.log(`${describeMachine(directory)}\n`);
console.log("p50/p99 ms  publish           another source    read             at most  flood");
const results: Result[] = [await runPhase("calm", steady, null)];
for (let round = 0; round < Number(options.rounds); round++) {
  results.push(await runPhase("calm", steady, null));
  for (const [phase, peer] of Object.entries(floods)) results.push(await runPhase(phase, steady, peer));
  for (const [phase, request] of Object.entries(held)) results.push(await runHeldPhase(phase, request));
}
if (Number(options.rounds) > 0) summarize(results.slice(1));
await Promise.all([...Object.values(steady), ...Object.values(floods)].map((peer) => peer.stop()));
await server.stop();

const peak = Math.max(...results.map(({ peakRssBytes }) => peakRssBytes)) / MIB;
const faults = peak > PEAK_MIB_MAX ? [`at most ${Math.round(peak)} MiB, above ${PEAK_MIB_MAX}`] : [];
const named = HEAVY_FLOODS.filter(({ name }) => options.heavy === "all" || options.heavy === name);
faults.push(...(await runHeavy(named, Number(options.endpoints))));
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
