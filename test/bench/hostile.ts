/**
 * The hostile bench: how long an event of 1 MiB that is made to be slow holds the event loop.
 *
 *   bun test/bench/hostile.ts
 *
 * The service runs in this process, with a schema over the event's type, and an endpoint with a filter and
 * transformations that each look at every part of it. Each event is parsed, validated, filtered, written,
 * reshaped, signed and sent. Prints the longest turn of the loop in processor time beside what JSON.parse of
 * the same text takes alone (the limit `lightBodyBytesMax` says how the two may differ), the same for a batch
 * of such events, and judges none of them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limit } from "../../src/core/limits.ts";
import { busyMs } from "../../src/platform/turns.ts";
import { LocalService } from "./local-service.ts";
import { LoopMeter } from "./loop-meter.ts";
import { describeMachine } from "./machine.ts";

const ROUNDS = 3;
/** Turns of the loop in which what was accepted goes out. */
const TURNS_AFTER = 100;
/** Events of a batch: as many as fit. */
const BATCH = 7;
const TYPE = "bench.hostile";
const BODY = { start: `{"type":"${TYPE}","data":`, end: "}" };

/** JSON of at most `bytes` that repeats a part. */
function repeat(open: string, part: (at: number) => string, close: string, bytes: number): string {
  const parts: string[] = [];
  for (let at = 0, length = open.length + close.length; ; at++) {
    const text = part(at);
    length += text.length + 1;
    if (length > bytes) return `${open}${parts.join(",")}${close}`;
    parts.push(text);
  }
}

const name = (at: number) => at.toString(36);
const shapes: [string, (bytes: number) => string][] = [
  ["numbers", (bytes) => repeat('{"a":[', () => "1", "]}", bytes)],
  ["empty lists", (bytes) => repeat('{"a":[', () => "[]", "]}", bytes)],
  ["objects", (bytes) => repeat('{"a":[', () => '{"a":1}', "]}", bytes)],
  ["names in one object", (bytes) => repeat('{"a":{', (at) => `"${name(at)}":1`, "}}", bytes)],
  ["names at the root", (bytes) => repeat("{", (at) => `"${name(at)}":1`, "}", bytes)],
  ["an object a name", (bytes) => repeat('{"a":[', (at) => `{"${name(at)}":1}`, "]}", bytes)],
  ["strings", (bytes) => repeat('{"a":[', (at) => `"${name(at)}"`, "]}", bytes)],
  ["nesting", (bytes) => repeat('{"a":[', () => "[".repeat(60) + "]".repeat(60), "]}", bytes)],
  ["white space", (bytes) => repeat('{"a":[', () => " 1 ", "]}", bytes)],
];

const schema = {
  properties: {
    a: {
      uniqueItems: true,
      items: { anyOf: [{ type: "string", pattern: "(a|b)*c$" }, { required: ["z"] }, true] },
      propertyNames: { maxLength: 9 },
    },
  },
};
const endpoint = {
  url: "http://127.0.0.1:9/",
  event_types: [TYPE],
  filter: {
    $or: [{ data: { a: { $in: Array.from({ length: 50 }, (_, at) => `no ${at}`) } } }, { type: TYPE }],
  },
  transformations: [
    { op: "omit", paths: ["data.a.0", "data.a.*.z", "data.z"] },
    { op: "set", path: "data.made", value: true },
    { op: "rename", from: "data.made", to: "data.x" },
  ],
};

/** The least of some rounds of the processor time of this thread, in milliseconds. */
function costMs(run: () => unknown): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const before = busyMs();
    run();
    return busyMs() - before;
  });
  return Math.min(...times);
}

/** The longest turn while the event comes in and goes out, of the round in which that was least. */
async function longestTurnMs(service: LocalService, path: string, body: string): Promise<number> {
  const turns: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const meter = new LoopMeter();
    await service.post(path, body).catch(() => {}); // One that the schema has too many steps for is refused.
    for (let turn = 0; turn < TURNS_AFTER; turn++) await nextTurn();
    meter.stop();
    turns.push(meter.longestBusyMs);
  }
  return Math.min(...turns);
}

const directory = mkdtempSync(join(tmpdir(), "sealpost-hostile-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
console.log(describeMachine(directory));
const service = await LocalService.start(directory);
await service.post("/v1/event-types", JSON.stringify({ name: TYPE, schema }));
await service.post("/v1/endpoints", JSON.stringify(endpoint));
console.log(
  `\n${"an event full of".padEnd(22)}  JSON.parse  longest turn      above it   a batch above it   (milliseconds of this thread)`,
);
for (const [title, fill] of shapes) {
  const data = fill(limit("eventBodyBytesMax") - BODY.start.length - BODY.end.length);
  const body = BODY.start + data + BODY.end;
  const parseMs = costMs(() => JSON.parse(body));
  const turnMs = await longestTurnMs(service, "/v1/events", body);
  const batch = `{"events":[${Array(BATCH).fill(body).join(",")}]}`;
  const batchMs = await longestTurnMs(service, "/v1/events/batch", batch);
  const figures = [parseMs, turnMs, turnMs - parseMs, batchMs - parseMs];
  console.log(`${title.padEnd(22)}  ${figures.map((ms) => ms.toFixed(1).padStart(10)).join("    ")}`);
}
await service.stop();
process.exit(0);
