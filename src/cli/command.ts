import { readConfig, SETTINGS } from "../config.ts";
import { VERSION } from "../transport/user-agent.ts";

/** What an argument asks for in place of the service: each answers the exit code. */
const COMMANDS: ReadonlyMap<
  string,
  { about: string; run: (options: readonly string[]) => number | Promise<number> }
> = new Map([
  ["--help", { about: "Print this text.", run: printHelp }],
  ["--version", { about: "Print the version.", run: printVersion }],
  [
    "--check-health",
    {
      about: "Ask the service that runs with these settings whether it answers: exit code 0 or 1.",
      run: checkHealth,
    },
  ],
  [
    "standby",
    {
      about:
        "Run as one machine of a pair: follow the primary's replica at LITESTREAM_REPLICA_URL, and become the primary under `litestream replicate` where there is none. With --upgrade also where the primary has an older schema.",
      // Only now, as below: no other command needs anything of it.
      run: async (options: readonly string[]) => (await import("../standby/command.ts")).runStandby(options),
    },
  ],
  [
    "restore",
    {
      about:
        "Restore the replica at LITESTREAM_REPLICA_URL into SEALPOST_DATA_DIR, which holds no database: whole, or with --at 2026-11-23T12:00:00Z as it was then.",
      run: async (options: readonly string[]) => (await import("../backup/command.ts")).runRestore(options),
    },
  ],
  [
    "backup",
    {
      about:
        "With verify: restore the replica aside, look through it, and compare it with the database of SEALPOST_DATA_DIR, beside the running service: exit code 0 where it is whole, opens with the key, and is at most 60 s behind (--within SECONDS).",
      run: async (options: readonly string[]) => (await import("../backup/command.ts")).runBackup(options),
    },
  ],
  [
    "cells",
    {
      about:
        "For several installations behind one router: `cells config haproxy` (or envoy) writes the router's configuration from a list of cells, `cells accounts`, `cells usage` and `cells metrics` ask all of them at once. `cells take --from URL` waits as a new cell, and `cells move` brings it accounts of another one.",
      run: async (options: readonly string[]) => (await import("../cells/command.ts")).runCells(options),
    },
  ],
]);

const USAGE = `usage: sealpost [${[...COMMANDS.keys()].join(" | ")}]`;
const WRONG_USAGE = 2;
const HEALTH_MS_MAX = 2500;

/** Runs the command that the first argument names; answers the exit code. */
export function runCommand([name = "", ...options]: readonly string[]): number | Promise<number> {
  const command = COMMANDS.get(name);
  if (command) return command.run(options);
  console.error(`${USAGE}   (--help lists the settings)`);
  return WRONG_USAGE;
}

function printVersion(): number {
  console.log(VERSION);
  return 0;
}

function printHelp(): number {
  const commands = [...COMMANDS].map(([name, { about }]) => `  ${name}\n      ${about}`);
  const settings = Object.values(SETTINGS).map(
    ({ name, about, defaultText, example }) =>
      `  ${name}\n      ${about}\n      Default: ${defaultText}. Example: ${name}=${example}`,
  );
  const intro =
    "Without an argument it runs the service, which takes its settings from environment variables.";
  console.log([USAGE, "", intro, "", ...commands, "", "Settings:", "", ...settings].join("\n"));
  return 0;
}

/** What listens on every address is reached on its own. */
const OWN_ADDRESS: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

async function checkHealth(): Promise<number> {
  const read = readConfig(process.env);
  if (!read.ok) return 1;
  const { host, port } = read.config;
  const address = OWN_ADDRESS.get(host) ?? host;
  const origin = address.includes(":") ? `http://[${address}]:${port}` : `http://${address}:${port}`;
  try {
    const signal = AbortSignal.timeout(HEALTH_MS_MAX);
    return (await fetch(`${origin}/healthz`, { signal, proxy: false, redirect: "error" })).ok ? 0 : 1;
  } catch (error) {
    console.error(`${origin} does not answer: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}
