/**
 * The backlog bench: what many events that wait cost on disk, in memory, at a restart, in what a page of the
 * portal asks for, and how fast they go out.
 *
 *   bun test/bench/backlog.ts [--waiting 1000000] [--stored 0] [--endpoints 1]
 *                             [--binary path | --profile file]
 *
 * `--stored`: so many events that nobody gets are there before. `--endpoints`: so many others stand beside
 * the one that the events wait for. The service is killed with SIGKILL while events are published, and
 * started again. Then the endpoint is resumed, while another one's events are published at a steady pace.
 * Prints numbers and judges none of them, but for what is lost. `--profile`: the sources, whose last start
 * leaves its CPU profile there.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Peer, startPeer } from "./children.ts";
import { nowUs } from "./clock.ts";
import { FIRST_SEQUENCE, preparePublish } from "./event.ts";
import type { GeneratorReport, GeneratorSettings } from "./generator.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport, PacerSettings } from "./pacer.ts";
import { readProcess, resetPeak } from "./proc.ts";
import type { ReceiverReport } from "./receiver.ts";
import { median } from "./report.ts";
import {
  callServer,
  createEndpoints,
  killUnderLoad,
  profiled,
  publishBatches,
  SERVICE,
  serviceOf,
  type Server,
  startAgain,
  startServer,
} from "./server.ts";

const { values: options } = parseArgs({
  options: {
    waiting: { type: "string", default: "1000000" },
    stored: { type: "string", default: "0" },
    endpoints: { type: "string", default: "1" },
    binary: { type: "string" },
    profile: { type: "string" },
  },
});
const waiting = Number(options.waiting);
const stored = Number(options.stored);
const endpoints = Number(options.endpoints);
const contender = options.profile ? profiled(SERVICE, resolve(options.profile)) : serviceOf(options.binary);
const MIB = 2 ** 20;
const BODY_BYTES = 1024;
const WARM_UP_MS = 4000;
const FRESH_MS = 6000;
const PACED_PER_SECOND = 500;
const ASKED_TIMES = 9;
const WAITING = "bench.waiting";
/** No endpoint gets these. */
const UNHEARD = "bench.unheard";
const REST_MS = 6000;

const directory = mkdtempSync(join(tmpdir(), "sealpost-backlog-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));

async function startReceiver(): Promise<{ peer: Peer; port: number }> {
  const { peer, ready } = await startPeer("receiver.ts", { copies: 1, delayMs: 0 });
  return { peer, port: (ready as { port: number }).port };
}

async function startGenerator({ port, apiKey }: Server): Promise<Peer> {
  const settings: GeneratorSettings = {
    port,
    apiKeys: [apiKey],
    connections: 64,
    types: 1,
    bodyBytes: BODY_BYTES,
    perSecond: 0,
  };
  return (await startPeer("generator.ts", settings)).peer;
}

const diskBytes = () =>
  readdirSync(join(directory, "data")).reduce(
    (sum, name) => sum + statSync(join(directory, "data", name)).size,
    0,
  );
const rssMiB = ({ pid }: Server) => (readProcess(pid).rssBytes / MIB).toFixed(0);
const peakMiB = ({ pid }: Server) => (readProcess(pid).peakRssBytes / MIB).toFixed(0);
const seconds = (sinceMs: number) => (performance.now() - sinceMs) / 1000;

/** Delivered a second with nothing else waiting. */
async function measureFresh(server: Server, receiver: Peer): Promise<number> {
  const generator = await startGenerator(server);
  await generator.ask({ runMs: WARM_UP_MS });
  await receiver.ask("reset");
  const { accepted, firstAtUs } = await generator.ask<GeneratorReport>({ runMs: FRESH_MS });
  while ((await receiver.ask<number>("count")) < accepted) await Bun.sleep(5);
  const { lastAtUs } = await receiver.ask<ReceiverReport>("report");
  await generator.stop();
  return accepted / ((lastAtUs - firstAtUs) / 1e6);
}

/**
 * What the portal's pages ask for: the median and the longest of nine times, in milliseconds. Some filters
 * find nothing that is near, and the last two a text that stands nowhere.
 */
async function askPages(server: Server, endpointId: string): Promise<void> {
  const paths = [
    "/v1/stats",
    `/v1/stats/endpoints?endpoint_ids=${endpointId}`,
    `/v1/endpoints/${endpointId}/stats`,
    "/v1/stats/deliveries",
    `/v1/stats/deliveries?endpoint_id=${endpointId}`,
    `/v1/stats/deliveries?event_type=${WAITING}`,
    "/v1/stats/deliveries?status_code=500",
    `/v1/endpoints/${endpointId}`,
    "/v1/endpoints?limit=50",
    "/v1/endpoints?failing=true&limit=50",
    "/v1/event-types?limit=250",
    "/v1/deliveries?limit=50",
    "/v1/deliveries?status=pending&limit=50",
    "/v1/deliveries?status=delivered&limit=1",
    `/v1/deliveries?status=retrying&endpoint_id=${endpointId}&limit=1`,
    "/v1/deliveries?event_type=bench.none&limit=50",
    "/v1/deliveries?status_code=500&limit=50",
    `/v1/deliveries?endpoint_id=${endpointId}&limit=50`,
    "/v1/events?limit=50",
    `/v1/events?type=${WAITING}&limit=50`,
    "/v1/deliveries?q=nowhere&limit=50",
    "/v1/events?q=nowhere&limit=50",
  ];
  for (const path of paths) {
    const times: number[] = [];
    for (let n = 0; n < ASKED_TIMES; n++) {
      const at = performance.now();
      await callServer(server, "GET", path);
      times.push(performance.now() - at);
    }
    const [middle, longest] = [median(times), Math.max(...times)];
    console.log(
      `  ${path.replace(endpointId, ":id")}: ${middle.toFixed(1)} ms, at most ${longest.toFixed(1)}`,
    );
  }
}

/** All that waits goes out, beside a steady pace of fresh events. */
async function drain(server: Server, endpointId: string, receiver: Peer): Promise<number> {
  const { port, apiKey } = server;
  const publish = preparePublish(`127.0.0.1:${port}`, apiKey, 0, BODY_BYTES);
  const request = publish.write(FIRST_SEQUENCE, nowUs()).toString();
  const settings: PacerSettings = { port, request, perSecond: PACED_PER_SECOND, connections: 16 };
  const { peer: pacer } = await startPeer("pacer.ts", settings);
  const began = performance.now();
  await callServer(server, "POST", `/v1/endpoints/${endpointId}/resume`, {});
  const paced: PacerReport[] = [];
  let received = 0;
  while (received < waiting) {
    paced.push(await pacer.ask<PacerReport>({ runMs: 2000 }));
    const now = await receiver.ask<number>("count");
    if (now === received) throw new Error(`${waiting - now} of ${waiting} events did not arrive`);
    received = now;
  }
  const { duplicates } = await receiver.ask<ReceiverReport>("report");
  const worst = Math.max(...paced.map(({ latency }) => latency.p99Ms));
  const rate = waiting / seconds(began);
  console.log(
    `drained at ${rate.toFixed(0)} a second, ${duplicates} of them twice; beside it ${PACED_PER_SECOND} publishes a second: ` +
      `p99 of two seconds at most ${worst.toFixed(1)} ms; ${peakMiB(server)} MiB at most`,
  );
  await pacer.stop();
  return rate;
}

console.log(describeMachine(directory));
const [fresh, late] = [await startReceiver(), await startReceiver()];
let server = await startServer(contender, directory);
console.log(`idle: ${rssMiB(server)} MiB`);
let began = performance.now();
await createEndpoints(server, { count: endpoints, fanout: 1, at: () => `http://127.0.0.1:${fresh.port}` });
console.log(`${endpoints} endpoints made in ${seconds(began).toFixed(1)} s: ${rssMiB(server)} MiB`);
const freshRate = await measureFresh(server, fresh.peer);
console.log(`fresh: ${freshRate.toFixed(0)} delivered a second`);
const endpoint = { url: `http://127.0.0.1:${late.port}/late`, event_types: [WAITING], max_concurrency: 100 };
const { id } = await callServer(server, "POST", "/v1/endpoints", endpoint);
if (id === undefined) throw new Error("no endpoint was made");
await callServer(server, "POST", `/v1/endpoints/${id}/pause`, {});

began = performance.now();
await publishBatches(server, UNHEARD, stored);
if (stored > 0) console.log(`${stored} events stored at ${(stored / seconds(began)).toFixed(0)} a second`);
const before = diskBytes();
resetPeak(server.pid);
began = performance.now();
await publishBatches(server, WAITING, waiting);
const perEvent = (diskBytes() - before) / waiting;
console.log(
  `${waiting} events taken by batches at ${(waiting / seconds(began)).toFixed(0)} a second: ` +
    `${peakMiB(server)} MiB at most, ${perEvent.toFixed(0)} bytes on disk for each`,
);
await askPages(server, id);
await killUnderLoad(server, UNHEARD);
began = performance.now();
server = await startAgain(contender, directory, server);
console.log(`after kill -9 ready in ${(seconds(began) * 1000).toFixed(0)} ms: ${rssMiB(server)} MiB`);
await Bun.sleep(REST_MS);
console.log(`at rest: ${rssMiB(server)} MiB`);
await askPages(server, id);
const drainRate = await drain(server, id, late.peer);
console.log(`backlog ÷ fresh: ${(drainRate / freshRate).toFixed(2)}`);
await server.stop();
for (const { peer } of [fresh, late]) await peer.stop();
process.exit(0);
