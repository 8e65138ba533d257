/**
 * By how much of what is left after a collection the heap grows until the next one: 1 is what Bun does by
 * itself below 16 GiB of memory. From there on it is 2: fewer collections, for 1.5 % of an event's work, but
 * 35 MiB more while events are published, and 80 while batches come in.
 */
const NAME = "BUN_JSC_heapGrowthMaxIncrease";
const VALUE = "1";

/** The types of Bun that are used here do not know it. */
interface Executing {
  execve?(file: string, args: readonly string[], env: NodeJS.ProcessEnv): void;
}

/**
 * The engine reads it when it begins, so the process executes itself anew, as the same process; what an
 * operator has set stands. Where that is not allowed, it costs memory and nothing else.
 */
export function limitHeapGrowth(): void {
  if (process.env[NAME] !== undefined) return;
  const args = Bun.isStandaloneExecutable ? [] : [...process.execArgv, Bun.main];
  try {
    (process as Executing).execve?.(process.execPath, [process.execPath, ...args], {
      ...process.env,
      [NAME]: VALUE,
    });
  } catch {}
}
