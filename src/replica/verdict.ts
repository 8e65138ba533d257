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

const FILE = "backup-verified.json";

/** The last one of a data directory; null where there is none. */
export function readVerdict(dir: string): Verdict | null {
  try {
    return JSON.parse(readFileSync(join(dir, FILE), "utf8")) as Verdict;
  } catch {
    return null;
  }
}

/** The service may be another user than whoever verifies. */
export function writeVerdict(dir: string, verdict: Verdict): void {
  const path = join(dir, FILE);
  writeFileSync(`${path}.new`, JSON.stringify(verdict));
  chmodSync(`${path}.new`, 0o644);
  renameSync(`${path}.new`, path);
}
