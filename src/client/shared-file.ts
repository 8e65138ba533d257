import { Database, SQLiteError } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { writeDurably } from "../platform/durable-file.ts";

/** A change takes some milliseconds: whoever holds the lock for so long has been stopped. */
const WAIT_MS = 5000;

/** The text of a small file; null where there is none. Throws where it cannot be read. */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/**
 * Reads a small file and writes what `change` makes of its text (null: there is none), as one step beside
 * other processes that do the same; where that is null, the file stays as it is. Throws what reading, writing
 * and `change` throw, and where another process holds the lock for five seconds. The lock is SQLite's, on an
 * empty file beside this one: it ends with its process.
 */
export function changeShared(path: string, change: (text: string | null) => string | null): void {
  const lock = new Database(`${path}.lock`, { create: true });
  try {
    lock.run(`PRAGMA busy_timeout = ${WAIT_MS}`);
    lock.run("BEGIN EXCLUSIVE");
    const text = change(readIfThere(path));
    if (text !== null) writeDurably(path, text);
  } catch (error) {
    const isHeld = error instanceof SQLiteError && error.code === "SQLITE_BUSY";
    throw isHeld ? new Error("another process changes it, and does not end") : error;
  } finally {
    lock.close();
  }
}
