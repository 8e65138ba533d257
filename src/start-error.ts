/** The service cannot start; the message tells the operator what to do, and needs no stack. */
export class StartError extends Error {
  override name = "StartError";
}

/** Runs a step of the start; what it throws becomes a StartError that begins with `hint`. */
export function orExplain<T>(hint: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw new StartError(`${hint} (${error instanceof Error ? error.message : String(error)})`);
  }
}
