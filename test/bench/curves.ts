/**
 * The curves: how rate, times and memory change with endpoints, bodies, fan-out, slow receivers, stored
 * events, the pace of publishing, and receivers at many addresses.
 *
 *   bun test/bench/curves.ts [--only endpoints] [--rounds 3] [--seconds 5] [--out folder]
 *
 * Prints the medians of each point and draws `curve-<name>.svg`, by default into the folder of the docs. Ends
 * with exit code 1 where a run lost an event, sent one twice or was refused one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Axis, drawCurves, type Reading } from "./curve-picture.ts";
import { describeMachine } from "./machine.ts";
import { type Load, type Measurement, measure, USUAL_LOAD } from "./measurement.ts";
import { findFaultsOfRun, formatHead, formatMedians, median } from "./report.ts";
import { BARE, type Contender, SERVICE } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "5" },
    out: { type: "string", default: join(import.meta.dir, "../../src/docs") },
  },
});
const rounds = Number(options.rounds);

interface Curve {
  name: string;
  title: string;
  axis: Axis;
  points: number[];
  load: (x: number) => Partial<Load>;
  lines: Line[];
}

interface Line {
  name: string;
  contender: Contender;
  load?: Partial<Load>;
}

const BARE_LINE: Line = { name: "the bare loop", contender: BARE };
const SEALPOST: Line = { name: "Sealpost", contender: SERVICE };

const CURVES: readonly Curve[] = [
  {
    name: "endpoints",
    title: "Endpoints, each event for one of them",
    axis: { title: "endpoints", isLog: true },
    points: [1, 10, 100, 1000, 10_000, 100_000],
    load: (endpoints) => ({ endpoints }),
    lines: [BARE_LINE, SEALPOST],
  },
  {
    name: "body",
    title: "Size of an event",
    axis: { title: "bytes", isLog: true },
    points: [256, 1024, 10_000, 100_000, 900_000],
    load: (bodyBytes) => ({ bodyBytes }),
    lines: [BARE_LINE, SEALPOST],
  },
  {
    name: "fanout",
    title: "Fan-out, 1,000 endpoints",
    axis: { title: "endpoints that get each event", isLog: true },
    points: [1, 10, 100, 1000],
    load: (fanout) => ({ endpoints: 1000, fanout, connections: Math.ceil(64 / fanout) }),
    lines: [SEALPOST],
  },
  {
    name: "among",
    title: "Each event for the same ten of all endpoints",
    axis: { title: "endpoints", isLog: true },
    points: [10, 1000, 100_000],
    load: (endpoints) => ({ endpoints, fanout: 10, types: 1, connections: 7 }),
    lines: [SEALPOST],
  },
  {
    name: "receiver",
    title: "Receivers that take their time, 1,000 endpoints",
    axis: { title: "ms from a delivery to its answer", isLog: false },
    points: [0, 20, 50, 100, 200, 500],
    load: (receiverDelayMs) => ({ endpoints: 1000, receiverDelayMs }),
    lines: [SEALPOST],
  },
  {
    name: "hanging",
    title: "Some of 1,000 receivers hang: what the others get",
    axis: { title: "receivers that hang, or are left out of the count", isLog: false },
    points: [50, 100, 200, 400],
    load: (uncounted) => ({ endpoints: 1000, uncounted }),
    lines: [
      { name: "all answer", contender: SERVICE },
      { name: "those hang", contender: SERVICE, load: { uncountedHang: true } },
    ],
  },
  {
    name: "stored",
    title: "Events that are stored already",
    axis: { title: "events", isLog: true },
    points: [1000, 10_000, 100_000, 1_000_000, 10_000_000],
    load: (stored) => ({ stored }),
    lines: [SEALPOST],
  },
  {
    name: "rate",
    title: "Events at a steady pace",
    axis: { title: "events a second", isLog: false },
    points: [100, 1000, 2500, 5000, 7500, 10_000],
    load: (perSecond) => ({ perSecond }),
    lines: [BARE_LINE, SEALPOST],
  },
  {
    name: "hosts",
    title: "Receivers at many addresses, an endpoint each",
    axis: { title: "addresses", isLog: true },
    points: [1, 10, 100, 1000],
    load: (hosts) => ({ hosts, endpoints: hosts }),
    lines: [
      { name: "HTTP", contender: SERVICE },
      { name: "TLS 1.3", contender: SERVICE, load: { isTls: true } },
      { name: "HTTP, closed after each answer", contender: SERVICE, load: { closes: true } },
      { name: "TLS 1.3, closed after each answer", contender: SERVICE, load: { isTls: true, closes: true } },
    ],
  },
];

const PANELS: readonly { title: string; read: (run: Measurement) => number }[] = [
  { title: "delivered a second", read: (run) => run.deliveredPerSecond },
  { title: "publish p99, ms", read: (run) => run.publish.p99Ms },
  { title: "received p99, ms", read: (run) => run.delivery.p99Ms },
  { title: "most memory, MiB", read: (run) => run.peakBytes / 2 ** 20 },
];

const directory = mkdtempSync(join(tmpdir(), "sealpost-curves-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));

/** The lines take turns, and each round has a folder of its own, which is gone afterwards. */
async function runPoint({ load, lines }: Curve, x: number): Promise<Map<Line, Measurement[]>> {
  const runs = new Map<Line, Measurement[]>(lines.map((line) => [line, []]));
  for (let round = 0; round < rounds; round++) {
    for (const line of lines) {
      const folder = mkdtempSync(join(directory, "run-"));
      const asked = { ...USUAL_LOAD, seconds: Number(options.seconds), ...load(x), ...line.load };
      runs.get(line)?.push(await measure(line.contender, asked, folder));
      rmSync(folder, { recursive: true });
    }
  }
  return runs;
}

async function runCurve(curve: Curve): Promise<string[]> {
  console.log(`\n${curve.title}\n${formatHead()}`);
  const readings: Reading[] = [];
  const faults: string[] = [];
  for (const x of curve.points) {
    for (const [{ name }, runs] of await runPoint(curve, x)) {
      faults.push(...runs.flatMap(findFaultsOfRun).map((fault) => `${curve.name} ${x}: ${fault}`));
      console.log(formatMedians(x.toLocaleString("en"), runs), name);
      for (const { title, read } of PANELS)
        readings.push({ panel: title, line: name, x, y: median(runs.map(read)) });
    }
  }
  const svg = await drawCurves(curve.title, curve.axis, readings);
  await Bun.write(resolve(options.out, `curve-${curve.name}.svg`), svg);
  return faults;
}

const asked = CURVES.filter(({ name }) => options.only === undefined || options.only === name);
if (asked.length === 0) throw new Error(`--only is one of ${CURVES.map(({ name }) => name).join(", ")}`);
console.log(describeMachine(directory));
const faults: string[] = [];
for (const curve of asked) faults.push(...(await runCurve(curve)));
for (const fault of faults) console.error(`fault: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);
