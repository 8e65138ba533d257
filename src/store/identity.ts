import type { Database } from "bun:sqlite";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE, readOnly } from "./database.ts";
import type { Store } from "./store.ts";

/** What a database says of itself, wherever it was restored to. */
export interface Installation {
  /** Made with the database; null where it is older than that. */
  installation: string | null;
  /** How many starts it has seen. */
  start: number;
  /** Counts up while it is written to. */
  beat: number;
}

/** Two beats are no closer. */
export const BEAT_MS = 5000;

const NOBODY: Installation = { installation: null, start: 0, beat: 0 };
const ROW = "identity";

/** The identity of a directory's database, which is only read; of nobody where there is none. */
export function readIdentity(dir: string): Installation {
  const path = join(dir, DATABASE_FILE);
  if (!existsSync(path)) return NOBODY;
  try {
    return readOnly(path, readRow);
  } catch {
    // What is damaged, or has no tables yet, is for the start itself to tell.
    return NOBODY;
  }
}

function readRow(sqlite: Database): Installation {
  const row = sqlite.query<{ value: Uint8Array }, [string]>("SELECT value FROM meta WHERE name = ?").get(ROW);
  return row ? (JSON.parse(Buffer.from(row.value).toString()) as Installation) : NOBODY;
}

function writeRow(sqlite: Database, identity: Installation): void {
  const value = Buffer.from(JSON.stringify(identity));
  sqlite.query("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(ROW, value);
}

/** Null where none has started on it. */
export function installationOf(sqlite: Database): string | null {
  return readRow(sqlite).installation;
}

/** The next start makes another installation of the database. */
export function forgetInstallation(sqlite: Database): void {
  sqlite.query("DELETE FROM meta WHERE name = ?").run(ROW);
}

/** Counts this start. */
export function beginStart(store: Store): Promise<Installation & { installation: string }> {
  return store.write(() => {
    const { installation, start, beat } = readRow(store.sqlite);
    const begun = {
      installation: installation ?? randomBytes(16).toString("hex"),
      start: start + 1,
      beat: beat + 1,
    };
    writeRow(store.sqlite, begun);
    return begun;
  });
}

/** One beat more; answers it. */
export function nextBeat(store: Store): Promise<number> {
  return store.write(() => {
    const identity = readRow(store.sqlite);
    const beat = identity.beat + 1;
    writeRow(store.sqlite, { ...identity, beat });
    return beat;
  });
}
