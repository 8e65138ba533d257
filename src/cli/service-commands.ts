import type { Command } from "commander";
import type { RestoreOptions, RotateOptions, VerifyOptions } from "../backup/command.ts";
import type { CellsOptions, CellsVerb } from "../cells/command.ts";
import type { Calls } from "./calls.ts";

/** Commands of whoever operates an installation. What each of them does is loaded as it runs. */
export function addServiceCommands(program: Command, calls: Calls): void {
  addStandby(program, calls);
  addRestore(program, calls);
  addBackup(program, calls);
  addRotate(program, calls);
  addCells(program, calls);
}

function addStandby(program: Command, calls: Calls): void {
  calls
    .command(program, "standby", "[--upgrade]")
    .description(
      "Run as one machine of a pair: follow the primary's replica at LITESTREAM_REPLICA_URL, and become the primary under `litestream replicate` where there is none.",
    )
    .option("--upgrade", "Take over from a primary that has an older schema too.")
    .showHelpAfterError("sealpost standby takes --upgrade alone")
    .action(
      calls.does<{ upgrade?: boolean }>(async ({ options }) =>
        (await import("../standby/command.ts")).runStandby(options.upgrade === true),
      ),
    );
}

function addRestore(program: Command, calls: Calls): void {
  calls
    .command(program, "restore", "[--at 2026-11-23T12:00:00Z] [--json]")
    .description(
      "Restore the replica at LITESTREAM_REPLICA_URL into SEALPOST_DATA_DIR, which holds no database.",
    )
    .option("--at <time>", "As it was then, a time of RFC 3339. Without it: all of it.")
    .option("--json", "Print what was restored as JSON.")
    .action(
      calls.does<RestoreOptions>(async (call) => (await import("../backup/command.ts")).runRestore(call)),
    );
}

function addBackup(program: Command, calls: Calls): void {
  const backup = calls
    .command(program, "backup", "verify [--within SECONDS] [--without-database] [--json]")
    .description("Try the backup.");
  calls
    .command(backup, "verify", "[--within SECONDS] [--without-database] [--json]")
    .description(
      "Restore the replica aside, look through it, and compare it with the database of SEALPOST_DATA_DIR, beside the running service: exit code 0 where it is whole, opens with the key, and is not too far behind.",
    )
    .option("--within <seconds>", "How far it may be behind. Default: 60.")
    .option("--without-database", "Compare it with nothing, on a machine that has no database.")
    .option("--json", "Print what was found as JSON.")
    .action(
      calls.does<VerifyOptions>(async (call) => (await import("../backup/command.ts")).runVerify(call)),
    );
}

function addRotate(program: Command, calls: Calls): void {
  calls
    .command(program, "rotate-master-key", "[--json]")
    .description(
      "Encrypt all secrets in SEALPOST_DATA_DIR anew, while no service runs there: by the first key of SEALPOST_SECRET_KEY, or where that is not set, by a new one that is put first in secret.key. Called again after an interruption, it goes on.",
    )
    .option("--json", "Print what was done as JSON.")
    .action(
      calls.does<RotateOptions>(async (call) => (await import("../backup/command.ts")).runRotate(call)),
    );
}

function addCells(program: Command, calls: Calls): void {
  const cells = calls
    .command(program, "cells", "[command]")
    .description("Several installations behind one router: SEALPOST_OPERATOR_TOKEN is the token of all.");
  const runs = (verb: CellsVerb) =>
    calls.does<CellsOptions>(async (call) => (await import("../cells/command.ts")).runCells(verb, call));
  // Words are counted where they are read: what is missing is told in words of its own.
  const add = (verb: CellsVerb, words: string, about: string) =>
    calls.command(cells, verb, words).description(about).argument("[words...]").action(runs(verb));
  add("config", "haproxy|envoy CELLS.json", "Write the router's configuration from the list of cells.");
  add("accounts", "CELLS.json [--json]", "Every account of every cell.").option("--json", "One a line.");
  add("usage", "CELLS.json [--month 2026-11] [--json]", "What each cell delivered in a month.")
    .option("--month <month>", "Such as 2026-11. Without it: this month.")
    .option("--json", "Each account's as JSON, one a line.");
  add("metrics", "CELLS.json", "The metrics of all cells, each sample with its cell.");
  add("take", "--from s3://bucket/path", "Wait as a new cell for accounts of another one.").option(
    "--from <url>",
    "The replica of the other cell.",
  );
  add("move", "ACCOUNT... --to 2B CELLS.json", "Bring a cell accounts of another one.").option(
    "--to <cell>",
    "The cell that gets them.",
  );
}
