import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { StartError } from "../platform/start-error.ts";
import { DATABASE_FILE, hasDatabase } from "../store/database.ts";
import { roomIn } from "../store/disk-error.ts";
import { compare, type Copy, examine } from "../store/copy.ts";
import { cipherOf } from "./keys.ts";
import { findSource, requireLitestream, type Source } from "./source.ts";
import { readVerdict, writeVerdict } from "../replica/verdict.ts";

/** What a verification found. */
export interface Verification {
  source: Source;
  copy: Copy;
  seconds: number;
  /** Null where there is no database here to hold the copy against. */
  behindSeconds: number | null;
  /** One sentence for each thing that is wrong; none: the backup is good. */
  problems: string[];
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Restores the replica to a folder of its own below the system's temporary directory, looks through it, holds
 * it against the database of the data directory, if there is one, and removes it. The service may run
 * meanwhile. What came out is left for its metrics. `withinSeconds`: how far it may be behind. Throws
 * SettingsError where it cannot be tried, StartError where nothing can be restored.
 */
export async function verifyBackup(config: Config, env: Env, withinSeconds: number): Promise<Verification> {
  const dir = resolve(config.dataDir);
  const litestream = requireLitestream();
  const source = await findSource(env, litestream, null);
  const here = hasDatabase(dir) ? join(dir, DATABASE_FILE) : null;
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 100) / 10;
  const folder = mkdtempSync(join(tmpdir(), "sealpost-backup-"));
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.on("exit", clear);
  try {
    requireRoom(folder, here);
    const path = join(folder, DATABASE_FILE);
    await litestream.restore(source.url, path, null);
    const copy = examine(path, cipherOf(config));
    const lag = here === null ? null : compare(copy, dir, here, began);
    const problems = [...copy.problems, ...(lag?.problems ?? [])];
    if (copy.secrets === null) problems.push("There is no key here that opens its secrets.");
    if (lag !== null && lag.seconds > withinSeconds)
      problems.push(`It is ${Math.round(lag.seconds)} s behind, which is more than ${withinSeconds}.`);
    const behindSeconds = lag?.seconds ?? null;
    leave(dir, { isGood: problems.length === 0, seconds: seconds(), behindSeconds });
    return { source, copy, seconds: seconds(), behindSeconds, problems };
  } catch (error) {
    leave(dir, { isGood: false, seconds: seconds(), behindSeconds: null });
    throw error;
  } finally {
    clear();
  }
}

/** A copy must not fill a disk that the service may need. */
function requireRoom(folder: string, here: string | null): void {
  const needed = here === null ? 0 : 1.2 * statSync(here).size;
  if (roomIn(folder) >= needed) return;
  const mib = Math.ceil(needed / 2 ** 20);
  throw new StartError(`The copy needs ${mib} MiB in ${tmpdir()}: set TMPDIR to a folder that has them`);
}

function leave(dir: string, found: { isGood: boolean; seconds: number; behindSeconds: number | null }): void {
  if (!existsSync(dir)) return;
  const goodAt = found.isGood ? Math.floor(Date.now() / 1000) : (readVerdict(dir)?.goodAt ?? null);
  writeVerdict(dir, { ...found, goodAt });
}
