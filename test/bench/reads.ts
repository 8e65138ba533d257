/**
 * What reading does to the others: every operation of the OpenAPI document that reads or computes is asked
 * for as often as the service answers, over events of 0.9 MB and pages of the audit log of 1 MB, while a
 * health check and another project's publishing go on at a steady pace.
 *
 *   bun test/bench/reads.ts [--seconds 2] [--connections 8] [--only listEvents]
 *
 * An operation that the document has and this table has not ends the bench.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Peer, startPeer } from "./children.ts";
import { describeMachine } from "./machine.ts";
import type { PacerReport, PacerSettings } from "./pacer.ts";
import { callServer, SERVICE, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    connections: { type: "string", default: "8" },
    only: { type: "string" },
  },
});
const runMs = Number(options.seconds) * 1000;
const EVENTS = 100;
const BODY_BYTES = 900_000;
/** With what each shows a page of the audit log is as large as one may be. */
const PATCHES = 250;
const METRICS = "a-metrics-token-of-the-bench";
const ENV = {
  SEALPOST_PUBLISH_RATE_LIMIT: "0",
  SEALPOST_MANAGEMENT_RATE_LIMIT: "0",
  SEALPOST_METRICS_TOKEN: METRICS,
};

/**
 * Of methods other than GET, those that compute an answer and change nothing; all others change something.
 */
const COMPUTING = new Set(["previewEndpoint", "inferSchema", "verifySample", "createReplay"]);
/** Answers without work, which wait for something to happen, and those that only the operator gets. */
const LEFT_OUT = new Set([
  "getHealth",
  "getReadiness",
  "poll",
  "answerHandshake",
  "listAccounts",
  "getAccount",
  "exportUsage",
]);

const directory = mkdtempSync(join(tmpdir(), "sealpost-reads-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const server = await startServer(SERVICE, directory, ENV);
const base = `http://127.0.0.1:${server.port}`;

const call = (method: string, path: string, body?: unknown) => callServer(server, method, path, body);

/** Paused endpoints, so that nothing is sent meanwhile; `last` is of a delivery that was tried. */
async function prepare() {
  const fields = { url: "http://127.0.0.1:9/", event_types: ["large"], retry: { schedule: [1, 1, 1] } };
  const endpoint = await call("POST", "/v1/endpoints", fields);
  await call("POST", "/v1/event-types", { name: "large" });
  const text = "x".repeat(BODY_BYTES);
  const list = Array.from({ length: 20 }, (_, n) => ({ n, word: "needle", text: "y".repeat(200) }));
  let event: Record<string, string> = {};
  for (let n = 0; n < EVENTS; n++)
    event = await call("POST", "/v1/events", { type: "large", consumer_id: "anna", data: { n, list, text } });
  for (let n = 0; n < PATCHES; n++) {
    const metadata = { text: `${n}${"m".repeat(2030)}` };
    await call("PATCH", `/v1/endpoints/${endpoint["id"]}`, { metadata });
  }
  await call("POST", `/v1/endpoints/${endpoint["id"]}/pause`);
  const deliveries = (await call("GET", "/v1/deliveries?limit=1"))["data"] as unknown as { id: string }[];
  const source = await call("POST", "/v1/sources", {
    provider: "github",
    name: "bench",
    signing_secret: "s",
  });
  const replay = await call("POST", "/v1/replays", { status: ["dead"] });
  return { endpoint, event, delivery: deliveries[0]?.id ?? "", source, replay };
}

const made = await prepare();

/** What stands in for the parameter of a path, by what comes before it. */
const PARAMETERS: Readonly<Record<string, string | undefined>> = {
  "/v1/events/": made.event["id"],
  "/v1/deliveries/": made.delivery,
  "/v1/endpoints/": made.endpoint["id"],
  "/v1/event-types/": "large",
  "/v1/sources/": made.source["id"],
  "/v1/replays/": made.replay["id"],
  "/v1/erasures/": undefined,
  "/v1/providers/": "stripe",
};

/** What makes an operation work most: a search that finds nothing, the longest span, the largest body. */
const QUERIES: Readonly<Record<string, string>> = {
  listAudit: "?limit=250",
  listEvents: "?q=nowhere&limit=250",
  listDeliveries: "?q=nowhere&limit=250",
  countDeliveries: "?by=hour",
  listEndpoints: "?q=nowhere&limit=250",
  getStatsByEndpoint: `?endpoint_ids=${made.endpoint["id"]}`,
  getStatsBySource: `?source_ids=${made.source["id"]}`,
};
const filter = { data: { list: { $exist: true }, text: { $startsWith: "z" } } };
const BODIES: Readonly<Record<string, unknown>> = {
  previewEndpoint: { last: 100, filter },
  inferSchema: { last: 100 },
  verifySample: {
    method: "POST",
    headers: { "x-hub-signature-256": "sha256=0" },
    body: "x".repeat(BODY_BYTES),
  },
  createReplay: { status: ["pending", "retrying", "dead"], q: "nowhere", dry_run: true },
};

interface Operation {
  id: string;
  request: string;
}

/** null where there is nothing of the kind to be read. */
function requestOf(method: string, path: string, id: string): string | null {
  const place = /^(.*\/)\{/.exec(path)?.[1];
  const value = place === undefined ? "" : PARAMETERS[place];
  if (place !== undefined && !(place in PARAMETERS)) throw new Error(`${id}: what stands in ${path}?`);
  if (value === undefined) return null;
  const token = path === "/metrics" ? METRICS : server.apiKey;
  const body = id in BODIES ? JSON.stringify(BODIES[id]) : "";
  const target = path.replace(/\{\w+\}/, value) + (QUERIES[id] ?? "");
  const headers = [
    `${method} ${target} HTTP/1.1`,
    "host: 127.0.0.1",
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
  ];
  return `${headers.join("\r\n")}\r\n\r\n${body}`;
}

async function operations(): Promise<Operation[]> {
  const document = (await (await fetch(`${base}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId?: string }>>;
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId: id }]) => {
      if (id === undefined || LEFT_OUT.has(id)) return [];
      if (method !== "get" && !COMPUTING.has(id)) return [];
      const request = requestOf(method.toUpperCase(), path, id);
      return request === null ? [] : [{ id, request }];
    }),
  );
}

async function startPacer(settings: Omit<PacerSettings, "port" | "requestFile">): Promise<Peer> {
  // An argument may not be as long as the largest bodies.
  const file = join(directory, "request");
  writeFileSync(file, settings.request);
  return (await startPeer("pacer.ts", { ...settings, request: "", requestFile: file, port: server.port }))
    .peer;
}

const published = JSON.stringify({ type: "bench.published", data: {} });
const steady = {
  health: await startPacer({
    connections: 2,
    perSecond: 50,
    request: "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
  }),
  publish: await startPacer({
    connections: 2,
    perSecond: 50,
    request: `POST /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.testKey}\r\ncontent-type: application/json\r\ncontent-length: ${published.length}\r\n\r\n${published}`,
  }),
};

const shown = (ms: number) => ms.toFixed(1).padStart(8);
let worst = { id: "", ms: 0 };

async function run(id: string, flood: Peer | null): Promise<void> {
  const ask = (peer: Peer) => peer.ask<PacerReport>({ runMs });
  const [flooded, health, publish] = await Promise.all([
    flood && ask(flood),
    ask(steady.health),
    ask(steady.publish),
  ]);
  const most = Math.max(health.latency.p99Ms, publish.latency.p99Ms);
  if (flood !== null && most > worst.ms) worst = { id, ms: most };
  const cells = [health, publish].flatMap(({ latency }) => [latency.p50Ms, latency.p99Ms]).map(shown);
  const rate =
    flooded === null ? "" : `${Math.round(flooded.perSecond)}/s ${JSON.stringify(flooded.statuses)}`;
  console.log(`${id.padEnd(22)} ${cells.join(" ")}   ${rate}`);
}

console.log(`${describeMachine(directory)}\n`);
console.log("ms                     healthz p50     p99  publish p50   p99   the flood");
await run("calm", null);
for (const { id, request } of await operations()) {
  if (options.only !== undefined && options.only !== id) continue;
  const flood = await startPacer({ connections: Number(options.connections), perSecond: 0, request });
  await run(id, flood);
  await flood.stop();
}
await run("calm", null);
console.log(`\nworst: ${worst.ms.toFixed(1)} ms beside ${worst.id}`);
await Promise.all(Object.values(steady).map((peer) => peer.stop()));
await server.stop();
process.exit(0);
