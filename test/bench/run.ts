/**
 * The bench: publishes over keep-alive connections to a server on this machine, which signs every event
 * and delivers it to a receiver on this machine, and prints what the service reaches beside the bare
 * loop (`bare.ts`).
 *
 *   bun test/bench/run.ts [--rounds 3] [--seconds 6] [--connections 64] [--endpoints 1] [--bytes 1024]
 *                         [--kind bare|service] [--binary path | --command "…"]
 *
 * The two alternate, each run has its own processes and its own empty data directory below the system's
 * temporary directory, and the median counts. It ends with exit code 1 when an event was lost, sent twice
 * or refused, and when the bare loop shows that the machine is busy with something else. Linux only: it
 * reads /proc.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeMachine } from "./machine.ts";
import { type Load, type Measurement, measure, USUAL_LOAD } from "./measurement.ts";
import { findFaults, formatHead, formatMedians, formatRun, ratioToBare } from "./report.ts";
import { BARE, type Contender, SERVICE } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "6" },
    connections: { type: "string", default: "64" },
    endpoints: { type: "string", default: "1" },
    bytes: { type: "string", default: "1024" },
    kind: { type: "string" },
    binary: { type: "string" },
    command: { type: "string" },
  },
});

const load: Load = {
  ...USUAL_LOAD,
  seconds: readNumber("seconds"),
  connections: readNumber("connections"),
  endpoints: readNumber("endpoints"),
  bodyBytes: readNumber("bytes"),
};
const rounds = readNumber("rounds");
const service: Contender = { name: "service", command: serviceCommand() };
const contenders = [BARE, service].filter(({ name }) => options.kind === undefined || options.kind === name);

const directory = mkdtempSync(join(tmpdir(), "sealpost-bench-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

console.log(describeMachine(directory));
console.log(`${load.connections} connections, ${load.endpoints} endpoints, ${load.bodyBytes}-byte events\n`);
const faults = await runRounds().then(summarize, (error: Error) => [error.message]);
for (const fault of faults) console.error(`fault: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

async function runRounds(): Promise<Measurement[]> {
  const runs: Measurement[] = [];
  console.log(formatHead());
  for (let round = 1; round <= rounds; round++) {
    for (const contender of contenders) {
      const run = await measure(contender, load, directory);
      console.log(formatRun(`${contender.name} ${round}`, run));
      runs.push(run);
    }
  }
  return runs;
}

/** Prints the medians and the ratio; answers what makes them worthless. */
function summarize(runs: Measurement[]): string[] {
  for (const { name } of contenders) {
    const own = runs.filter((run) => run.contender === name);
    console.log(formatMedians(`${name} median`, own));
  }
  const ratio = ratioToBare(runs);
  if (ratio !== undefined) console.log(`\nservice ÷ bare loop, delivered/s: ${ratio.toFixed(2)}`);
  return findFaults(runs);
}

function serviceCommand(): string[] {
  if (options.binary !== undefined) return [options.binary];
  if (options.command !== undefined) return ["bash", "-c", `exec ${options.command}`];
  return SERVICE.command;
}

function readNumber(name: "rounds" | "seconds" | "connections" | "endpoints" | "bytes"): number {
  const value = Number(options[name]);
  if (!Number.isInteger(value) || value < 1) {
    console.error(`--${name} must be a whole number above 0, not ${options[name]}`);
    process.exit(2);
  }
  return value;
}
