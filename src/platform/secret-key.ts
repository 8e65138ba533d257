import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeDurably } from "./durable-file.ts";
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
  if (made) orExplain(`The key ${path} cannot be written`, () => makeKey(path));
  const text = orExplain(`The key ${path} cannot be read`, () => readFileSync(path, "utf8"));
  const key = Buffer.from(text.trim(), "base64");
  if (key.length !== KEY_BYTES) throw new StartError(`${path} does not hold ${KEY_BYTES} bytes in base64.`);
  return { key, made, path };
}

/** A power cut must leave no database whose secrets nobody can read any more. */
function makeKey(path: string): void {
  writeDurably(path, `${randomBytes(KEY_BYTES).toString("base64")}\n`);
}
