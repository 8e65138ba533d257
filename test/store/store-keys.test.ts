import type { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Disk, openDatabase } from "../../src/store/database.ts";
import { Erasures } from "../../src/store/cleanup/erasures.ts";
import type { Replays } from "../../src/store/log/replays.ts";
import { Store } from "../../src/store/store.ts";
import { storeParts } from "../kit/store-parts.ts";

let dir: string;
let disk: Disk;
let sqlite: Database;

const openStore = () => new Store(sqlite, storeParts({ now: () => Date.UTC(2026, 10, 21) }));

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-keys-"));
  disk = openDatabase(dir);
  sqlite = disk.sqlite;
});

afterEach(() => {
  disk.close();
  rmSync(dir, { recursive: true });
});

/** A row with this key and nothing else of use. */
function putKey(table: string, id: number): void {
  const columns = sqlite
    .query<{ name: string; type: string }, []>(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name, type }) => [name, name === "id" ? id : type === "INTEGER" ? 0 : "{}"] as const);
  sqlite.exec("PRAGMA foreign_keys = OFF");
  sqlite.run(
    `INSERT INTO ${table} (${columns.map(([name]) => name).join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    columns.map(([, value]) => value),
  );
}

test.each([
  "account",
  "project",
  "api_key",
  "endpoint",
  "source",
  "event_type",
  "event",
  "delivery",
  "head",
  "attempt",
  "note",
  "label",
  "replay",
  "audit",
  "portal_link",
  "erasure",
])("a write takes no key that a row of %s has, wherever the clock stands after a restart", (table) => {
  const newest = openStore().takeKey() + 1_000_000;
  putKey(table, newest);
  expect(openStore().keys.last).toBe(newest);
});

test("the store knows every table of the schema that has keys", () => {
  sqlite.exec("CREATE TABLE of_a_later_migration (id INTEGER PRIMARY KEY)");
  putKey("of_a_later_migration", 2 ** 52);
  expect(openStore().keys.last).toBe(2 ** 52);
});

test("what comes after an erasure that was asked for again is above all that this one takes, after a restart", () => {
  const store = openStore();
  const erasures = new Erasures(store, { update: () => null } as unknown as Replays);
  for (const consumerId of ["ada", "bert"]) erasures.begin({ projectId: 1, consumerId });
  const { last } = erasures.begin({ projectId: 1, consumerId: "bert" });
  expect(openStore().takeKey()).toBeGreaterThan(last);
});
