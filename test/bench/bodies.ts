/**
 * What requests made to be slow take: every POST and PATCH route of the OpenAPI document with every field
 * filled by a megabyte of each shape, by each who may ask (a key, a portal link, the operator); every GET
 * route with the longest queries; and the door of every provider with bodies of each shape under genuine
 * headers. It measures the processor time of the service's process, less that of a JSON.parse of the same
 * text in this process, prints the dearest eight, and fails where one is above `--worst` milliseconds.
 *
 *   bun test/bench/bodies.ts [--seconds 900] [--worst 300] [--only "POST /v1/endpoints"]
 *
 * Each is sent once, and again where it was slow: the least counts. The order is mixed, so that a run that
 * is stopped has looked into every corner. `--only`: those whose name has this in it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  type Ask,
  type Document,
  doorAsks,
  type Provider,
  routeAsks,
  type Sent,
  type Stage,
} from "./bodies-asks.ts";
import { call, liveKeyOf, makeAccount, type Tally, type Target } from "./heavy-kit.ts";
import { describeMachine } from "./machine.ts";
import { readThreadsMs } from "./proc.ts";
import { SERVICE, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "900" },
    worst: { type: "string", default: "300" },
    only: { type: "string", default: "" },
  },
});
const OPERATOR = "an-operator-token-of-the-bench";
const ENV = {
  SEALPOST_OPERATOR_TOKEN: OPERATOR,
  SEALPOST_INGEST_RATE_LIMIT: "0",
  SEALPOST_LOG_LEVEL: "warn",
};
const TYPE = "bench.bodies";
const CONSUMER = "anna";
const SHOWN = 8;
/** Above a parse of the same text: what takes longer is sent again. */
const SLOW_MS = 20;
const TIMES_AGAIN = 3;
/** The service is quiet when it works less than this in so long. */
const QUIET = { ms: 1, inMs: 10, tries: 200 };
/** An answer that takes longer is not waited for. */
const ANSWER_MS = 30_000;
/** Prime, so that steps of this length come to each request once. */
const STRIDE = 7919;

interface Cost {
  name: string;
  /** Above the parse. */
  ms: number;
  parseMs: number;
  status: number;
}

interface Created {
  id: string;
  secret: string;
  url: string;
  ingest_path: string;
}

const directory = mkdtempSync(join(tmpdir(), "sealpost-bodies-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const server = await startServer(SERVICE, directory, ENV);
const base = `http://127.0.0.1:${server.port}`;

async function made(key: string, path: string, body: object): Promise<Created> {
  const reply = await call({ port: server.port, key, endpoints: 0 }, "POST", path, body);
  if (!reply.ok) throw new Error(`POST ${path}: ${reply.status} ${await reply.text()}`);
  return (await reply.json()) as Created;
}

/** One of each thing, of a consumer who has a link; what fails is tried again after a day. */
async function prepare(target: Target): Promise<Stage> {
  const { key } = target;
  const retry = { schedule: [86_400] };
  const fields = { url: "http://127.0.0.1:9/", event_types: [TYPE], consumer_id: CONSUMER, retry };
  const endpoint = await made(key, "/v1/endpoints", fields);
  const poller = await made(key, "/v1/endpoints", { kind: "poll", event_types: [TYPE] });
  const source = await made(key, "/v1/sources", { provider: "service", name: "bench" });
  await made(key, "/v1/event-types", { name: TYPE });
  const event = await made(key, "/v1/events", { type: TYPE, consumer_id: CONSUMER, data: { n: 1 } });
  const replay = await made(key, "/v1/replays", { status: ["dead"] });
  const link = await made(key, "/v1/portal-links", { consumer_id: CONSUMER, manage: true, create: true });
  const reply = await call(target, "GET", `/v1/deliveries?endpoint_id=${endpoint.id}`);
  const [delivery] = ((await reply.json()) as { data: Created[] }).data;
  const other = await makeAccount(server.port, OPERATOR);
  return {
    tokens: {
      api_key: key,
      portal_token: link.url.split("#")[1] ?? "",
      operator_token: OPERATOR,
      endpoint_secret: poller.secret,
    },
    ids: {
      "/v1/events/": event.id,
      "/v1/deliveries/": String(delivery?.id),
      "/v1/endpoints/": endpoint.id,
      "/v1/event-types/": TYPE,
      "/v1/sources/": source.id,
      "/v1/replays/": replay.id,
      "/v1/erasures/": "none",
      "/v1/providers/": "stripe",
      "/v1/operator/projects/": String(other.projects[0]?.id),
      "/v1/operator/accounts/": other.id,
      "/poll/": poller.id,
      "/ingest/": source.id,
    },
  };
}

async function allAsks(): Promise<Ask[]> {
  const key = liveKeyOf(await makeAccount(server.port, OPERATOR));
  const target = { port: server.port, key, endpoints: 0 };
  const document = (await (await fetch(`${base}/openapi.json`)).json()) as Document;
  const asks = routeAsks(document, await prepare(target));
  const reply = await call(target, "GET", "/v1/providers?limit=250");
  const { data, next_cursor: cursor } = (await reply.json()) as {
    data: Provider[];
    next_cursor: unknown;
  };
  if (cursor !== null) throw new Error("There are more providers than a page holds.");
  const create = (fields: object) => made(key, "/v1/sources", fields);
  for (const provider of data) asks.push(...(await doorAsks(provider, create)));
  return asks.filter(({ name }) => name.includes(options.only));
}

/** The status, or 0 where there was none. */
async function send({ method, path, headers, body }: Sent): Promise<number> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const reply = await fetch(base + path, {
      method,
      headers,
      signal,
      redirect: "manual",
      ...(body && { body }),
    });
    await reply.arrayBuffer();
    return reply.status;
  } catch {
    return 0;
  }
}

function parseMsOf({ body }: Sent, times = 1): number {
  if (body === undefined) return 0;
  const all = Array.from({ length: times }, () => {
    const before = process.cpuUsage();
    try {
      JSON.parse(body);
    } catch {
      // A form, or one that does not end.
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...all);
}

/** What is done after the answer belongs to the request too. */
async function untilQuiet(): Promise<number> {
  let before = readThreadsMs(server.pid);
  for (let tries = 0; tries < QUIET.tries; tries++) {
    await Bun.sleep(QUIET.inMs);
    const after = readThreadsMs(server.pid);
    if (after - before < QUIET.ms) return after;
    before = after;
  }
  return before;
}

async function measureAgain({ name, make }: Ask): Promise<Cost> {
  const sent = await make();
  let [least, status] = [Number.POSITIVE_INFINITY, 0];
  for (let time = 0; time < TIMES_AGAIN; time++) {
    const before = await untilQuiet();
    status = await send(await make());
    least = Math.min(least, (await untilQuiet()) - before);
  }
  const parseMs = parseMsOf(sent, TIMES_AGAIN);
  return { name, ms: least - parseMs, parseMs, status };
}

const dearest = new Map<string, Cost>();
const tally: Tally = {};

function keep(cost: Cost): void {
  dearest.set(cost.name, cost);
  const sorted = [...dearest.values()].toSorted((one, other) => other.ms - one.ms);
  for (const { name } of sorted.slice(SHOWN)) dearest.delete(name);
}

/** Sends it once. What was slow may still be work of the one before. */
async function look(ask: Ask, before: Ask | null): Promise<void> {
  const sent = await ask.make();
  const began = readThreadsMs(server.pid);
  const status = await send(sent);
  const ms = readThreadsMs(server.pid) - began;
  tally[status] = (tally[status] ?? 0) + 1;
  const least = Math.min(...[...dearest.values()].map((cost) => cost.ms));
  const bar = dearest.size < SHOWN ? SLOW_MS : Math.max(SLOW_MS, least);
  if (ms < bar || ms - parseMsOf(sent) < bar) return;
  for (const suspect of [ask, ...(before === null ? [] : [before])])
    if (!dearest.has(suspect.name)) keep(await measureAgain(suspect));
}

console.log(describeMachine(directory));
const asks = await allAsks();
const startedAt = performance.now();
const seconds = () => (performance.now() - startedAt) / 1000;
if (asks.length % STRIDE === 0) throw new Error(`The steps of ${STRIDE} do not come to each request.`);
let [done, last] = [0, null as Ask | null];
for (; done < asks.length && seconds() < Number(options.seconds); done++) {
  const ask = asks[(done * STRIDE) % asks.length] as Ask;
  await look(ask, last);
  last = ask;
}
await server.stop();
console.log(
  `${done} of ${asks.length} requests in ${seconds().toFixed(0)} s, answered ${JSON.stringify(tally)}`,
);
console.log("the dearest, in ms of the processor above a parse of the same text:");
const costs = [...dearest.values()].toSorted((one, other) => other.ms - one.ms);
for (const { name, ms, parseMs, status } of costs)
  console.log(`${ms.toFixed(0).padStart(7)}  parse ${parseMs.toFixed(0).padStart(3)}  ${status}  ${name}`);
process.exit((costs[0]?.ms ?? 0) > Number(options.worst) ? 1 : 0);
