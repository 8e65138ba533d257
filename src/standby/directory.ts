import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeDurably } from "../platform/durable-file.ts";
import { GENERATION_FILE } from "../replica/generations.ts";
import { VERDICT_FILE } from "../replica/verdict.ts";
import { copiedTo, placeOf, writerOf } from "../replica/writer.ts";
import {
  DATABASE_FILE,
  DATABASE_PARTS,
  hasDatabase,
  lockDirectory,
  UPLOADS_FOLDER,
} from "../store/database.ts";
import { type Installation, readIdentity } from "../store/identity.ts";

const SUPERSEDED_FOLDER = "superseded";
const SUPERSEDED_KEPT = 2;

/** The data directory of one machine of a pair, and the database in it, if there is one. */
export class Directory {
  constructor(readonly path: string) {}

  /** Makes the directory this process's own. Throws DatabaseError where another process has it. */
  lock(): { release(): void } {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    return lockDirectory(this.path);
  }

  get writer(): string {
    return writerOf(this.path);
  }

  get place(): string | null {
    return placeOf(this.path);
  }

  /** What the database says of itself. */
  get identity(): Installation {
    return readIdentity(this.path);
  }

  get hasDatabase(): boolean {
    return hasDatabase(this.path);
  }

  /** The generation of the database; 0: it was made without a lease. Null: there is none. */
  get generation(): number | null {
    if (!this.hasDatabase) return null;
    const path = join(this.path, GENERATION_FILE);
    return existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
  }

  get copiedTo(): number {
    return copiedTo(this.path);
  }

  /**
   * To another path everything is uploaded anew: what Litestream remembers of the last one it would go on
   * with, and lacks what it has removed since.
   */
  forgetUploads(): void {
    rmSync(join(this.path, UPLOADS_FOLDER), { recursive: true, force: true });
  }

  /** The database is that of this generation from now on, also where the service is still to make it. */
  belongsTo(generation: number): void {
    writeDurably(join(this.path, GENERATION_FILE), String(generation));
  }

  /**
   * The database has a successor: it is kept aside, for whoever wants to look for what was lost, and so is
   * the one before. Answers where; null where there was none. After a kill the next call goes on.
   */
  supersede(): string | null {
    const { generation } = this;
    if (generation === null) return null;
    const home = join(this.path, SUPERSEDED_FOLDER);
    const aside = freeFolder(join(home, `generation-${generation}`));
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    for (const part of [VERDICT_FILE, ...DATABASE_PARTS]) {
      const path = join(this.path, part);
      if (existsSync(path)) renameSync(path, join(aside, part));
    }
    const names = readdirSync(home).map((name) => join(home, name));
    const byAge = names.toSorted((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
    for (const old of byAge.slice(SUPERSEDED_KEPT)) rmSync(old, { recursive: true });
    return aside;
  }
}

/** Without a whole database in it: one that was begun is gone on with. */
function freeFolder(path: string): string {
  for (let nth = 1; ; nth++) {
    const folder = nth === 1 ? path : `${path}-${nth}`;
    if (!existsSync(join(folder, DATABASE_FILE))) return folder;
  }
}
