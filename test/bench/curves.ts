/**
 * The curves: how rate and times change with endpoints, bodies, fan-out, slow receivers and stored events.
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
  contenders: Contender[];
}

const CURVES: readonly Curve[] = [
  {
    name: "endpoints",
    title: "Endpoints, each event for one of them",
    axis: { title: "endpoints", isLog: true },
    points: [1, 10, 100, 1000, 10_000],
    load: (endpoints) => ({ endpoints }),
    contenders: [BARE, SERVICE],
  },
  {
    name: "body",
    title: "Size of an event",
    axis: { title: "bytes", isLog: true },
    points: [256, 1024, 10_000, 100_000, 900_000],
    load: (bodyBytes) => ({ bodyBytes }),
    contenders: [BARE, SERVICE],
  },
  {
    name: "fanout",
    title: "Fan-out, 1,000 endpoints",
    axis: { title: "endpoints that get each event", isLog: true },
    points: [1, 10, 100, 1000],
    load: (fanout) => ({ endpoints: 1000, fanout, connections: Math.ceil(64 / fanout) }),
    contenders: [SERVICE],
  },
  {
    name: "receiver",
    title: "Receivers that take their time, 1,000 endpoints",
    axis: { title: "ms from a delivery to its answer", isLog: false },
    points: [0, 20, 50, 100, 200],
    load: (receiverDelayMs) => ({ endpoints: 1000, receiverDelayMs }),
    contenders: [SERVICE],
  },
  {
    name: "stored",
    title: "Events that are stored already",
    axis: { title: "events", isLog: true },
    points: [1000, 10_000, 100_000, 1_000_000],
    load: (stored) => ({ stored }),
    contenders: [SERVICE],
  },
];

const PANELS: readonly { title: string; read: (run: Measurement) => number }[] = [
  { title: "delivered a second", read: (run) => run.deliveredPerSecond },
  { title: "publish p99, ms", read: (run) => run.publish.p99Ms },
  { title: "most memory, MiB", read: (run) => run.peakBytes / 2 ** 20 },
];
const LINES = { bare: "the bare loop", service: "Sealpost" };

const directory = mkdtempSync(join(tmpdir(), "sealpost-curves-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));

/** The contenders take turns, and each round has a folder of its own, which is gone afterwards. */
async function runPoint({ load, contenders }: Curve, x: number): Promise<Measurement[]> {
  const runs: Measurement[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      const folder = mkdtempSync(join(directory, "run-"));
      const asked = { ...USUAL_LOAD, seconds: Number(options.seconds), ...load(x) };
      runs.push(await measure(contender, asked, folder));
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
    const all = await runPoint(curve, x);
    faults.push(...all.flatMap(findFaultsOfRun).map((fault) => `${curve.name} ${x}: ${fault}`));
    for (const { name } of curve.contenders) {
      const runs = all.filter(({ contender }) => contender === name);
      console.log(formatMedians(`${name === "bare" ? "bare " : ""}${x.toLocaleString("en")}`, runs));
      for (const { title, read } of PANELS)
        readings.push({ panel: title, line: LINES[name], x, y: median(runs.map(read)) });
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
