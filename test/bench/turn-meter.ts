/**
 * Goes before a service in its process (`bun --preload`): each half second it adds a line to the file `turns`
 * beside the data directory, with the longest turn of the event loop since the line before: in milliseconds
 * by the clock and of the processor, and when the latter was over, in microseconds of the wall clock. It
 * costs 3 µs of each millisecond.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { LoopMeter } from "./loop-meter.ts";

const LOOK_MS = 500;
const file = join(process.env.SEALPOST_DATA_DIR ?? ".", "../turns");
let meter = new LoopMeter();

setInterval(() => {
  meter.stop();
  const overAtUs = Math.round((performance.timeOrigin + meter.longestBusyAt) * 1000);
  appendFileSync(file, `${meter.longestMs} ${meter.longestBusyMs} ${overAtUs}\n`);
  meter = new LoopMeter();
}, LOOK_MS);
