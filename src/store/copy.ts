import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Cipher } from "../core/cipher.ts";
import { keyTime } from "../core/ids.ts";
import { DatabaseError } from "./database.ts";
import { isDamage } from "./disk-error.ts";
import { readIdentity } from "./identity.ts";
import { SCHEMA_VERSION } from "./migrations.ts";
import { SEALED_TABLES, sealedPlace, type SealedRow } from "./resources/sealing.ts";
import { firstKeyAfter, lastKey } from "./store-keys.ts";

/** What is counted in a copy, as people ask for it. */
const COUNTED = ["account", "endpoint", "source", "event", "delivery", "attempt"] as const;
/** Faults of a file that are told. */
const FAULTS_MAX = 5;

/** A database that was restored, as it was found to be. */
export interface Copy {
  bytes: number;
  /** The version of its schema. */
  schema: number;
  /** Which database it is; null where it is older than that. */
  installation: string | null;
  /** How many starts it has seen. */
  start: number;
  newestKey: number;
  rows: Record<(typeof COUNTED)[number], number>;
  /** Stored secrets and credentials; null where there was no key to open them by. */
  secrets: number | null;
  /** One sentence for each thing that makes it worthless, or less than it should be. */
  problems: string[];
}

/**
 * Looks through a restored database, all of it. `cipher`: null where there is no key to try. Throws
 * DatabaseError where so much is damaged that nothing can be said of it.
 */
export function examine(path: string, cipher: Cipher | null): Copy {
  const sqlite = new Database(path, { readonly: true });
  try {
    const problems = faultsOf(sqlite);
    const schema = sqlite.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
    if (schema > SCHEMA_VERSION)
      problems.push(
        `It has schema ${schema}, and this version knows ${SCHEMA_VERSION}: a newer one wrote it.`,
      );
    const count = (table: string) =>
      sqlite.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${table}`).get()?.rows ?? 0;
    const { installation, start } = readIdentity(dirname(path));
    return {
      bytes: statSync(path).size,
      schema,
      installation,
      start,
      newestKey: lastKey(sqlite),
      rows: Object.fromEntries(COUNTED.map((table) => [table, count(table)])) as Copy["rows"],
      secrets: cipher === null ? null : openSecrets(sqlite, cipher, problems),
      problems,
    };
  } catch (error) {
    throw isDamage(error) ? new DatabaseError(`The copy is damaged: ${messageOf(error)}`) : error;
  } finally {
    sqlite.close();
  }
}

function faultsOf(sqlite: Database): string[] {
  const rows = sqlite.query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${FAULTS_MAX})`).all();
  const faults = rows.map((row) => row.integrity_check).filter((verdict) => verdict !== "ok");
  const strays = sqlite.query<{ table: string; parent: string }, []>("PRAGMA foreign_key_check").all();
  return [
    ...faults.map((fault) => `It is damaged: ${fault}.`),
    ...strays.slice(0, FAULTS_MAX).map(({ table, parent }) => `A row of ${table} lacks its ${parent}.`),
  ];
}

/** Opens each; answers how many there are. What does not open is told once for a table. */
function openSecrets(sqlite: Database, cipher: Cipher, problems: string[]): number {
  let count = 0;
  for (const table of SEALED_TABLES) {
    let fault: unknown = null;
    for (const { id, sealed } of sqlite.query<SealedRow, []>(`SELECT id, sealed FROM ${table}`).iterate()) {
      count++;
      try {
        cipher.open(sealed, sealedPlace(table, id));
      } catch (error) {
        fault ??= error;
      }
    }
    if (fault !== null) problems.push(`Secrets of ${table} rows do not open: ${messageOf(fault)}.`);
  }
  return count;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a copy lacks of the database that is here. */
export interface Lag {
  /** Since the oldest row that it lacks was made, at the instant at which it was begun; 0: it lacks none. */
  seconds: number;
  problems: string[];
}

/** Holds a copy that was begun at `began` (Unix milliseconds) against the database of a data directory. */
export function compare(copy: Copy, dir: string, path: string, began: number): Lag {
  const here = readIdentity(dir);
  const problems: string[] = [];
  if (here.installation !== null && copy.installation !== here.installation)
    problems.push("It is a copy of another database than the one in SEALPOST_DATA_DIR.");
  else if (copy.start > here.start)
    problems.push("It was written to after the database in SEALPOST_DATA_DIR was: that one is out of date.");
  const sqlite = new Database(path, { readonly: true });
  try {
    const missing = firstKeyAfter(sqlite, copy.newestKey);
    const seconds = missing === null ? 0 : Math.max(0, began - keyTime(missing)) / 1000;
    return { seconds, problems };
  } finally {
    sqlite.close();
  }
}
