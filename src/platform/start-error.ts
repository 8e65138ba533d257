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

/**
 * Runs a step of the start; what it throws becomes a StartError that begins with `hint`, unless it is one.
 */
export function orExplain<T>(hint: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${hint} (${error instanceof Error ? error.message : String(error)})`);
  }
}
