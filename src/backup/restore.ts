import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "../config.ts";
import type { Cipher } from "../core/cipher.ts";
import { SettingsError } from "../platform/start-error.ts";
import { requireOwnDirectory } from "./own-directory.ts";
import { GENERATION_FILE } from "../replica/generations.ts";
import { DATABASE_FILE, DATABASE_PARTS, DatabaseError, lockDirectory } from "../store/database.ts";
import { type Copy, examine } from "../store/copy.ts";
import { cipherOf } from "./keys.ts";
import { findSource, requireLitestream, type Source } from "../replica/source.ts";

export interface Restored {
  source: Source;
  copy: Copy;
  path: string;
}

/**
 * Restores the replica into the data directory, which holds no database: whole, or as it was at the instant
 * `at` (Unix milliseconds). Throws SettingsError where it cannot be, StartError where Litestream fails.
 */
export async function restoreBackup(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  at: number | null,
): Promise<Restored> {
  const dir = resolve(config.dataDir);
  const litestream = requireLitestream();
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  requireOwnDirectory(dir);
  const lock = lockDirectory(dir);
  try {
    const left = [...DATABASE_PARTS, GENERATION_FILE].find((name) => existsSync(join(dir, name)));
    if (left !== undefined)
      throw new SettingsError([
        `SEALPOST_DATA_DIR (${dir}) holds a database already, or what one has left (${left}): move it away, or name another directory`,
      ]);
    const source = await findSource(env, litestream, at);
    const path = join(dir, DATABASE_FILE);
    await litestream.restore(source.url, path, { before: source.before });
    return { source, copy: examineAt(path, cipherOf(config)), path };
  } finally {
    lock.release();
  }
}

/** What is of no use stays, for whoever wants to look at it. */
function examineAt(path: string, cipher: Cipher | null): Copy {
  try {
    return examine(path, cipher);
  } catch (error) {
    throw error instanceof DatabaseError ? new DatabaseError(`${error.message} (it lies at ${path})`) : error;
  }
}
