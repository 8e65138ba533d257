/**
 * The soak: a steady load with hostile receivers, broken uploads and endpoints that come and go, for as long
 * as asked for.
 *
 *   bun test/bench/soak.ts [--seconds 300] [--publishes 300]
 *
 * Prints memory and open files of the service every tenth of the run, and the slope of its memory. Exits 1
 * where the service has refused an event, has lost one, keeps files open, needs more than 300 MiB, or does
 * not end with exit code 0; and, in a run of at least five minutes, where its memory grows by more than 1 MiB
 * a minute after the second minute.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BEHAVIOURS, startHostile } from "../kit/hostile.ts";
import { startPeer } from "./children.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport } from "./pacer.ts";
import { readProcess } from "./proc.ts";
import { type Server, SERVICE, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: { seconds: { type: "string", default: "300" }, publishes: { type: "string", default: "300" } },
});
const seconds = Number(options.seconds);
const perSecond = Number(options.publishes);
const MIB = 1024 * 1024;
const RSS_MIB_MAX = 300;
const SLOPE_MIB_MAX = 1;
const SLOPE_SECONDS_MIN = 300;
const SETTLING_SECONDS = 120;
/** What may be open more at the end than after the first tenth: idle connections come and go. */
const FILES_MORE_MAX = 64;
/** One of ten events goes to a hostile receiver. */
const HOSTILE_SHARE = 10;
const BROKEN_UPLOADS_PER_SECOND = 3;
const UPLOAD = { announced: 900_000, sent: 300_000 };
const SOUND = "soak.sound";
const HOSTILE = "soak.hostile";

interface Sample {
  atSeconds: number;
  rssMiB: number;
  files: number;
}

const directory = mkdtempSync(join(tmpdir(), "sealpost-soak-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const faults: string[] = [];

function call(server: Server, method: string, path: string, body?: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function addEndpoint(server: Server, url: string, fields: object): Promise<string> {
  const reply = await call(server, "POST", "/v1/endpoints", { url, ...fields });
  if (reply.status !== 201) throw new Error(`no endpoint: ${reply.status} ${await reply.text()}`);
  return ((await reply.json()) as { id: string }).id;
}

function publishRequest({ port, apiKey }: Server, type: string): string {
  const body = JSON.stringify({ type, data: { padding: "x".repeat(900) } });
  const head = ["POST /v1/events HTTP/1.1", `host: 127.0.0.1:${port}`, `authorization: Bearer ${apiKey}`];
  return [...head, "content-type: application/json", `content-length: ${body.length}`, "", body].join("\r\n");
}

function breakUpload({ port, apiKey }: Server): void {
  const socket = connect(port, "127.0.0.1", () => {
    const head = `POST /v1/events HTTP/1.1\r\nhost: x.test\r\nauthorization: Bearer ${apiKey}\r\n`;
    socket.write(`${head}content-type: application/json\r\ncontent-length: ${UPLOAD.announced}\r\n\r\n`);
    socket.write("x".repeat(UPLOAD.sent), () => socket.destroy());
  });
  socket.on("error", () => {});
}

/** Every second an endpoint comes and one that came ten seconds ago goes. */
function churn(server: Server, url: string): { stop(): Promise<void> } {
  const ids: string[] = [];
  let last = Promise.resolve();
  const turn = async () => {
    ids.push(await addEndpoint(server, url, { event_types: ["soak.never"] }));
    const oldest = ids.length > 10 ? ids.shift() : undefined;
    if (oldest) await call(server, "DELETE", `/v1/endpoints/${oldest}`);
  };
  const timer = setInterval(() => {
    last = last.then(turn).catch((error: unknown) => void faults.push(String(error)));
  }, 1000);
  return {
    stop() {
      clearInterval(timer);
      return last;
    },
  };
}

function sample(pid: number, atSeconds: number): Sample {
  const { rssBytes, files } = readProcess(pid);
  return { atSeconds, rssMiB: rssBytes / MIB, files };
}

/** MiB a minute, by least squares. */
function slopeOf(samples: readonly Sample[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const at = mean(samples.map(({ atSeconds }) => atSeconds));
  const rss = mean(samples.map(({ rssMiB }) => rssMiB));
  const covariance = mean(samples.map((one) => (one.atSeconds - at) * (one.rssMiB - rss)));
  const variance = mean(samples.map((one) => (one.atSeconds - at) ** 2));
  return variance === 0 ? 0 : (60 * covariance) / variance;
}

async function countOpen(server: Server): Promise<number> {
  const reply = await call(server, "GET", `/v1/deliveries?event_type=${SOUND}&status=pending&limit=250`);
  return ((await reply.json()) as { data: unknown[] }).data.length;
}

function judge(samples: readonly Sample[], reports: readonly PacerReport[]): void {
  const rssMax = Math.max(...samples.map(({ rssMiB }) => rssMiB));
  const files = {
    early: samples[Math.floor(samples.length / 10)]?.files ?? 0,
    late: samples.at(-1)?.files ?? 0,
  };
  const slope = slopeOf(
    samples.filter(({ atSeconds }) => atSeconds >= Math.min(SETTLING_SECONDS, seconds / 2)),
  );
  const statuses = reports.map((report) => JSON.stringify(report.statuses)).join(" ");
  console.log(
    `most ${rssMax.toFixed(0)} MiB, slope ${slope.toFixed(2)} MiB a minute, files ${files.early} → ${files.late}, answers ${statuses}`,
  );
  if (rssMax > RSS_MIB_MAX) faults.push(`it needs ${rssMax.toFixed(0)} MiB`);
  if (files.late > files.early + FILES_MORE_MAX)
    faults.push(`open files grow from ${files.early} to ${files.late}`);
  if (seconds >= SLOPE_SECONDS_MIN && slope > SLOPE_MIB_MAX) faults.push(`its memory grows`);
  if (reports.some((report) => Object.keys(report.statuses).some((status) => status !== "202")))
    faults.push(`events were refused: ${statuses}`);
}

console.log(describeMachine(directory));
const server = await startServer(SERVICE, directory);
const hostile = await startHostile();
for (const path of Object.keys(BEHAVIOURS)) {
  const fields = { event_types: path === "/ok" ? [SOUND] : [HOSTILE], timeout_seconds: 2 };
  await addEndpoint(server, hostile.url(path).href, fields);
}
const peers = await Promise.all(
  [
    { type: SOUND, rate: perSecond - perSecond / HOSTILE_SHARE },
    { type: HOSTILE, rate: perSecond / HOSTILE_SHARE },
  ].map(({ type, rate }) =>
    startPeer("pacer.ts", {
      port: server.port,
      request: publishRequest(server, type),
      perSecond: rate,
      connections: 16,
    }),
  ),
);
const churning = churn(server, hostile.url("/ok").href);
const uploads = setInterval(() => breakUpload(server), 1000 / BROKEN_UPLOADS_PER_SECOND);
const samples: Sample[] = [];
const sampling = setInterval(() => {
  samples.push(sample(server.pid, samples.length + 1));
  const last = samples.at(-1);
  if (last && last.atSeconds % Math.ceil(seconds / 10) === 0)
    console.log(`${last.atSeconds} s: ${last.rssMiB.toFixed(0)} MiB, ${last.files} files`);
}, 1000);
const reports = await Promise.all(peers.map(({ peer }) => peer.ask<PacerReport>({ runMs: seconds * 1000 })));
clearInterval(sampling);
clearInterval(uploads);
await churning.stop();
judge(samples, reports);
for (let wait = 0; wait < 100 && (await countOpen(server)) > 0; wait++) await Bun.sleep(100);
const open = await countOpen(server);
if (open > 0) faults.push(`${open} sound deliveries are still pending ten seconds after the load`);
const exitCode = await server.stop();
if (exitCode !== 0) faults.push(`the service ended with exit code ${exitCode}`);
await Promise.all(peers.map(({ peer }) => peer.stop()));
await hostile.close();
for (const fault of faults) console.error(`fault: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);
