import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { Cipher } from "../core/cipher.ts";
import { directoryKeys, secretKeyPath } from "../platform/secret-key.ts";

/** By the keys that a service with these settings has; null where it would have none, or make one. */
export function cipherOf({ secretKeys, dataDir }: Config): Cipher | null {
  if (secretKeys !== null) return new Cipher(secretKeys);
  const dir = resolve(dataDir);
  return existsSync(secretKeyPath(dir)) ? new Cipher(directoryKeys(dir, false).keys) : null;
}
