import type { Database } from "bun:sqlite";
import { dirname, join } from "node:path";
import type { Cipher } from "../core/cipher.ts";
import { messageOf } from "../core/errors.ts";
import { keyTime } from "../core/ids.ts";
import { DATABASE_FILE, DatabaseError, readOnly } from "./database.ts";
import { isDamage, sizeOf } from "./disk-error.ts";
import { BEAT_MS, type Installation, readIdentity } from "./identity.ts";
import { SCHEMA_VERSION, schemaOf } from "./migrations.ts";
import { SEALED_TABLES, sealedPlace, type SealedRow } from "./resources/sealing.ts";
import { firstKeyAfter, lastKey } from "./store-keys.ts";

/** What is counted in a copy, as people ask for it. */
const COUNTED = ["account", "endpoint", "source", "event", "delivery", "attempt"] as const;
/** Faults of a file that are told. */
const FAULTS_MAX = 5;

/** A database that was restored, as it was found to be. */
export interface Copy extends Installation {
  bytes: number;
  /** The version of its schema. */
  schema: number;
  newestKey: number;
  rows: Record<(typeof COUNTED)[number], number>;
  /** Stored secrets and credentials; null where there was no key to open them by. */
  secrets: number | null;
  /** One sentence for each thing that makes it worthless, or less than it should be. */
  problems: string[];
}

/**
 * Looks through a restored database, all of it. `cipher`: null where there is no key to try. Throws
 * DatabaseError where nothing can be said of it, as a newer version wrote it, or so much is damaged.
 */
export function examine(path: string, cipher: Cipher | null): Copy {
  try {
    return readOnly(path, (sqlite) => {
      const problems = faultsOf(sqlite);
      const schema = schemaOf(sqlite);
      if (schema > SCHEMA_VERSION)
        throw new DatabaseError(
          `The copy has schema ${schema}, and this version knows ${SCHEMA_VERSION}: a newer one wrote it`,
        );
      const rows = Object.fromEntries(COUNTED.map((table) => [table, countOf(sqlite, table)]));
      return {
        ...readIdentity(dirname(path)),
        bytes: sizeOf(path),
        schema,
        newestKey: lastKey(sqlite),
        rows: rows as Copy["rows"],
        secrets: cipher === null ? null : openSecrets(sqlite, cipher, problems),
        problems,
      };
    });
  } catch (error) {
    throw isDamage(error) ? new DatabaseError(`The copy is damaged: ${messageOf(error)}`) : error;
  }
}

function countOf(sqlite: Database, table: string): number {
  return sqlite.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${table}`).get()?.rows ?? 0;
}

function faultsOf(sqlite: Database): string[] {
  const rows = sqlite.query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${FAULTS_MAX})`).all();
  const faults = rows.map((row) => row.integrity_check).filter((verdict) => verdict !== "ok");
  const strays = sqlite
    .query<{ table: string; parent: string }, [number]>("SELECT * FROM pragma_foreign_key_check LIMIT ?")
    .all(FAULTS_MAX);
  return [
    ...faults.map((fault) => `It is damaged: ${fault}.`),
    ...strays.map(({ table, parent }) => `A row of ${table} lacks its ${parent}.`),
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

/** How far the database of a data directory is, at an instant. */
export interface Standing extends Installation {
  newestKey: number;
}

export function readStanding(dir: string): Standing {
  return { ...readIdentity(dir), newestKey: readOnly(join(dir, DATABASE_FILE), lastKey) };
}

/** What a copy lacks of the database that is here. */
export interface Lag {
  /** 0: it lacks nothing. */
  seconds: number;
  problems: string[];
}

/**
 * Holds a copy against the database of a data directory, as that stood when the copy was begun (`began`, in
 * Unix milliseconds): by the age of the oldest row that the copy lacks, and by beats, as not every change
 * makes a row, and keys may be ahead of the clock.
 */
export function compare(copy: Copy, standing: Standing, dir: string, began: number): Lag {
  const beats = standing.beat - copy.beat;
  const problems: string[] = [];
  if (standing.installation !== null && copy.installation !== standing.installation)
    problems.push("It is a copy of another database than the one in SEALPOST_DATA_DIR.");
  else if (copy.start > standing.start)
    problems.push("It was written to after the database in SEALPOST_DATA_DIR was: that one is out of date.");
  const lacksRows = copy.newestKey < standing.newestKey;
  const path = join(dir, DATABASE_FILE);
  const missing = lacksRows ? readOnly(path, (sqlite) => firstKeyAfter(sqlite, copy.newestKey)) : null;
  const byRows = missing === null ? 0 : (began - keyTime(missing)) / 1000;
  return { seconds: Math.max(0, byRows, ((beats - 1) * BEAT_MS) / 1000), problems };
}
