import { Database } from "bun:sqlite";
import { migrate } from "../../src/store/migrations.ts";

/** The service's schema in memory. */
export function openMemory(): Database {
  const sqlite = new Database(":memory:", { strict: true });
  sqlite.exec("PRAGMA foreign_keys = ON");
  migrate(sqlite);
  return sqlite;
}
