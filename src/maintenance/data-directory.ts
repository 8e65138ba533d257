import { mkdirSync } from "node:fs";
import type { SecretKeys } from "../core/cipher.ts";
import type { Logger } from "../platform/log.ts";
import { directoryKeys } from "../platform/secret-key.ts";
import { orExplain } from "../platform/start-error.ts";
import type { Replica } from "../replica/replica.ts";
import { hasDatabase, lockDirectory } from "../store/database.ts";
import { readIdentity } from "../store/identity.ts";

interface DirectoryParts {
  /** Null where there is none. */
  replica: Pick<Replica, "hold" | "claim"> | null;
  logger: Logger;
  monotonic: () => number;
}

/** Makes the data directory this process's own, and its replica too. Throws StartError. */
export async function takeDirectory(
  dir: string,
  { replica, logger, monotonic }: DirectoryParts,
): Promise<{ release(): void }> {
  const makeDir = () => mkdirSync(dir, { recursive: true, mode: 0o700 });
  orExplain("SEALPOST_DATA_DIR must be a directory that this process may write", makeDir);
  await replica?.hold();
  const lock = lockDirectory(dir);
  await replica?.claim(readIdentity(dir), { log: logger.log, monotonic });
  return lock;
}

/** The keys of a directory whose operator set none: one is made where the directory is new. */
export function ownKeys(dir: string, { replica, logger }: Omit<DirectoryParts, "monotonic">): SecretKeys {
  // The machine that is lost takes its key with it.
  if (replica) logger.log("warn", NOT_REPLICATED);
  const { keys, made, path } = directoryKeys(dir, !hasDatabase(dir));
  if (made) logger.log("warn", MADE, { file: path });
  return keys;
}

const NOT_REPLICATED =
  "SEALPOST_SECRET_KEY is not set, and the replica does not hold the key: keep a copy of secret.key elsewhere, or what is restored does not start.";
const MADE =
  "SEALPOST_SECRET_KEY is not set: a key was made that encrypts secrets. Back this file up with the database.";
