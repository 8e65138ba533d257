import type { Database } from "bun:sqlite";
import initial from "../../drizzle/0001_initial.sql" with { type: "text" };
import fanoutLists from "../../drizzle/0002_fanout_lists.sql" with { type: "text" };
import deliveryChanged from "../../drizzle/0003_delivery_changed.sql" with { type: "text" };
import replayLists from "../../drizzle/0004_replay_lists.sql" with { type: "text" };
import attemptDeadReason from "../../drizzle/0005_attempt_dead_reason.sql" with { type: "text" };
import askedRetry from "../../drizzle/0006_asked_retry.sql" with { type: "text" };
import erasureRunning from "../../drizzle/0007_erasure_running.sql" with { type: "text" };

/**
 * In order; the n-th brings `PRAGMA user_version` to n. Imported as text, so that the executable
 * carries them.
 */
const MIGRATIONS: readonly string[] = [
  initial,
  fanoutLists,
  deliveryChanged,
  replayLists,
  attemptDeadReason,
  askedRetry,
  erasureRunning,
];

/** The schema's version before and after a start. */
export interface Migrated {
  from: number;
  to: number;
}

/**
 * Brings the schema up to date, each step in a transaction of its own. Throws where the file is newer than
 * this program.
 */
export function migrate(sqlite: Database): Migrated {
  const row = sqlite.query<{ user_version: number }, []>("PRAGMA user_version").get();
  const version = row?.user_version ?? 0;
  if (version > MIGRATIONS.length) {
    throw new Error(
      `its schema has version ${version}, and this program knows ${MIGRATIONS.length}: start a newer Sealpost`,
    );
  }
  MIGRATIONS.slice(version).forEach((sql, at) => {
    sqlite.exec("BEGIN IMMEDIATE");
    try {
      sqlite.exec(sql);
      sqlite.exec(`PRAGMA user_version = ${version + at + 1}`);
      sqlite.exec("COMMIT");
    } catch (error) {
      // SQLite has rolled back by itself where the disk was full.
      if (sqlite.inTransaction) sqlite.exec("ROLLBACK");
      throw error;
    }
  });
  return { from: version, to: MIGRATIONS.length };
}
