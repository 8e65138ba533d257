import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How the last verification of the backup ended: `sealpost backup verify` leaves it for `/metrics`. */
export interface Verdict {
  isGood: boolean;
  /** When the last good one ended, in Unix seconds; null where none was. */
  goodAt: number | null;
  /** How long it took. */
  seconds: number;
  /** How far the copy was behind; null where that could not be told. */
  behindSeconds: number | null;
}

export const VERDICT_FILE = "backup-verified.json";

/** The last one of a data directory; null where there is none. */
export function readVerdict(dir: string): Verdict | null {
  try {
    return JSON.parse(readFileSync(join(dir, VERDICT_FILE), "utf8")) as Verdict;
  } catch {
    return null;
  }
}

/** Also where root verifies: the service reads it all the same. */
export function writeVerdict(dir: string, verdict: Verdict): void {
  const path = join(dir, VERDICT_FILE);
  writeFileSync(`${path}.new`, JSON.stringify(verdict));
  chmodSync(`${path}.new`, 0o644);
  renameSync(`${path}.new`, path);
}
