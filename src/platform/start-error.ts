import { messageOf } from "../core/errors.ts";

/** The service cannot start; the message tells the operator what to do, and needs no stack. */
export class StartError extends Error {
  override name = "StartError";
}

/** The settings are well written, and yet not what the database needs: one sentence for each. */
export class SettingsError extends Error {
  override name = "SettingsError";

  constructor(readonly problems: readonly string[]) {
    super(problems.join("; "));
  }
}

/** What the operator reads where a start is refused. */
export function describeProblems(problems: readonly string[]): string {
  const lines = problems.map((problem) => `  ${problem}`);
  return ["Sealpost does not start, its settings are wrong:", ...lines].join("\n");
}

/**
 * Runs a step of the start; what it throws becomes a StartError that begins with `hint`, unless it is one.
 */
export function orExplain<T>(hint: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${hint} (${messageOf(error)})`);
  }
}
