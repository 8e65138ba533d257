/**
 * What a flood at one source does to the others: publishing and another source go on at a steady pace, once without a flood, once
 * under forged requests, once under genuine ones above the source's rate. The three take turns.
 *
 *   bun test/bench/flood.ts [--rounds 12] [--seconds 1] [--flood 1000] [--connections 16]
 *
 * `--flood 0`: as many as one process can send.
 */
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Peer, startPeer } from "./children.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport, PacerSettings } from "./pacer.ts";
import { type Server, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "12" },
    seconds: { type: "string", default: "1" },
    flood: { type: "string", default: "1000" },
    connections: { type: "string", default: "16" },
  },
});
const runMs = Number(options.seconds) * 1000;
const PUBLISHES_PER_SECOND = 200;
const EVENTS_PER_SECOND = 50;
const BODY_BYTES = 2048;
const SECRET = "a-webhook-secret";
const BODY = JSON.stringify({ type: "invoice.paid", text: "x".repeat(BODY_BYTES - 36) });

function rawRequest(path: string, headers: Record<string, string>, body: string): string {
  const lines = Object.entries({ host: "127.0.0.1", ...headers, "content-length": String(body.length) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `POST ${path} HTTP/1.1\r\n${head}\r\n${body}`;
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

function publish({ apiKey }: Server): string {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  return rawRequest("/v1/events", headers, JSON.stringify({ type: "bench.published", data: { text: BODY } }));
}

async function startPacer(settings: PacerSettings): Promise<Peer> {
  return (await startPeer("pacer.ts", settings)).peer;
}

type Phase = "calm" | "forged" | "genuine";
const PHASES: readonly Phase[] = ["calm", "forged", "genuine"];

interface Result {
  phase: Phase;
  publish: PacerReport;
  other: PacerReport;
  flood: PacerReport | null;
}

async function runPhase(phase: Phase, publisher: Peer, other: Peer, flood: Peer | null): Promise<Result> {
  const [published, received, flooded] = await Promise.all([
    publisher.ask<PacerReport>({ runMs }),
    other.ask<PacerReport>({ runMs }),
    flood?.ask<PacerReport>({ runMs }) ?? null,
  ]);
  const result = { phase, publish: published, other: received, flood: flooded };
  console.log(format(result));
  return result;
}

function format({ phase, publish: published, other, flood }: Result): string {
  const tell = ({ latency }: PacerReport) =>
    `${latency.p50Ms.toFixed(2).padStart(7)} ${latency.p99Ms.toFixed(2).padStart(7)}`;
  const rate = flood === null ? "" : `  ${Math.round(flood.perSecond)}/s ${JSON.stringify(flood.statuses)}`;
  return `${phase.padEnd(8)} ${tell(published)}   ${tell(other)} ${rate}`;
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? 0;
}

/** Over the rounds of a phase: the middle, and the quieter quarter, which other work on the machine disturbs less. */
function tellQuantiles(name: string, results: readonly Result[], read: (result: Result) => number): void {
  const of = (phase: Phase, share: number) =>
    quantile(
      results.filter((result) => result.phase === phase).map((result) => read(result)),
      share,
    );
  console.log(`\n${name}${" ".repeat(24 - name.length)}median   ratio  quarter   ratio`);
  for (const phase of PHASES) {
    const cells = [0.5, 0.25].flatMap((share) => [of(phase, share), of(phase, share) / of("calm", share)]);
    console.log(phase.padEnd(22), cells.map((cell) => cell.toFixed(2).padStart(7)).join(" "));
  }
}

function summarize(results: readonly Result[]): void {
  tellQuantiles("publish, p50 ms", results, (result) => result.publish.latency.p50Ms);
  tellQuantiles("publish, p99 ms", results, (result) => result.publish.latency.p99Ms);
  tellQuantiles("another source, p99 ms", results, (result) => result.other.latency.p99Ms);
}

const directory = mkdtempSync(join(tmpdir(), "sealpost-flood-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const command = [process.execPath, join(import.meta.dir, "../../src/main.ts")];
const server = await startServer({ name: "service", command }, directory);
const [flooded, calm] = [await makeSource(server), await makeSource(server)];
const shared = { port: server.port, connections: 8 };
const publisher = await startPacer({ ...shared, request: publish(server), perSecond: PUBLISHES_PER_SECOND });
const other = await startPacer({ ...shared, request: inbound(calm, SECRET), perSecond: EVENTS_PER_SECOND });
const flood = {
  port: server.port,
  perSecond: Number(options.flood),
  connections: Number(options.connections),
};
const floods = {
  forged: await startPacer({ ...flood, request: inbound(flooded, "another secret") }),
  genuine: await startPacer({ ...flood, request: inbound(flooded, SECRET) }),
};

console.log(`${describeMachine(directory)}\n`);
console.log("          publish p50/p99 ms  another source   flood");
const results: Result[] = [];
await runPhase("calm", publisher, other, null);
for (let round = 0; round < Number(options.rounds); round++) {
  results.push(await runPhase("calm", publisher, other, null));
  results.push(await runPhase("forged", publisher, other, floods.forged));
  results.push(await runPhase("genuine", publisher, other, floods.genuine));
}
summarize(results);
await Promise.all([publisher, other, floods.forged, floods.genuine].map((peer) => peer.stop()));
await server.stop();
process.exit(0);
