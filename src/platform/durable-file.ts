import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * Writes a small file aside, with mode 0600, syncs and renames it: a power cut leaves a whole one, or the
 * last. Where a symbolic link stands, what it leads to is written.
 */
export function writeDurably(path: string, text: string): void {
  const target = existsSync(path) ? realpathSync(path) : path;
  const aside = `${target}.new`;
  // One that a crash has left may have another mode.
  rmSync(aside, { force: true });
  writeFileSync(aside, text, { mode: 0o600 });
  syncToDisk(aside);
  renameSync(aside, target);
  syncToDisk(dirname(target));
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
