import { statSync } from "node:fs";
import { SettingsError } from "../platform/start-error.ts";

/**
 * Throws SettingsError where the data directory is another user's: its service could not use what is made.
 */
export function requireOwnDirectory(dir: string): void {
  const owner = statSync(dir).uid;
  if ((process.getuid?.() ?? owner) === owner) return;
  throw new SettingsError([
    `SEALPOST_DATA_DIR (${dir}) belongs to user ${owner}, who has to do this: the service cannot use another user's files`,
  ]);
}
