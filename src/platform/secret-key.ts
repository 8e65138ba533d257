import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SecretKeys } from "../core/cipher.ts";
import { writeDurably } from "./durable-file.ts";
import { orExplain, StartError } from "./start-error.ts";

const FILE = "secret.key";
const KEY_BYTES = 32;

/** Where the keys of a data directory lie. */
export function secretKeyPath(dir: string): string {
  return join(dir, FILE);
}

/**
 * The keys of a data directory whose operator set none: 32 bytes in base64, one key a line. The first start
 * makes one, with mode 0600; `made` is true then. Throws StartError where the file holds something else, or
 * is gone from a directory in use (`isNew` false).
 */
export function directoryKeys(
  dir: string,
  isNew: boolean,
): { keys: SecretKeys; made: boolean; path: string } {
  const path = secretKeyPath(dir);
  const made = !existsSync(path);
  if (made && !isNew) {
    throw new StartError(
      `${path} is gone, which opens the secrets of this database: put it back, or set SEALPOST_SECRET_KEY.`,
    );
  }
  if (made) orExplain(`The key ${path} cannot be written`, () => writeKeys(path, [newKey()]));
  const text = orExplain(`The key ${path} cannot be read`, () => readFileSync(path, "utf8"));
  const [first = "", ...others] = text.trim().split(/\s+/);
  const read = (line: string) => {
    const key = Buffer.from(line, "base64");
    if (key.length === KEY_BYTES) return key;
    throw new StartError(`${path} does not hold ${KEY_BYTES} bytes in base64, or several times that.`);
  };
  return { keys: [read(first), ...others.map(read)], made, path };
}

/** Puts a new key before those of a data directory, which it answers all. Throws StartError. */
export function addDirectoryKey(dir: string): SecretKeys {
  const { keys, path } = directoryKeys(dir, false);
  const all: SecretKeys = [newKey(), ...keys];
  orExplain(`The key ${path} cannot be written`, () => writeKeys(path, all));
  return all;
}

function newKey(): Uint8Array {
  return randomBytes(KEY_BYTES);
}

/** A power cut must leave no database whose secrets nobody can read any more. */
function writeKeys(path: string, keys: SecretKeys): void {
  writeDurably(path, keys.map((key) => `${Buffer.from(key).toString("base64")}\n`).join(""));
}
