import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeDurably } from "../platform/durable-file.ts";
import { UPLOADS_FOLDER } from "../store/database.ts";

/** What tells one data directory from another, for whoever writes to a replica. */

const WRITER_FILE = "writer.id";

/**
 * Where the data directory is: at this start of this machine, under these numbers of its file system. A copy
 * has others. Null where the system does not tell.
 */
export function placeOf(dir: string): string | null {
  // Makes the file, where there is none.
  writerOf(dir);
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const numbers = [dir, join(dir, WRITER_FILE)]
      .map((path) => statSync(path))
      .map(({ dev, ino }) => `${dev}:${ino}`);
    return createHash("sha256")
      .update([boot, ...numbers].join(" "))
      .digest("hex");
  } catch {
    return null;
  }
}

/** Of the data directory: it is not in the replica, so a restored database is another writer. */
export function writerOf(dir: string): string {
  const path = join(dir, WRITER_FILE);
  if (!existsSync(path)) writeDurably(path, randomBytes(16).toString("hex"));
  return readFileSync(path, "utf8");
}

/** The last transaction that Litestream has copied here, as it does before it uploads; 0: there is none. */
export function copiedTo(dir: string): number {
  const folder = join(dir, UPLOADS_FOLDER, "ltx", "0");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const ends = names.map((name) => Number.parseInt(/-([\da-f]{16})\.ltx$/.exec(name)?.[1] ?? "0", 16));
  return ends.reduce((most, end) => Math.max(most, end), 0);
}
