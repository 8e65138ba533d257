import type { Database } from "bun:sqlite";
import initial from "../../drizzle/0001_initial.sql" with { type: "text" };
import parkedById from "../../drizzle/0002_parked_by_id.sql" with { type: "text" };
import auditConsumer from "../../drizzle/0003_audit_consumer.sql" with { type: "text" };
import owners from "../../drizzle/0004_owners.sql" with { type: "text" };
import failing from "../../drizzle/0005_failing.sql" with { type: "text" };
import awaitingByEvent from "../../drizzle/0006_awaiting_by_event.sql" with { type: "text" };
import replayedTo from "../../drizzle/0007_replayed_to_endpoint.sql" with { type: "text" };
import erasureAsked from "../../drizzle/0008_erasure_asked.sql" with { type: "text" };
import openedAt from "../../drizzle/0009_opened_at.sql" with { type: "text" };
import sourceDurability from "../../drizzle/0010_source_durability.sql" with { type: "text" };
import movedTo from "../../drizzle/0011_moved_to.sql" with { type: "text" };
import removalProject from "../../drizzle/0012_removal_project.sql" with { type: "text" };
import trace from "../../drizzle/0013_trace.sql" with { type: "text" };

/**
 * In order; the n-th brings `PRAGMA user_version` to n. Imported as text, so that the executable
 * carries them.
 */
const MIGRATIONS: readonly string[] = [
  initial,
  parkedById,
  auditConsumer,
  owners,
  failing,
  awaitingByEvent,
  replayedTo,
  erasureAsked,
  openedAt,
  sourceDurability,
  movedTo,
  removalProject,
  trace,
];

/** Of a database that this program has brought up to date. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The schema's version before and after a start. */
export interface Migrated {
  from: number;
  to: number;
}

/** The version of a database's schema; 0 where it has none yet. */
export function schemaOf(sqlite: Database): number {
  return sqlite.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

/**
 * Brings the schema up to date, each step in a transaction of its own. Throws where the file is newer than
 * this program.
 */
export function migrate(sqlite: Database, migrations: readonly string[] = MIGRATIONS): Migrated {
  const version = schemaOf(sqlite);
  if (version > migrations.length) {
    throw new Error(
      `its schema has version ${version}, and this program knows ${migrations.length}: start a newer Sealpost`,
    );
  }
  migrations.slice(version).forEach((sql, at) => {
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
  return { from: version, to: migrations.length };
}
