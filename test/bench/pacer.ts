/**
 * A load of the flood bench, a process of its own: the same request over keep-alive connections, so many
 * times a second, or as often as answers come (rate 0).
 *
 * Started with an IPC channel and its `PacerSettings` as JSON in the first argument. It sends "ready",
 * and answers `{runMs}` with a `PacerReport`; the connections are of that run, as the server closes those
 * that rest.
 */
import { readFileSync } from "node:fs";
import type { Socket } from "bun";
import { nowUs, percentiles, type Percentiles } from "./clock.ts";
import { createFramer, readStatus } from "./wire.ts";

export interface PacerSettings {
  port: number;
  /** The whole request, head and body. */
  request: string;
  /** Where it stands instead, where it is too long for an argument. */
  requestFile?: string;
  perSecond: number;
  connections: number;
}

export interface PacerReport {
  statuses: Record<string, number>;
  /** From the moment at which a request was due, so that one that found no free connection counts whole. */
  latency: Percentiles;
  worstMs: number;
  perSecond: number;
}

interface Connection {
  read: (chunk: Buffer) => void;
  dueAtUs: number;
}

const TICK_MS = 1;
const settings = JSON.parse(process.argv[2] ?? "{}") as PacerSettings;
const request =
  settings.requestFile === undefined ? Buffer.from(settings.request) : readFileSync(settings.requestFile);

let idle: Socket<Connection>[] = [];
let latenciesUs: number[] = [];
let statuses: Record<string, number> = {};
let startedAtUs = 0;
let untilUs = 0;
let due = 0;
let isRunning = false;
let timer: NodeJS.Timeout | undefined;

function send(socket: Socket<Connection>, dueAtUs: number): void {
  socket.data.dueAtUs = dueAtUs;
  if (socket.write(request) !== request.length) throw new Error("the socket did not take a whole request");
}

/** Everything that is due by now and finds a connection. */
function sendDue(): void {
  const now = Math.min(nowUs(), untilUs);
  const gapUs = 1_000_000 / settings.perSecond;
  while (idle.length > 0 && startedAtUs + due * gapUs <= now) {
    // In turn, so that none rests for so long that the server closes it.
    const socket = idle.shift();
    if (socket) send(socket, startedAtUs + due++ * gapUs);
  }
}

function readAnswer(socket: Socket<Connection>, answer: Buffer): void {
  const status = readStatus(answer);
  const at = nowUs();
  statuses[status] = (statuses[status] ?? 0) + 1;
  latenciesUs.push(at - socket.data.dueAtUs);
  if (settings.perSecond === 0 && at < untilUs) return send(socket, at);
  idle.push(socket);
  if (settings.perSecond > 0) sendDue();
  if (isRunning && at >= untilUs && idle.length === settings.connections) finish(at);
}

function finish(at: number): void {
  clearInterval(timer);
  const perSecond = latenciesUs.length / ((at - startedAtUs) / 1_000_000);
  isRunning = false;
  for (const socket of idle) socket.end();
  const worstMs = latenciesUs.reduce((most, us) => Math.max(most, us), 0) / 1000;
  process.send?.({ statuses, latency: percentiles(latenciesUs), worstMs, perSecond } satisfies PacerReport);
}

async function start(runMs: number): Promise<void> {
  idle = await Promise.all(Array.from({ length: settings.connections }, connect));
  isRunning = true;
  latenciesUs = [];
  statuses = {};
  due = 0;
  startedAtUs = nowUs();
  untilUs = startedAtUs + runMs * 1000;
  const all = idle;
  if (settings.perSecond === 0) idle = [];
  if (settings.perSecond === 0) for (const socket of all) send(socket, startedAtUs);
  else timer = setInterval(tick, TICK_MS);
}

function tick(): void {
  sendDue();
  const at = nowUs();
  if (isRunning && at >= untilUs && idle.length === settings.connections) finish(at);
}

function connect(): Promise<Socket<Connection>> {
  return Bun.connect<Connection>({
    hostname: "127.0.0.1",
    port: settings.port,
    socket: {
      open(socket) {
        socket.data = { dueAtUs: 0, read: createFramer((answer) => readAnswer(socket, answer)) };
      },
      data: (socket, chunk) => socket.data.read(chunk),
      close() {
        if (isRunning) throw new Error("the server closed a connection");
      },
    },
  });
}

process.on("message", ({ runMs }: { runMs: number }) => void start(runMs));
process.send?.("ready");
