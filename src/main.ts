import type { App, FirstKeys } from "./app.ts";
import { systemClock } from "./platform/clock.ts";
import { readConfig } from "./config.ts";
import { messageOf } from "./core/errors.ts";
import { limitHeapGrowth } from "./platform/heap-growth.ts";
import { createLogger, writeOrLose } from "./platform/log.ts";
import { VERSION } from "./transport/user-agent.ts";
import { describeProblems, SettingsError, StartError } from "./platform/start-error.ts";
import { DatabaseError } from "./store/database.ts";

const EXIT = { failed: 1, wrongSettings: 2 } as const;

/** What is written lies in the data directory, and is nobody else's to read. */
process.umask(0o077);

const words = process.argv.slice(2);
if (words.length > 1 || (words.length === 1 && words[0] !== "serve")) {
  // Only now: the service parses no words.
  const { runCommand } = await import("./cli/command.ts");
  const exitCode = await runCommand(words);
  if (exitCode !== null) process.exit(exitCode);
}
limitHeapGrowth();

function refuseSettings(problems: readonly string[]): never {
  console.error(describeProblems(problems));
  process.exit(EXIT.wrongSettings);
}

const read = readConfig(process.env);
if (!read.ok) refuseSettings(read.problems);

const { config } = read;
const writeLog = writeOrLose(process.stdout, (lines) =>
  logger.log("warn", "the log could not be written for a while: lines of it are lost", { lines }),
);
const logger = createLogger(config.logLevel, writeLog, Date.now);

function die(error: unknown): never {
  if (error instanceof SettingsError) refuseSettings(error.problems);
  const known = error instanceof DatabaseError || error instanceof StartError;
  const text = messageOf(error);
  logger.log("error", text, known || !(error instanceof Error) ? {} : { stack: error.stack ?? "" });
  logger.flush();
  process.exit(EXIT.failed);
}

process.on("uncaughtException", die);
process.on("unhandledRejection", die);

function announce({ live, test }: FirstKeys): void {
  logger.flush();
  console.log(`\nFirst start. These keys are shown once:\n  live  ${live}\n  test  ${test}\n`);
}

const monotonic = () => performance.now();
let app: App | null = null;
let stopping = false;

async function stop(): Promise<void> {
  // A signal to the whole group arrives more than once.
  if (stopping) return;
  stopping = true;
  logger.log("info", "stopping: attempts in flight get up to ten seconds");
  logger.flush();
  await app?.stop();
  logger.log("info", "stopped");
  logger.flush();
  process.exit(0);
}

process.on("SIGTERM", () => void stop());
process.on("SIGINT", () => void stop());
// What a closed terminal sends, and what others reload by: there is nothing to reload, and no reason to end.
process.on("SIGHUP", () => logger.log("info", "SIGHUP is ignored: settings are read at the start only"));

try {
  // Only now: a command needs nothing of them.
  const { findReplica } = await import("./replica/find-replica.ts");
  const replica = await findReplica(config.dataDir, process.env, {
    now: Date.now,
    monotonic,
    log: logger.log,
    onLost: die,
  });
  const { startApp } = await import("./app.ts");
  app = await startApp(config, { clock: systemClock, logger, announce, fail: die, replica });
} catch (error) {
  die(error);
}
logger.log("info", "listening", { url: app.url, version: VERSION, docs: `${config.baseUrl}/docs` });
// Gives back what only the start needed: some 8 of 90 MB.
Bun.shrink();
