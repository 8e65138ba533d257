/**
 * What the background work of one account takes of another's rate: one account publishes as often as it is
 * answered, alone and then beside each of these works of another account, which begin together. An account
 * may have a thousand projects, so each work is there for one project and spread over many.
 *
 *   bun test/bench/cleanup.ts [--seconds 20] [--connections 32] [--projects 100] [--only "deletion"]
 *
 * Prints the rates, and how far the work came meanwhile, and judges none.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPeer } from "./children.ts";
import { type Account, atOnce, call, liveKeyOf, makeAccount, type Target } from "./heavy-kit.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport } from "./pacer.ts";
import { median } from "./report.ts";
import { SERVICE, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    connections: { type: "string", default: "32" },
    projects: { type: "string", default: "100" },
    only: { type: "string" },
  },
});
const many = Number(options.projects);

const OPERATOR = "an-operator-token-of-the-bench";
const ENV = { SEALPOST_OPERATOR_TOKEN: OPERATOR, SEALPOST_LOG_LEVEL: "warn" };
/** Of a work, over all its projects: so many deliveries. */
const [ENDPOINTS, EVENTS_EACH] = [200, 2000];
const BATCH = 50;
const URL = "http://127.0.0.1:9/";

/** As of the bench of deliveries: the just-in-time compiler takes part of a core at first. */
const [WARM_UP_MS, CALM_MS] = [4000, 4000];

interface Work {
  name: string;
  projects: number;
  /** What has to be there before, in each of these projects; answers what begins the work. */
  prepare(projects: readonly Target[]): Promise<() => Promise<unknown>>;
  /** What the metrics count of it. */
  counted: string;
}

const CANCELLED = 'sealpost_deliveries_ended_total{status="cancelled"';
const ERASED = 'sealpost_job_rows_total{name="erasure"';

const WORKS: readonly Work[] = [1, many].flatMap((projects) => [
  { name: "deletion", projects, prepare: deletion({ url: URL }), counted: CANCELLED },
  { name: "polled deletion", projects, prepare: deletion({ kind: "poll" }), counted: CANCELLED },
  { name: "erasure", projects, prepare: erasure, counted: ERASED },
  { name: "replay", projects, prepare: replay, counted: "sealpost_replays_running" },
]);

/** Endpoints, each with as many deliveries that wait, as they are paused. */
async function makeWaiting(target: Target, count: number, fields: object): Promise<string[]> {
  const ids: string[] = [];
  await atOnce(count, async () => {
    const reply = await call(target, "POST", "/v1/endpoints", fields);
    const { id } = (await reply.json()) as { id: string };
    ids.push(id);
    return "kind" in fields ? reply : call(target, "POST", `/v1/endpoints/${id}/pause`);
  });
  const events = Array.from({ length: BATCH }, () => ({ type: "bench.event", data: {} }));
  await atOnce(EVENTS_EACH / BATCH, () => call(target, "POST", "/v1/events/batch", { events }), 1);
  return ids;
}

function deletion(fields: object): Work["prepare"] {
  return async (projects) => {
    const deletions: (() => Promise<Response>)[] = [];
    for (const target of projects) {
      const ids = await makeWaiting(target, ENDPOINTS / projects.length, fields);
      for (const id of ids) deletions.push(() => call(target, "DELETE", `/v1/endpoints/${id}`));
    }
    return () => all(deletions);
  };
}

/** Consumers with events of their own. */
async function erasure(projects: readonly Target[]): Promise<() => Promise<unknown>> {
  const erasures: (() => Promise<Response>)[] = [];
  for (const target of projects)
    for (let at = 0; at < ENDPOINTS / projects.length; at++) {
      const consumer = `consumer-${at}`;
      const event = { type: "bench.event", data: {}, consumer_id: consumer };
      await call(target, "POST", "/v1/events/batch", { events: Array.from({ length: 250 }, () => event) });
      erasures.push(() => call(target, "DELETE", `/v1/consumers/${consumer}`));
    }
  return () => all(erasures);
}

/** Of deliveries that have died at an endpoint that cannot be reached, which is paused by then. */
async function replay(projects: readonly Target[]): Promise<() => Promise<unknown>> {
  const replays: (() => Promise<Response>)[] = [];
  for (const target of projects) {
    const ids = await makeWaiting(target, ENDPOINTS / projects.length, { url: URL });
    for (const id of ids)
      replays.push(() => call(target, "POST", "/v1/replays", { status: ["pending"], endpoint_id: id }));
  }
  return () => all(replays);
}

async function all(requests: readonly (() => Promise<Response>)[]): Promise<unknown> {
  let at = 0;
  return atOnce(requests.length, () => (requests[at++] as () => Promise<Response>)(), 16);
}

async function makeProjects(port: number, account: Account, count: number): Promise<Target[]> {
  const operator = { port, key: OPERATOR, endpoints: 0 };
  const keys = [liveKeyOf(account)];
  while (keys.length < count) {
    const path = `/v1/operator/accounts/${account.id}/projects`;
    const reply = await call(operator, "POST", path, { name: "bench", mode: "live" });
    keys.push(((await reply.json()) as { api_key: string }).api_key);
  }
  return keys.map((key) => ({ port, key, endpoints: 0 }));
}

function publishOf(key: string): string {
  const body = JSON.stringify({ type: "bench.neighbour", data: {} });
  const head = `host: 127.0.0.1\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json`;
  return `POST /v1/events HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** A number of /metrics, the sum of those that begin so. */
async function metric(port: number, name: string): Promise<number> {
  const reply = await call({ port, key: OPERATOR, endpoints: 0 }, "GET", "/metrics");
  const lines = (await reply.text()).split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

async function run(work: Work): Promise<void> {
  const { name, projects, counted } = work;
  const directory = mkdtempSync(join(tmpdir(), "sealpost-cleanup-"));
  const server = await startServer(SERVICE, directory, ENV);
  const { port } = server;
  const neighbour = liveKeyOf(await makeAccount(port, OPERATOR));
  const targets = await makeProjects(port, await makeAccount(port, OPERATOR), projects);
  const start = await work.prepare(targets);
  const settings = {
    port,
    request: publishOf(neighbour),
    perSecond: 0,
    connections: Number(options.connections),
  };
  const { peer } = await startPeer("pacer.ts", settings);
  const watch = (ms: number) => peer.ask<PacerReport>({ runMs: ms });
  await watch(WARM_UP_MS);
  const calm = await watch(CALM_MS);
  const first = await metric(port, counted);
  const began = performance.now();
  let answered = 0;
  const starting = start().then(() => (answered = performance.now() - began));
  const beside: PacerReport[] = [];
  let done = 0;
  for (let last = -1; (last < done || answered === 0) && beside.length < Number(options.seconds); ) {
    beside.push(await watch(1000));
    [last, done] = [done, (await metric(port, counted)) - first];
  }
  await starting;
  await Promise.all([peer.stop(), server.stop()]);
  rmSync(directory, { recursive: true, force: true });
  const figures = [
    calm.perSecond,
    median(beside.map(({ perSecond }) => perSecond)),
    calm.latency.p99Ms,
    median(beside.map(({ latency }) => latency.p99Ms)),
    answered / 1000,
    done,
    beside.length,
  ];
  const cells = figures.map((figure) => figure.toFixed(figure < 100 ? 1 : 0).padStart(10));
  console.log(`${name.padEnd(16)} ${String(projects).padStart(8)} ${cells.join(" ")}`);
}

console.log(`${describeMachine(tmpdir())}\n`);
console.log(
  "work             projects     calm/s   beside/s   p99 calm     beside answered s      counted    seconds",
);
for (const work of WORKS) if (options.only === undefined || options.only === work.name) await run(work);
process.exit(0);
