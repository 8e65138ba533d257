/**
 * The turns of the service's event loop under the loads of the other benches, collection of garbage included.
 *
 *   bun test/bench/turns.ts [--only name] [--seconds 10]
 *
 * Prints the longest turn of each, by the clock (in which other processes may have had the core) and of the
 * processor, once the service is warm, and in how many half seconds one took more than 20 ms of it. Then what
 * ran in the longest, from a CPU profile of Bun, which sees nothing of a collection of garbage.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { nowUs } from "./clock.ts";
import { type CpuProfile, readShares } from "./cpu-profile.ts";
import { describeMachine } from "./machine.ts";
import { type Load, publishAndDrain, startBench, stopBench, USUAL_LOAD, warmUp } from "./measurement.ts";
import { type Contender, profiled, SERVICE } from "./server.ts";

const { values: options } = parseArgs({
  options: { only: { type: "string" }, seconds: { type: "string", default: "10" } },
});

const LOADS: Readonly<Record<string, Partial<Load>>> = {
  "one endpoint": {},
  "half of the rate": { perSecond: 5000 },
  "1,000 endpoints": { endpoints: 1000 },
  "10,000 endpoints": { endpoints: 10_000 },
  "each event to 1,000 endpoints": { endpoints: 1000, fanout: 1000, connections: 1 },
  "events of 100 KB": { bodyBytes: 100_000 },
  "events of 900 KB": { bodyBytes: 900_000 },
  "receivers of 200 ms": { endpoints: 1000, receiverDelayMs: 200 },
  "a tenth of the receivers hangs": { endpoints: 1000, uncounted: 100, uncountedHang: true },
  "TLS at 100 addresses": { endpoints: 100, hosts: 100, isTls: true },
  "TLS, closed after each answer": { endpoints: 100, hosts: 100, isTls: true, closes: true },
  "a million stored events": { stored: 1_000_000 },
};
const MOST_MS = 20;

const [bun = "", ...command] = SERVICE.command;
const METERED: Contender = {
  ...SERVICE,
  command: [bun, "--preload", join(import.meta.dir, "turn-meter.ts"), ...command],
};

const directory = mkdtempSync(join(tmpdir(), "sealpost-turns-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));

/** The longest turn of a half second. */
interface Turn {
  byClockMs: number;
  busyMs: number;
  overAtUs: number;
}

async function measureTurns(load: Load, folder: string): Promise<{ turns: Turn[]; profile: CpuProfile }> {
  const file = join(folder, "profile");
  const bench = await startBench(profiled(METERED, file), load, folder);
  await warmUp(bench, load);
  const fromUs = nowUs();
  await publishAndDrain(bench, load, load.seconds * 1000);
  const toUs = nowUs();
  await stopBench(bench);
  const lines = readFileSync(join(folder, "turns"), "utf8").trim().split("\n");
  const turns = lines.map((line): Turn => {
    const [byClockMs = 0, busyMs = 0, overAtUs = 0] = line.split(" ").map(Number);
    return { byClockMs, busyMs, overAtUs };
  });
  const profile = (await Bun.file(file).json()) as CpuProfile;
  return { turns: turns.filter(({ overAtUs }) => overAtUs > fromUs && overAtUs < toUs), profile };
}

function print(name: string, turns: Turn[], profile: CpuProfile): void {
  const longest = turns.reduce((one, other) => (other.busyMs > one.busyMs ? other : one));
  const { byClockMs, busyMs, overAtUs } = longest;
  const { samples, rooms } = readShares(profile, overAtUs - byClockMs * 1000, overAtUs);
  const most = Math.max(...turns.map((turn) => turn.byClockMs));
  const above = turns.filter((turn) => turn.busyMs > MOST_MS).length;
  const figures = [most.toFixed(1).padStart(12), busyMs.toFixed(1).padStart(16)].join("  ");
  console.log(`${name.padEnd(32)}  ${figures}  ${`${above} of ${turns.length}`.padStart(18)}`);
  const shares = [...rooms].slice(0, 4).map(([room, share]) => `${room} ${(100 * share).toFixed(0)} %`);
  console.log(`    ${byClockMs.toFixed(0)} ms by the clock, ${samples} samples: ${shares.join(", ")}`);
}

console.log(describeMachine(directory));
const heads = ["by the clock", "of the processor", `above ${MOST_MS} ms of it`];
console.log(`\n${["longest turn, ms".padEnd(32), ...heads].join("  ")}`);
for (const [name, some] of Object.entries(LOADS)) {
  if (options.only !== undefined && options.only !== name) continue;
  const folder = mkdtempSync(join(directory, "run-"));
  const load = { ...USUAL_LOAD, seconds: Number(options.seconds), ...some };
  const { turns, profile } = await measureTurns(load, folder);
  print(name, turns, profile);
  rmSync(folder, { recursive: true });
}
process.exit(0);
