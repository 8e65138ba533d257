/**
 * The load generator of the bench, a process of its own: keep-alive connections, each of which publishes the
 * next event when the last one is answered, or all of them together so many a second.
 *
 * Started with an IPC channel and its `GeneratorSettings` as JSON in the first argument. It sends "ready",
 * and answers `{runMs}` with a `GeneratorReport` when the last request of that run is answered. The
 * connections stand as long as a run: a server closes those that are idle while its deliveries drain.
 */
import type { Socket } from "bun";
import { nowUs, percentiles, type Percentiles } from "./clock.ts";
import { FIRST_SEQUENCE, preparePublish, type PublishRequest } from "./event.ts";
import { createFramer, readStatus } from "./wire.ts";

export interface GeneratorSettings {
  port: number;
  /** Connection n publishes with key n, and they begin anew after the last. */
  apiKeys: string[];
  connections: number;
  /** The events are of so many types, one after the other. */
  types: number;
  /** So many of the types, the last ones, are not in the report. */
  uncounted?: number;
  bodyBytes: number;
  /** 0: as often as answers come. */
  perSecond: number;
}

export interface GeneratorReport {
  /** Requests answered with 2xx, of the types that are counted. */
  accepted: number;
  /** How often each other status was answered. */
  refused: Record<string, number>;
  firstAtUs: number;
  lastAtUs: number;
  latency: Percentiles;
}

interface Connection {
  read: (chunk: Buffer) => void;
  sentAtUs: number;
  isCounted: boolean;
  /** One of each type. */
  requests: PublishRequest[];
  /** What the socket has not taken yet of a long request. */
  rest: Buffer;
}

const settings = JSON.parse(process.argv[2] ?? "{}") as GeneratorSettings;
const counted = settings.types - (settings.uncounted ?? 0);
const host = `127.0.0.1:${settings.port}`;
const requestsByKey = settings.apiKeys.map((apiKey) =>
  Array.from({ length: settings.types }, (_, type) => preparePublish(host, apiKey, type, settings.bodyBytes)),
);

const NOTHING = Buffer.alloc(0);
const TICK_MS = 1;
let sequence = FIRST_SEQUENCE;
let untilUs = 0;
let busy = 0;
let latenciesUs: number[] = [];
let refused: Record<string, number> = {};
let firstAtUs = 0;
let sockets: Socket<Connection>[] = [];
/** Where a pace is set: the connections that wait for their next event, and how many events were due. */
let idle: Socket<Connection>[] = [];
let due = 0;

/** `sentAtUs`: when the event was due, so that one that found no connection counts whole. */
function publish(socket: Socket<Connection>, sentAtUs: number): void {
  sequence++;
  const { requests } = socket.data;
  const type = sequence % requests.length;
  const request = requests[type];
  if (request === undefined) throw new Error("no type to publish");
  socket.data.sentAtUs = sentAtUs;
  socket.data.isCounted = type < counted;
  const bytes = request.write(sequence, sentAtUs);
  const taken = socket.write(bytes);
  // The request is written in place for the next event, so what is left of it is copied.
  if (taken < bytes.length) socket.data.rest = Buffer.from(bytes.subarray(taken));
}

function sendRest(socket: Socket<Connection>): void {
  if (socket.data.rest.length > 0)
    socket.data.rest = socket.data.rest.subarray(socket.write(socket.data.rest));
}

function readAnswer(socket: Socket<Connection>, answer: Buffer): void {
  const status = readStatus(answer);
  const answeredAtUs = nowUs();
  if (status >= 200 && status < 300) {
    if (socket.data.isCounted) latenciesUs.push(answeredAtUs - socket.data.sentAtUs);
  } else refused[status] = (refused[status] ?? 0) + 1;
  if (settings.perSecond > 0) idle.push(socket);
  else if (answeredAtUs < untilUs) return publish(socket, answeredAtUs);
  busy--;
  if (busy === 0 && answeredAtUs >= untilUs) finish(answeredAtUs);
}

/** Publishes what is due by now and finds a connection, and comes back until the run is over. */
function publishDue(): void {
  const now = nowUs();
  const gapUs = 1_000_000 / settings.perSecond;
  for (let at = firstAtUs + due * gapUs; at < Math.min(now, untilUs); at += gapUs) {
    const socket = idle.shift();
    if (socket === undefined) break;
    due++;
    busy++;
    publish(socket, Math.round(at));
  }
  if (now < untilUs) setTimeout(publishDue, TICK_MS);
  else if (busy === 0) finish(now);
}

function finish(lastAtUs: number): void {
  for (const socket of sockets.splice(0)) socket.end();
  process.send?.(report(lastAtUs));
}

function report(lastAtUs: number): GeneratorReport {
  return {
    accepted: latenciesUs.length,
    refused,
    firstAtUs,
    lastAtUs,
    latency: percentiles(latenciesUs),
  };
}

function connect(index: number): Promise<Socket<Connection>> {
  const requests = requestsByKey[index % requestsByKey.length] ?? [];
  return Bun.connect<Connection>({
    hostname: "127.0.0.1",
    port: settings.port,
    socket: {
      open(socket) {
        const read = createFramer((answer) => readAnswer(socket, answer));
        socket.data = { sentAtUs: 0, isCounted: true, read, requests, rest: NOTHING };
      },
      data: (socket, chunk) => socket.data.read(chunk),
      drain: sendRest,
      close(socket) {
        if (sockets.includes(socket)) throw new Error("the server closed a connection");
      },
    },
  });
}

async function run(runMs: number): Promise<void> {
  latenciesUs = [];
  refused = {};
  sockets = await Promise.all(Array.from({ length: settings.connections }, (_, index) => connect(index)));
  firstAtUs = nowUs();
  untilUs = firstAtUs + runMs * 1000;
  if (settings.perSecond === 0) {
    busy = sockets.length;
    for (const socket of sockets) publish(socket, firstAtUs);
    return;
  }
  [idle, due, busy] = [[...sockets], 0, 0];
  publishDue();
}

process.on("message", ({ runMs }: { runMs: number }) => void run(runMs));
process.send?.("ready");
