import { closeSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { writeDurably } from "../platform/durable-file.ts";

const LOOK_MS = 10;
/** A change takes some milliseconds: whoever holds the lock for so long has crashed. */
const CRASHED_MS = 5000;

/** The text of a small file; null where there is none. Throws where it cannot be read. */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/**
 * Reads a small file and writes what `change` makes of its text (null: there is none), as one step beside
 * other processes that do the same; where that is null, the file stays as it is. Throws what reading, writing
 * and `change` throw.
 */
export function changeShared(path: string, change: (text: string | null) => string | null): void {
  const lock = `${path}.lock`;
  while (!take(lock)) Bun.sleepSync(LOOK_MS);
  try {
    const text = change(readIfThere(path));
    if (text !== null) writeDurably(path, text);
  } finally {
    rmSync(lock, { force: true });
  }
}

/** False where another process holds it. */
function take(lock: string): boolean {
  try {
    closeSync(openSync(lock, "wx", 0o600));
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Date.now() - since > CRASHED_MS) rmSync(lock, { force: true });
  return false;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
