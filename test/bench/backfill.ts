/**
 * The backfill bench: what one project's backfill by batches costs in memory, and the others in time.
 *
 *   bun test/bench/backfill.ts [--events 300000] [--batch 500] [--picture src/docs/curve-memory.svg]
 *
 * Events come by batches over four connections, with the rate limit off, to an endpoint that is paused and to
 * one that is not. Meanwhile another project publishes twenty events a second, and its receiver tells when
 * the last of them was there. Prints memory each second, and numbers at the end; judges none of them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { drawCurves, type Reading } from "./curve-picture.ts";
import { describeMachine } from "./machine.ts";
import { readProcess } from "./proc.ts";
import { callServer, SERVICE, startServer } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    events: { type: "string", default: "300000" },
    batch: { type: "string", default: "500" },
    picture: { type: "string" },
  },
});
const total = Number(options.events);
const size = Number(options.batch);
const MIB = 1024 * 1024;
const CONNECTIONS = 4;
const TENANT_EVENTS = 20;
const PADDING = "x".repeat(900);

const directory = mkdtempSync(join(tmpdir(), "sealpost-bench-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const server = await startServer(SERVICE, directory);
const arrivals = new Map<string, number>();
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const round =
      request.headers.get("x-tenant") && ((await request.json()) as { data: { round: string } }).data.round;
    if (round) arrivals.set(round, (arrivals.get(round) ?? 0) + 1);
    return new Response(null, { status: 204 });
  },
});

const call = (apiKey: string, path: string, body: object) =>
  callServer({ ...server, apiKey }, "POST", path, body);

console.log(describeMachine(directory));
const paused = await call(server.apiKey, "/v1/endpoints", {
  url: receiver.url.href,
  event_types: ["back.paused"],
});
await call(server.apiKey, `/v1/endpoints/${paused["id"]}/pause`, {});
await call(server.apiKey, "/v1/endpoints", { url: receiver.url.href, event_types: ["back.sent"] });
await call(server.testKey, "/v1/endpoints", { url: receiver.url.href, headers: { "x-tenant": "1" } });

let published = 0;
/** One of four goes to the endpoint that takes them. */
const typeOf = (n: number) => (n % 4 === 0 ? "back.sent" : "back.paused");
const batchOf = () =>
  Array.from({ length: size }, (_, n) => ({ type: typeOf(n), data: { n, padding: PADDING } }));
const began = performance.now();
const backfill = Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    while (published < total) {
      const events = batchOf();
      published += size;
      await call(server.apiKey, "/v1/events/batch", { events });
    }
  }),
);

const delays: number[] = [];
const readings: Reading[] = [];
let peak = 0;
let isRunning = true;
void backfill.then(() => {
  isRunning = false;
});
for (let round = 0; isRunning; round++) {
  const at = performance.now();
  const events = Array.from({ length: TENANT_EVENTS }, () => ({
    type: "tenant.event",
    data: { round: String(round) },
  }));
  await call(server.testKey, "/v1/events/batch", { events });
  while ((arrivals.get(String(round)) ?? 0) < TENANT_EVENTS) await Bun.sleep(2);
  const delay = performance.now() - at;
  delays.push(delay);
  const rss = readProcess(server.pid).rssBytes / MIB;
  const x = (at - began) / 1000;
  readings.push({ panel: "memory, MiB", line: "Sealpost", x, y: rss });
  readings.push({ panel: "20 events of another project, ms", line: "Sealpost", x, y: delay });
  peak = Math.max(peak, readProcess(server.pid).peakRssBytes / MIB);
  console.log(
    `${((performance.now() - began) / 1000).toFixed(0)} s: ${published} events, ${rss.toFixed(0)} MiB, 20 of another project after ${delay.toFixed(0)} ms`,
  );
  await Bun.sleep(1000);
}
await backfill;
const seconds = (performance.now() - began) / 1000;
delays.sort((a, b) => a - b);
console.log(
  `${Math.round(published / seconds)} events/s taken, at most ${peak.toFixed(0)} MiB; twenty events of another project: ` +
    `median ${(delays[delays.length >> 1] ?? 0).toFixed(0)} ms, longest ${(delays.at(-1) ?? 0).toFixed(0)} ms`,
);
if (options.picture !== undefined) {
  const title = `${total.toLocaleString("en")} events by batches at full speed, of 1 KiB each`;
  await Bun.write(options.picture, await drawCurves(title, { title: "seconds", isLog: false }, readings));
}
await server.stop();
await receiver.stop(true);
