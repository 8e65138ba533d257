import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes a small file aside, syncs and renames it: a power cut leaves a whole one, or the last. */
export function writeDurably(path: string, text: string): void {
  const aside = `${path}.new`;
  writeFileSync(aside, text, { mode: 0o600 });
  syncToDisk(aside);
  renameSync(aside, path);
  syncToDisk(dirname(path));
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
