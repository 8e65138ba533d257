import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { orExplain, StartError } from "./start-error.ts";

const FILE = "secret.key";
const KEY_BYTES = 32;

/** Where the key of a data directory lies. */
export function secretKeyPath(dir: string): string {
  return join(dir, FILE);
}

/**
 * The key of a data directory whose operator set none: 32 bytes in base64, made at the first start with mode
 * 0600. `made` is true then. Throws StartError where the file holds something else, or is gone from a
 * directory in use (`isNew` false).
 */
export function directoryKey(dir: string, isNew: boolean): { key: Uint8Array; made: boolean; path: string } {
  const path = secretKeyPath(dir);
  const made = !existsSync(path);
  if (made && !isNew) {
    throw new StartError(
      `${path} is gone, which opens the secrets of this database: put it back, or set SEALPOST_SECRET_KEY.`,
    );
  }
  if (made) orExplain(`The key ${path} cannot be written`, () => makeKey(dir, path));
  const text = orExplain(`The key ${path} cannot be read`, () => readFileSync(path, "utf8"));
  const key = Buffer.from(text.trim(), "base64");
  if (key.length !== KEY_BYTES) throw new StartError(`${path} does not hold ${KEY_BYTES} bytes in base64.`);
  return { key, made, path };
}

/**
 * Written aside, synced and renamed: a crash leaves a whole key or none, and a power cut no database whose
 * secrets nobody can read any more.
 */
function makeKey(dir: string, path: string): void {
  const aside = `${path}.new`;
  writeFileSync(aside, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { mode: 0o600 });
  syncToDisk(aside);
  renameSync(aside, path);
  syncToDisk(dir);
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
