import { readConfig } from "../config.ts";
import { messageOf } from "../core/errors.ts";
import { createLogger, writeOrLose } from "../platform/log.ts";
import { describeProblems, SettingsError } from "../platform/start-error.ts";
import { Standby } from "./standby.ts";

const EXIT = { ended: 0, failed: 1, wrongSettings: 2 } as const;

/** The types of Bun that are used here do not know it. */
interface Executing {
  execve(file: string, args: readonly string[], env: Readonly<Record<string, string | undefined>>): never;
}

/**
 * Runs as one machine of a pair. Once it is the primary this process becomes `litestream replicate -exec
 * sealpost`: whoever watches over it starts it anew when that ends, and it is a standby again.
 */
export async function runStandby(mayUpgrade: boolean): Promise<number> {
  const read = readConfig(process.env);
  if (!read.ok) return refuse(read.problems);
  const write = writeOrLose(process.stdout, () => {});
  const logger = createLogger(read.config.logLevel, write, Date.now);
  let standby: Standby | null = null;
  // Also where the process ends by a signal: a child that follows would outlive it.
  process.on("exit", () => standby?.kill());
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(EXIT.ended));
  try {
    standby = new Standby(read.config, { logger, env: process.env, mayUpgrade });
    const { command, env } = await standby.untilPrimary();
    logger.flush();
    return (process as unknown as Executing).execve(command[0] ?? "", command, env);
  } catch (error) {
    if (error instanceof SettingsError) return refuse(error.problems);
    logger.log("error", messageOf(error));
    logger.flush();
    return EXIT.failed;
  }
}

function refuse(problems: readonly string[]): number {
  console.error(describeProblems(problems));
  return EXIT.wrongSettings;
}
