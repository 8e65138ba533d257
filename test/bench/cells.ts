/**
 * The bench of cells: what the router in front of them costs.
 *
 *   bun test/bench/cells.ts [--rounds 5] [--seconds 6] [--connections 64] [--bytes 1024] [--rate 0]
 *
 * By turns: one cell that is asked directly, the same behind HAProxy, and two cells behind HAProxy, each with
 * half of the connections; HAProxy has the configuration that `sealpost cells config haproxy` writes. With
 * `--rate` they publish so many events a second together, else as often as answers come. All of it shares the
 * cores of this machine, generator and receiver too, so two cells show what they cost and not what two
 * machines deliver. It ends with exit code 1 when an event was lost, sent twice or refused. Linux only: it
 * reads /proc. HAProxy: apt-get install haproxy.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runCommand } from "../kit/real-server.ts";
import {
  formatRatios,
  formatSetupHead,
  formatSetupRuns,
  publishesPerRouterCore,
  SETUPS,
  type SetupRun,
} from "./cells-report.ts";
import { measureCells } from "./cells-run.ts";
import { describeMachine } from "./machine.ts";
import { type Load, USUAL_LOAD } from "./measurement.ts";
import { findFaultsOfRun, formatNumber } from "./report.ts";

/**
 * What the router lets one address have under way unless told otherwise (`requests_per_address`). Here each
 * connection is one request, and all of them come from one address.
 */
const CONNECTIONS_MAX = 200;

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "6" },
    connections: { type: "string", default: "64" },
    bytes: { type: "string", default: "1024" },
    rate: { type: "string", default: "0" },
  },
});

const rounds = readNumber("rounds", 1);
const load: Load = {
  ...USUAL_LOAD,
  seconds: readNumber("seconds", 1),
  connections: readNumber("connections", 2, CONNECTIONS_MAX),
  bodyBytes: readNumber("bytes", 1),
  perSecond: readNumber("rate", 0),
};
if (Bun.which("haproxy") === null) refuse("haproxy is not installed: apt-get install haproxy");

const directory = mkdtempSync(join(tmpdir(), "sealpost-bench-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

const [version = ""] = (await runCommand(["haproxy", "-v"])).split("\n");
const pace = load.perSecond === 0 ? "as often as answers come" : `${load.perSecond} a second`;
console.log(`${describeMachine(directory)}, ${version}`);
console.log(`${load.connections} connections, ${load.bodyBytes}-byte events, ${pace}\n`);
const faults = await runRounds().then(summarize, (error: Error) => [error.message]);
for (const fault of faults) console.error(`fault: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

async function runRounds(): Promise<SetupRun[]> {
  const runs: SetupRun[] = [];
  console.log(formatSetupHead());
  for (let round = 1; round <= rounds; round++) {
    for (const setup of SETUPS) {
      const run = await measureCells(setup, load, directory);
      console.log(formatSetupRuns(`${setup.name} ${round}`, [run]));
      runs.push(run);
    }
  }
  return runs;
}

/** Prints medians and ratios; answers what makes them worthless. */
function summarize(runs: SetupRun[]): string[] {
  for (const { name } of SETUPS) {
    const own = runs.filter(({ contender }) => contender === name);
    console.log(formatSetupRuns(`${name} median`, own));
  }
  for (const { name } of SETUPS.filter(({ isRouted }) => isRouted)) {
    console.log(`\n${formatRatios(runs, name)}`);
    // At a set pace HAProxy takes more for each publish, as it wakes up for fewer of them at a time.
    if (load.perSecond > 0) continue;
    const publishes = publishesPerRouterCore(runs, name) ?? 0;
    console.log(`One core of HAProxy alone: ${formatNumber(publishes, 0)} publishes a second`);
  }
  return runs.flatMap(findFaultsOfRun);
}

function readNumber(name: keyof typeof options, least: number, most = Number.MAX_SAFE_INTEGER): number {
  const value = Number(options[name]);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  const bounds = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`;
  return refuse(`--${name} must be a whole number, ${bounds}, not ${options[name]}`);
}

function refuse(problem: string): never {
  console.error(problem);
  process.exit(2);
}
