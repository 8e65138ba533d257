/**
 * The fan-out bench: what many endpoints cost the event loop.
 *
 *   bun test/bench/fanout.ts [--endpoints 10000] [--bytes 1024]
 *
 * First in memory: what choosing the ten receivers of an event takes among all endpoints, each with types and
 * a filter. Then the service in this process, on a file, delivering to a receiver in another one: an event
 * that all endpoints get, while other events are published one after the other. Prints numbers and judges
 * none of them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Peer, startPeer } from "./children.ts";
import { FIRST_SEQUENCE } from "./event.ts";
import { percentiles } from "./clock.ts";
import { LocalService } from "./local-service.ts";
import { LoopMeter } from "./loop-meter.ts";
import { describeMachine } from "./machine.ts";
import { type PrepareCost, prepareCosts } from "./fanout-prepare.ts";
import type { ReceiverReport } from "./receiver.ts";

const { values: options } = parseArgs({
  options: {
    endpoints: { type: "string", default: "10000" },
    bytes: { type: "string", default: "1024" },
  },
});
const endpoints = Number(options.endpoints);
const bodyBytes = Number(options.bytes);
const WIDE = "bench.wide";
const NARROW = "bench.narrow";
const CREATED_AT_ONCE = 32;

function publish(service: LocalService, type: string, sequence: number): Promise<void> {
  const numbers = `"sequence":${sequence},"sent_at_us":${"1".repeat(16)}`;
  const padding = "x".repeat(Math.max(0, bodyBytes - 120));
  return service.post(
    "/v1/events",
    `{"type":"${type}","data":{${numbers},"amount":42,"padding":"${padding}"}}`,
  );
}

async function createEndpoints(service: LocalService, port: number): Promise<void> {
  const create = (type: string, at: number) =>
    service.post(
      "/v1/endpoints",
      JSON.stringify({
        url: `http://127.0.0.1:${port}/hooks/${at}`,
        event_types: [type],
        filter: { data: { amount: { $gte: 10 } } },
      }),
    );
  for (let at = 0; at < endpoints; at += CREATED_AT_ONCE) {
    const some = Array.from({ length: Math.min(CREATED_AT_ONCE, endpoints - at) }, (_, i) => at + i);
    await Promise.all(some.map((one) => create(WIDE, one)));
  }
  await create(NARROW, endpoints);
}

interface Watched {
  /** Until the answer to the publish. */
  answeredMs: number;
  /** Until the last delivery was received. */
  deliveredMs: number;
  loop: LoopMeter;
  /** Of other events meanwhile, in microseconds. */
  others: number[];
}

/**
 * Publishes one event that `expected` endpoints get, and others one after the other until it has
 * arrived everywhere.
 */
async function watch(
  service: LocalService,
  receiver: Peer,
  type: string,
  expected: number,
): Promise<Watched> {
  await receiver.ask("reset");
  const loop = new LoopMeter();
  const startedAt = performance.now();
  let answeredMs = 0;
  const wide = publish(service, type, FIRST_SEQUENCE).then(() => {
    answeredMs = performance.now() - startedAt;
  });
  const others: number[] = [];
  for (let received = 0; received < expected + others.length; ) {
    const sentAt = performance.now();
    await publish(service, NARROW, FIRST_SEQUENCE + 1 + others.length);
    others.push((performance.now() - sentAt) * 1000);
    const report = await receiver.ask<ReceiverReport>("report");
    received = report.received + report.duplicates;
  }
  await wide;
  const deliveredMs = performance.now() - startedAt;
  loop.stop();
  return { answeredMs, deliveredMs, loop, others };
}

function printPrepare({ name, p50Ms, p99Ms, longestMs, matched }: PrepareCost): void {
  const figures = [p50Ms, p99Ms, longestMs].map((ms) => ms.toFixed(3).padStart(8)).join("  ");
  console.log(`${name.padEnd(46)}  ${String(matched).padStart(7)}  ${figures}`);
}

function printWatched(name: string, { answeredMs, deliveredMs, loop, others }: Watched): void {
  const { p50Ms, p99Ms } = percentiles(others);
  const longestMs = Math.max(...others) / 1000;
  const figures = [answeredMs, deliveredMs, loop.longestMs, loop.longestBusyMs, p50Ms, p99Ms, longestMs];
  console.log(
    `${name.padEnd(20)}  ${figures.map((ms) => ms.toFixed(1).padStart(9)).join("  ")}  ${others.length}`,
  );
}

async function watchService(directory: string): Promise<void> {
  const service = await LocalService.start(directory);
  const { peer: receiver, ready } = await startPeer("receiver.ts", { copies: 1, delayMs: 0 });
  await createEndpoints(service, (ready as { port: number }).port);
  console.log(
    `\n${"one event".padEnd(20)}   answered  delivered  stall max  of it CPU  others p50      p99        max  others`,
  );
  printWatched("to one endpoint", await watch(service, receiver, NARROW, 1));
  for (const name of ["first", "second", "third"]) {
    printWatched(`to all, ${name}`, await watch(service, receiver, WIDE, endpoints));
  }
  await service.stop();
  await receiver.stop();
}

const directory = mkdtempSync(join(tmpdir(), "sealpost-fanout-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
console.log(describeMachine(directory));
console.log(
  `${endpoints} endpoints, each with types and a filter; events of ${bodyBytes} bytes; milliseconds\n`,
);
console.log(`${"choosing who gets an event".padEnd(46)}  matched       p50       p99       max`);
for (const cost of await prepareCosts(endpoints)) printPrepare(cost);
await watchService(directory);
