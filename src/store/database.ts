import { Database } from "bun:sqlite";
import { chmodSync, closeSync, fsync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { checkpoint } from "./checkpoint.ts";
import { causeOf, isBusy, isDamage, roomIn, sizeOf } from "./disk-error.ts";
import { type Migrated, migrate } from "./migrations.ts";

export const DATABASE_FILE = "sealpost.db";
/** Litestream's own, beside the database. */
export const UPLOADS_FOLDER = `.${DATABASE_FILE}-litestream`;
/** What belongs to a database in its folder; itself last, as without it nothing is left to be put aside. */
export const DATABASE_PARTS = [UPLOADS_FOLDER, `${DATABASE_FILE}-shm`, `${DATABASE_FILE}-wal`, DATABASE_FILE];
const LOCK_FILE = "sealpost.lock";
/**
 * A quick_check reads the whole file: above this size only the schema and the first pages are read at start.
 */
const CHECK_BYTES_MAX = 256 * 1024 * 1024;
/** What the first start writes fits in twice. */
const START_BYTES_MIN = 2 * 1024 * 1024;
const BUSY_TIMEOUT_MS = 5000;
const JOURNAL_BYTES_MAX = 64 * 1024 * 1024;

/** The data directory cannot be used; the message is for the operator and names the file. */
export class DatabaseError extends Error {
  override name = "DatabaseError";
}

/**
 * Holds the data directory for this process: an exclusive lock of a SQLite file, which the kernel releases
 * however the process ends. Throws where another process has it.
 */
export function lockDirectory(dir: string): { release(): void } {
  requireRoom(dir);
  let lock: Database | null = null;
  try {
    lock = new Database(join(dir, LOCK_FILE), { create: true });
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    throw new DatabaseError(
      isBusy(error)
        ? `Another process uses the data directory ${dir}: stop it, or set SEALPOST_DATA_DIR to another one.`
        : `The data directory ${dir} cannot be used: ${causeOf(error, dir)}.`,
    );
  }
  return { release: () => lock.close() };
}

/**
 * Before anything is written: on some file systems SQLite ends with a bus error where there is no room for
 * the WAL's index.
 */
function requireRoom(dir: string): void {
  const room = roomIn(dir);
  if (room >= START_BYTES_MIN) return;
  const least = START_BYTES_MIN / 1024;
  throw new DatabaseError(
    `The data directory ${dir} cannot be used: the disk is full (${Math.floor(room / 1024)} KiB left, ${least} are needed to start).`,
  );
}

/** True where something was ever written there. */
export function hasDatabase(dir: string): boolean {
  return sizeOf(join(dir, DATABASE_FILE)) > 0;
}

/** Reads a database that another process may have open. */
export function readOnly<T>(path: string, read: (sqlite: Database) => T): T {
  const sqlite = new Database(path, { readonly: true });
  try {
    return read(sqlite);
  } finally {
    sqlite.close();
  }
}

/** Reads before anything is written, so that a damaged file stays as it is for whoever repairs it. */
function refuseDamaged(path: string): void {
  const whole = statSync(path).size <= CHECK_BYTES_MAX;
  try {
    const sql = whole ? "PRAGMA quick_check(1)" : "SELECT count(*) AS quick_check FROM sqlite_schema";
    const rows = readOnly(path, (sqlite) => sqlite.query(sql).all());
    const verdict = Object.values(rows[0] ?? {})[0];
    if (whole && verdict !== "ok") throw damaged(path, verdict);
  } catch (error) {
    if (isDamage(error)) throw damaged(path, error);
    if (error instanceof DatabaseError) throw error;
    // Anything else may be mended by opening it for writing, such as a journal of a start that was cut short,
    // or fails there again.
  }
}

function damaged(path: string, verdict: unknown): DatabaseError {
  return new DatabaseError(
    `The database ${path} is damaged (${String(verdict)}). It was left untouched; restore it from the replica.`,
  );
}

function configure(sqlite: Database): void {
  // Before anything is written: a commit to a long WAL of the process before would checkpoint it, also what
  // Litestream has not copied. Checkpoints run on a thread of their own, which knows of that (checkpoint.ts).
  sqlite.exec("PRAGMA wal_autocheckpoint = 0");
  sqlite.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // It counts only before the first table; later it would write a page at each start.
  if (isEmpty(sqlite)) sqlite.exec("PRAGMA auto_vacuum = INCREMENTAL");
  // FULL is not needed: the store itself syncs the WAL before it acknowledges (store.ts), and NORMAL still
  // syncs around checkpoints, which is what keeps the file whole.
  sqlite.exec("PRAGMA journal_mode = WAL");
  sqlite.exec("PRAGMA synchronous = NORMAL");
  sqlite.exec("PRAGMA foreign_keys = ON");
  // 4 MiB: more costs memory and, as the system caches the file too, saves nothing that can be measured.
  sqlite.exec("PRAGMA cache_size = -4096");
  sqlite.exec(`PRAGMA journal_size_limit = ${JOURNAL_BYTES_MAX}`);
}

function isEmpty(sqlite: Database): boolean {
  return sqlite.query("SELECT 1 FROM sqlite_schema").get() === null;
}

export interface Disk {
  sqlite: Database;
  path: string;
  /** What this start made of the schema. */
  migrated: Migrated;
  /** SQLite's version. */
  version: string;
  /** Brings every commit so far to the disk; runs on the thread pool. */
  sync: () => Promise<void>;
  /** From now on no statement waits for a lock, and the event loop with it: the store tries again. */
  goLive: () => void;
  /** Checkpoints what it can without waiting, as the file may be Litestream's too, and closes. */
  close: () => void;
}

/**
 * Opens (or makes) the database of a data directory and brings its schema up to date. Throws DatabaseError.
 */
export function openDatabase(dir: string): Disk {
  const path = join(dir, DATABASE_FILE);
  if (hasDatabase(dir)) refuseDamaged(path);
  let sqlite: Database | null = null;
  try {
    sqlite = new Database(path, { create: true, strict: true });
    configure(sqlite);
    const migrated = migrate(sqlite);
    // Not before: what sorts the rows of a new index has no bound in memory, and takes files else.
    sqlite.exec("PRAGMA temp_store = MEMORY");
    chmodSync(path, 0o600);
    return { sqlite, path, migrated, version: versionOf(sqlite), ...openWal(sqlite, path) };
  } catch (error) {
    sqlite?.close();
    throw new DatabaseError(`The database ${path} cannot be used: ${causeOf(error, dir)}.`);
  }
}

/** The WAL is synced by a descriptor of its own: an fsync covers the file, whoever wrote it. */
function openWal(sqlite: Database, path: string): Pick<Disk, "sync" | "goLive" | "close"> {
  // The file is there from the first write on, and stays for as long as a connection is open.
  sqlite.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('started', x'00')");
  const descriptor = openSync(`${path}-wal`, "r");
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fsync(descriptor, (error) => (error ? reject(error) : resolve()));
      }),
    goLive: () => sqlite.exec("PRAGMA busy_timeout = 0"),
    close: () => {
      closeSync(descriptor);
      checkpoint(sqlite, "PASSIVE");
      sqlite.close();
    },
  };
}

function versionOf(sqlite: Database): string {
  return sqlite.query<{ version: string }, []>("SELECT sqlite_version() AS version").get()?.version ?? "";
}
