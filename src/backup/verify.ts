import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { SettingsError } from "../platform/start-error.ts";
import { DATABASE_FILE, hasDatabase } from "../store/database.ts";
import { roomIn, sizeOf } from "../store/disk-error.ts";
import { compare, type Copy, examine, readStanding } from "../store/copy.ts";
import { cipherOf } from "./keys.ts";
import { findSource, requireLitestream, type Source } from "../replica/source.ts";
import { readVerdict, writeVerdict } from "../replica/verdict.ts";

/** What a verification found. */
export interface Verification {
  source: Source;
  copy: Copy;
  seconds: number;
  /** Null where the copy was held against nothing. */
  behindSeconds: number | null;
  /** One sentence for each thing that is wrong; none: the backup is good. */
  problems: string[];
}

type Env = Readonly<Record<string, string | undefined>>;

interface VerifyOptions {
  /** How far it may be behind. */
  withinSeconds: number;
  /** False: there is no database in the data directory, and the copy is held against nothing. */
  hasDatabase: boolean;
}

/**
 * Restores the replica to a folder of its own below the system's temporary directory, looks through it, holds
 * it against the database of the data directory, and removes it. The service may run meanwhile. What came out
 * is left for its metrics. Throws SettingsError where it cannot be tried, StartError or DatabaseError where
 * nothing, or nothing of use, can be restored.
 */
export async function verifyBackup(config: Config, env: Env, options: VerifyOptions): Promise<Verification> {
  const dir = resolve(config.dataDir);
  const litestream = requireLitestream();
  if (options.hasDatabase && !hasDatabase(dir))
    throw new SettingsError([
      `SEALPOST_DATA_DIR (${dir}) holds no database that the copy could be held against: name the service's, or say --without-database`,
    ]);
  const folder = makeFolder(options.hasDatabase ? dir : null);
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.on("exit", clear);
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 100) / 10;
  try {
    const source = await findSource(env, litestream, null);
    const standing = options.hasDatabase ? readStanding(dir) : null;
    const path = join(folder, DATABASE_FILE);
    await litestream.restore(source.url, path);
    const copy = examine(path, cipherOf(config));
    const lag = standing && compare(copy, standing, dir, began);
    const problems = [...copy.problems, ...(lag?.problems ?? [])];
    if (copy.secrets === null) problems.push("There is no key here that opens its secrets.");
    if (lag !== null && lag.seconds > options.withinSeconds)
      problems.push(
        `It is ${Math.round(lag.seconds)} s behind, which is more than ${options.withinSeconds}.`,
      );
    const behindSeconds = lag && lag.seconds;
    if (options.hasDatabase) leave(dir, { isGood: problems.length === 0, seconds: seconds(), behindSeconds });
    return { source, copy, seconds: seconds(), behindSeconds, problems };
  } catch (error) {
    if (options.hasDatabase && !(error instanceof SettingsError))
      leave(dir, { isGood: false, seconds: seconds(), behindSeconds: null });
    throw error;
  } finally {
    clear();
  }
}

/** For the copy, which must not fill a disk that the service may need. `dir`: of the database; null: none. */
function makeFolder(dir: string | null): string {
  const home = tmpdir();
  let folder: string;
  try {
    folder = mkdtempSync(join(home, "sealpost-backup-"));
  } catch (error) {
    throw new SettingsError([`TMPDIR (${home}) must be a folder that can be written to: ${String(error)}`]);
  }
  const path = dir === null ? null : join(dir, DATABASE_FILE);
  const needed = path === null ? 0 : ROOM_OF_COPY * (sizeOf(path) + sizeOf(`${path}-wal`));
  if (roomIn(folder) >= needed) return folder;
  rmSync(folder, { recursive: true });
  const mib = Math.ceil(needed / 2 ** 20);
  throw new SettingsError([`TMPDIR (${home}) must have room for the copy: ${mib} MiB`]);
}

/** In sizes of the database: as much stays free as the copy takes. */
const ROOM_OF_COPY = 2;

/** Where that cannot be written the metrics stay as they are; what was found does not change by it. */
function leave(dir: string, found: { isGood: boolean; seconds: number; behindSeconds: number | null }): void {
  const goodAt = found.isGood ? Math.floor(Date.now() / 1000) : (readVerdict(dir)?.goodAt ?? null);
  try {
    writeVerdict(dir, { ...found, goodAt });
  } catch (error) {
    console.error(`The service's metrics do not show this: ${String(error)}`);
  }
}
