/**
 * The retention bench: what it costs others that a month of events leaves.
 *
 *   bun test/bench/retention.ts [--events 1000000] [--bytes 1024] [--publishes 1000]
 *
 * A database of old events, each with a delivery and an attempt, is made by the store itself. The service in
 * this process first keeps them and then, started again with a shorter retention, removes them, both times
 * while another process publishes at a steady rate. Prints numbers and judges none of them.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startApp } from "../../src/app.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/platform/log.ts";
import { AgedDirectory } from "../kit/aged.ts";
import { startPeer } from "./children.ts";
import { LoopMeter } from "./loop-meter.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport } from "./pacer.ts";

const { values: options } = parseArgs({
  options: {
    events: { type: "string", default: "1000000" },
    bytes: { type: "string", default: "1024" },
    publishes: { type: "string", default: "1000" },
  },
});
const events = Number(options.events);
const bytes = Number(options.bytes);
const perSecond = Number(options.publishes);

const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
const ENDPOINTS = 10;
const RUN_MS = 5000;
const TOKEN = "operator-token-of-the-bench";
const SECRET_KEY = Buffer.alloc(32, 5);

const home = mkdtempSync(join(tmpdir(), "sealpost-retention-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
const dataDir = join(home, "data");

async function fill(): Promise<string> {
  mkdirSync(dataDir);
  const aged = new AgedDirectory(dataDir, SECRET_KEY);
  const at = Date.now() - 20 * DAY_MS;
  await aged.prepare(at, ENDPOINTS);
  await aged.add({ count: events, at, deliveries: 1, bytes });
  aged.close();
  return aged.keys.live;
}

function start(retentionDays: number) {
  const read = readConfig({
    SEALPOST_HOST: "127.0.0.1",
    SEALPOST_PORT: "0",
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SECRET_KEY: SECRET_KEY.toString("base64"),
    SEALPOST_OPERATOR_TOKEN: TOKEN,
    SEALPOST_PUBLISH_RATE_LIMIT: "0",
    SEALPOST_PLANS: JSON.stringify({ unlimited: { retention_days: retentionDays } }),
  });
  if (!read.ok) throw new Error(read.problems.join("\n"));
  const logger = createLogger("warn", (text) => console.log(text), Date.now);
  const fail = (error: Error) => {
    throw error;
  };
  return startApp(read.config, { clock: systemClock, logger, announce: () => {}, fail });
}

/** A number of /metrics. */
async function metric(url: string, name: string): Promise<number> {
  const reply = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const line = (await reply.text()).split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

function requestFor(port: number, key: string): string {
  const body = `{"type":"bench.event","data":{"fill":"${"x".repeat(bytes)}"}}`;
  const head = `POST /v1/events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n`;
  return `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Publishes in runs until `isDone`, and prints what each of them found. */
async function watch(name: string, days: number, key: string, job: string | null): Promise<void> {
  const app = await start(days);
  const { peer } = await startPeer("pacer.ts", {
    port: app.port,
    request: requestFor(app.port, key),
    perSecond,
    connections: 32,
  });
  const startedAt = performance.now();
  for (;;) {
    const loop = new LoopMeter();
    const { latency, perSecond: reached } = await peer.ask<PacerReport>({ runMs: RUN_MS });
    loop.stop();
    const runs = job === null ? 1 : await metric(app.url, `sealpost_job_runs_total{name="${job}"}`);
    print(name, [reached, latency.p50Ms, latency.p99Ms, loop.longestMs, loop.longestBusyMs]);
    if (runs > 0) break;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const removed = await metric(app.url, 'sealpost_job_rows_total{name="retention"}');
  const took = await metric(app.url, 'sealpost_job_last_duration_seconds{name="retention"}');
  console.log(
    `${name}: ${removed} events removed, in ${took.toFixed(0)} s; file ${fileMib()} MiB after ${seconds.toFixed(0)} s`,
  );
  await peer.stop();
  await app.stop();
}

const fileMib = () => Math.round(statSync(join(dataDir, "sealpost.db")).size / MIB);

function print(name: string, figures: readonly number[]): void {
  console.log(`${name.padEnd(12)}  ${figures.map((figure) => figure.toFixed(1).padStart(9)).join("  ")}`);
}

console.log(describeMachine(home));
const key = await fill();
console.log(
  `${events} old events of ${bytes} bytes, a file of ${fileMib()} MiB; ${perSecond} publishes a second\n`,
);
console.log(`${" ".repeat(12)}  published/s      p50        p99   longest turn   of it CPU (ms)`);
await watch("kept", 365, key, null);
await watch("removed", 7, key, "retention");
await watch("afterwards", 7, key, "vacuum");
