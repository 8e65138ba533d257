import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writerOf } from "../replica/replica.ts";
import { DATABASE_FILE, hasDatabase, lockDirectory } from "../store/database.ts";
import { readIdentity } from "../store/identity.ts";

const GENERATION_FILE = "generation";
const SUPERSEDED_FOLDER = "superseded";
/** What belongs to a database in its folder; itself last, as without it nothing is left to be put aside. */
const DATABASE_PARTS = [
  `.${DATABASE_FILE}-litestream`,
  `${DATABASE_FILE}-shm`,
  `${DATABASE_FILE}-wal`,
  DATABASE_FILE,
];

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

  /** Of the database; null where there is none. */
  get installation(): string | null {
    return readIdentity(this.path).installation;
  }

  get hasDatabase(): boolean {
    return hasDatabase(this.path);
  }

  /** The generation of the database; 0: it was made without a lease. Null: there is none. */
  get generation(): number | null {
    const path = join(this.path, GENERATION_FILE);
    if (existsSync(path)) return Number(readFileSync(path, "utf8"));
    return this.hasDatabase ? 0 : null;
  }

  /** The database is that of this generation from now on, also where the service is still to make it. */
  belongsTo(generation: number): void {
    writeFileSync(join(this.path, GENERATION_FILE), String(generation));
  }

  /**
   * The database has a successor: it is kept aside, for whoever wants to look for what was lost, in place of
   * the one that was kept before. Answers where; null where there was none.
   */
  supersede(): string | null {
    if (this.generation === null) return null;
    const aside = join(this.path, SUPERSEDED_FOLDER);
    rmSync(aside, { recursive: true, force: true });
    mkdirSync(aside, { mode: 0o700 });
    for (const part of DATABASE_PARTS) {
      const path = join(this.path, part);
      if (existsSync(path)) renameSync(path, join(aside, part));
    }
    rmSync(join(this.path, GENERATION_FILE), { force: true });
    return aside;
  }
}
