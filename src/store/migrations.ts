import type { Database } from "bun:sqlite";
import core from "../../drizzle/0001_core.sql" with { type: "text" };
import eventTypes from "../../drizzle/0002_event_types.sql" with { type: "text" };
import portal from "../../drizzle/0003_portal.sql" with { type: "text" };
import audit from "../../drizzle/0004_audit.sql" with { type: "text" };
import planPlaces from "../../drizzle/0005_plan_places.sql" with { type: "text" };
import retention from "../../drizzle/0006_retention.sql" with { type: "text" };
import sourceStats from "../../drizzle/0007_source_stats.sql" with { type: "text" };
import sourceLast from "../../drizzle/0008_source_last.sql" with { type: "text" };
import projectStats from "../../drizzle/0009_project_stats.sql" with { type: "text" };
import packedEntries from "../../drizzle/0010_packed_entries.sql" with { type: "text" };
import fewerIndexes from "../../drizzle/0011_fewer_indexes.sql" with { type: "text" };
import unwritten from "../../drizzle/0012_unwritten.sql" with { type: "text" };
import hops from "../../drizzle/0013_hops.sql" with { type: "text" };

/**
 * In order; the n-th brings `PRAGMA user_version` to n. Imported as text, so that the executable carries
 * them.
 */
const MIGRATIONS: readonly string[] = [
  core,
  eventTypes,
  portal,
  audit,
  planPlaces,
  retention,
  sourceStats,
  sourceLast,
  projectStats,
  packedEntries,
  fewerIndexes,
  unwritten,
  hops,
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
