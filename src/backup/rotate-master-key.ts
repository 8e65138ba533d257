import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { Cipher, type SecretKeys } from "../core/cipher.ts";
import { Problem } from "../core/errors.ts";
import { addDirectoryKey, directoryKeys, secretKeyPath } from "../platform/secret-key.ts";
import { SettingsError } from "../platform/start-error.ts";
import { turnParts } from "../platform/turns.ts";
import { DatabaseError, hasDatabase, lockDirectory, openDatabase } from "../store/database.ts";
import { requireOwnDirectory } from "./own-directory.ts";
import { Sealing } from "../store/resources/sealing.ts";
import { Store } from "../store/store.ts";

/** What a rotation did. */
export interface Rotation {
  /** Secrets that were encrypted anew. */
  encrypted: number;
  /** Secrets that need a key which is not there. */
  left: number;
  /** The file that holds the keys; null where SEALPOST_SECRET_KEY does. */
  keyFile: string | null;
  /** False where an interrupted rotation went on with the key that it had made. */
  isKeyMade: boolean;
}

/**
 * Encrypts every stored secret by the first key, while no service runs on the data directory. Where the
 * operator set no key, a new one is made and put before those of `secret.key`. It can be killed at any
 * moment: what it left is encrypted by the next call, or in the background by the next start of the service.
 * Throws SettingsError where there is nothing to rotate, StartError or DatabaseError where it cannot.
 */
export async function rotateMasterKey(config: Config): Promise<Rotation> {
  const dir = resolve(config.dataDir);
  if (!hasDatabase(dir)) throw new SettingsError([`SEALPOST_DATA_DIR (${dir}) holds no database`]);
  requireOwnDirectory(dir);
  const lock = lockDirectory(dir);
  try {
    return await rotateIn(dir, config.secretKeys);
  } finally {
    lock.release();
  }
}

async function rotateIn(dir: string, given: SecretKeys | null): Promise<Rotation> {
  const keys = given ?? directoryKeys(dir, false).keys;
  const disk = openDatabase(dir);
  const store = openStore(disk);
  let isKeyMade = false;
  const makeKey = () => {
    if (given !== null) return null;
    isKeyMade = true;
    return addDirectoryKey(dir);
  };
  try {
    const sealing = sealingOf(store, keys, makeKey);
    let encrypted = 0;
    while (sealing.isDue) encrypted += await sealing.step();
    const keyFile = given === null ? secretKeyPath(dir) : null;
    return { encrypted, left: sealing.left, keyFile, isKeyMade };
  } catch (error) {
    // The disk is full: what was encrypted stays so.
    throw error instanceof Problem ? new DatabaseError(error.detail) : error;
  } finally {
    await store.close();
    disk.close();
  }
}

/** By today's keys where a rotation was interrupted, else by a new first one. */
function sealingOf(store: Store, keys: SecretKeys, makeKey: () => SecretKeys | null): Sealing {
  const sealing = new Sealing(store, new Cipher(keys));
  if (sealing.isDue) return sealing;
  const all = makeKey();
  if (all !== null) return new Sealing(store, new Cipher(all));
  throw new SettingsError([
    "Every secret is encrypted by the first key of SEALPOST_SECRET_KEY already: put a new one before it, for example SEALPOST_SECRET_KEY=$(openssl rand -base64 32),$SEALPOST_SECRET_KEY",
  ]);
}

function openStore({ sqlite, sync }: ReturnType<typeof openDatabase>): Store {
  const fail = (error: Error) => {
    throw error;
  };
  return new Store(sqlite, {
    ...turnParts,
    now: Date.now,
    sync,
    later: (ms, run) => setTimeout(run, ms),
    fail,
    report: (_, error) => fail(error instanceof Error ? error : new Error(String(error))),
  });
}
