/**
 * Where the processor's time goes: what an event costs the bare loop and the service, by thread, and on the
 * main thread by room. Linux's perf counts, and a CPU profile of Bun tells the rooms.
 *
 *   bun test/bench/profile.ts [--kind bare|service] [--seconds 10] [--endpoints 1] [--hosts 1] [--bytes 1024]
 *                             [--fanout 1] [--delay 0] [--tls] [--closes]
 *   bun test/bench/profile.ts --of file [--from 0] [--to Infinity]
 *
 * `--delay`: milliseconds from a delivery to its answer. `--of` prints the shares of a profile that is there
 * already, as `restart.ts` and `backlog.ts` leave one of their last start; `--from` and `--to` are
 * milliseconds from its beginning.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { nowUs } from "./clock.ts";
import { type CpuProfile, readShares, type Shares } from "./cpu-profile.ts";
import { describeMachine } from "./machine.ts";
import { type Load, publishAndDrain, startBench, stopBench, USUAL_LOAD, warmUp } from "./measurement.ts";
import { isMain, record, type Recorded } from "./perf-record.ts";
import { readProcess } from "./proc.ts";
import { BARE, type Contender, profiled, SERVICE } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    kind: { type: "string" },
    seconds: { type: "string", default: "10" },
    endpoints: { type: "string", default: "1" },
    hosts: { type: "string", default: "1" },
    bytes: { type: "string", default: "1024" },
    fanout: { type: "string", default: "1" },
    delay: { type: "string", default: "0" },
    tls: { type: "boolean", default: false },
    closes: { type: "boolean", default: false },
    of: { type: "string" },
    from: { type: "string", default: "0" },
    to: { type: "string", default: "Infinity" },
  },
});
const load: Load = {
  ...USUAL_LOAD,
  seconds: Number(options.seconds),
  endpoints: Number(options.endpoints),
  hosts: Number(options.hosts),
  bodyBytes: Number(options.bytes),
  fanout: Number(options.fanout),
  receiverDelayMs: Number(options.delay),
  isTls: options.tls,
  closes: options.closes,
};
const DEAREST = 15;
const WARM_UPS = 3;
/** The thread that looks which function runs. */
const PROFILER = "thread";
const THREADS: readonly [RegExp, string][] = [
  [/^HeapHelper|^ollector/, "thread: collection of garbage"],
  [/^JIT|^JSC/, "thread: just-in-time compiler"],
  [/^Bun Pool/, "threads of the pool: fsync"],
  [/^Worker/, "thread: checkpoints"],
];

/** Microseconds of the processor for each event. */
type Costs = Map<string, number>;

const readProfile = (file: string) => Bun.file(file).json() as Promise<CpuProfile>;

/** Runs it under the load; what comes before is not counted. */
async function profile(contender: Contender, directory: string): Promise<Costs> {
  const file = join(directory, `${contender.name}.cpuprofile`);
  const bench = await startBench(profiled(contender, file), load, mkdtempSync(join(directory, "run-")));
  // The just-in-time compiler has its last work after ten seconds.
  for (let time = 0; time < WARM_UPS; time++) await warmUp(bench, load);
  const { pid } = bench.server;
  const [before, fromUs] = [readProcess(pid).cpuSeconds, nowUs()];
  const [{ published }, recorded] = await Promise.all([
    publishAndDrain(bench, load, load.seconds * 1000),
    record(pid, load.seconds, join(directory, "perf.data")),
  ]);
  const [after, toUs] = [readProcess(pid).cpuSeconds, nowUs()];
  await stopBench(bench);
  const shares = readShares(await readProfile(file), fromUs, toUs);
  console.log(`\n${contender.name}: ${published.accepted} events`);
  print("in JavaScript, dearest by room and function", shares.functions);
  return costsOf(shares, recorded, ((after - before) * 1e6) / published.accepted);
}

function costsOf({ rooms }: Shares, { threads, ...recorded }: Recorded, usPerEvent: number): Costs {
  const costs: Costs = new Map();
  const samples = [...threads.values()].reduce((sum, count) => sum + count, 0);
  const add = (row: string, count: number) =>
    costs.set(row, (costs.get(row) ?? 0) + (count / samples) * usPerEvent);
  add("all", samples - (threads.get(PROFILER) ?? 0));
  add("… of it in the kernel", recorded.kernel);
  add("… of it in compiled JavaScript", recorded.compiled);
  for (const [room, share] of rooms) add(`main: ${room}`, recorded.inJavaScript * share);
  for (const [name, count] of threads) {
    if (isMain(name)) add("main: outside JavaScript", count - recorded.inJavaScript);
    else if (name !== PROFILER)
      add(THREADS.find(([known]) => known.test(name))?.[1] ?? "other threads", count);
  }
  return costs;
}

function print(title: string, shares: ReadonlyMap<string, number>): void {
  console.log(title);
  for (const [name, share] of [...shares].slice(0, DEAREST))
    console.log(`${(100 * share).toFixed(1).padStart(6)} %  ${name}`);
}

/** A column for each contender; the dearest rows of the last one first. */
function printCosts(names: string[], columns: Costs[]): void {
  const rows = new Set(columns.toReversed().flatMap((costs) => [...costs.keys()]));
  const last = (row: string) => columns.at(-1)?.get(row) ?? 0;
  const title = "µs of the processor for an event".padEnd(36);
  console.log(`\n${title}${names.map((name) => name.padStart(9)).join("")}`);
  for (const row of [...rows].sort((one, other) => last(other) - last(one))) {
    const cells = columns.map((costs) => (costs.get(row) ?? 0).toFixed(1).padStart(9));
    console.log(`${row.padEnd(36)}${cells.join("")}`);
  }
}

async function profileAll(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sealpost-profile-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  process.on("SIGINT", () => process.exit(130));
  console.log(describeMachine(directory));
  const contenders = [BARE, SERVICE].filter(
    ({ name }) => options.kind === undefined || options.kind === name,
  );
  const costs: Costs[] = [];
  for (const contender of contenders) costs.push(await profile(contender, directory));
  const names = contenders.map(({ name }) => name);
  printCosts(names, costs);
}

if (options.of === undefined) await profileAll();
else {
  const read = await readProfile(options.of);
  const [fromUs, toUs] = [options.from, options.to].map((ms) => read.startTime + Number(ms) * 1000);
  const { samples, rooms, functions } = readShares(read, fromUs, toUs);
  console.log(`${samples} samples, each some 1.2 ms in JavaScript`);
  print("rooms", rooms);
  print("functions", functions);
}
process.exit(0);
