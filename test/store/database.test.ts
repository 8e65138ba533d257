import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync, closeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getTableColumns, getTableName } from "drizzle-orm";
import { DatabaseError, lockDirectory, openDatabase } from "../../src/store/database.ts";
import * as schema from "../../src/store/schema.ts";
import { openMemory } from "../kit/memory.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-db-"));
});

afterEach(() => rmSync(dir, { recursive: true }));

const file = () => join(dir, "sealpost.db");

function damage(at: number): Buffer {
  const disk = openDatabase(dir);
  for (let id = 0; id < 500; id++)
    disk.sqlite.run("INSERT INTO account VALUES (?, ?, 'free', 0)", [id, "x".repeat(200)]);
  disk.sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  disk.close();
  const handle = openSync(file(), "r+");
  writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, at);
  closeSync(handle);
  return readFileSync(file());
}

describe("the schema", () => {
  test("is the same in the migrations and for drizzle", () => {
    const sqlite = openMemory();
    for (const table of Object.values(schema)) {
      const columns = sqlite
        .query<{ name: string; notnull: number; pk: number }, []>(`PRAGMA table_info(${getTableName(table)})`)
        .all();
      const made = columns.map(({ name, notnull, pk }) => `${name} ${notnull || pk ? "not null" : "null"}`);
      const known = Object.values(getTableColumns(table)).map(
        ({ name, notNull, primary }) => `${name} ${notNull || primary ? "not null" : "null"}`,
      );
      expect(made.sort()).toEqual(known.sort());
    }
    sqlite.close();
  });

  test("of a newer program is refused and left as it is", () => {
    openDatabase(dir).close();
    const sqlite = new Database(file());
    sqlite.exec("PRAGMA user_version = 99");
    sqlite.close();
    expect(() => openDatabase(dir)).toThrow(/99.*newer Sealpost/);
    const after = new Database(file(), { readonly: true });
    expect(after.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version).toBe(99);
    after.close();
  });
});

describe("a damaged database", () => {
  for (const [where, at] of [
    ["in its header", 0],
    ["in its middle", 8192],
  ] as const) {
    test(`${where} is refused by its name and not touched`, () => {
      const before = damage(at);
      expect(() => openDatabase(dir)).toThrow(DatabaseError);
      expect(() => openDatabase(dir)).toThrow(file());
      expect(readFileSync(file()).equals(before)).toBe(true);
    });
  }
});

describe("the data directory", () => {
  test("is one process's at a time", () => {
    const lock = lockDirectory(dir);
    expect(() => lockDirectory(dir)).toThrow(dir);
    lock.release();
    lockDirectory(dir).release();
  });

  test("holds a database that nobody else reads", () => {
    openDatabase(dir).close();
    expect(statSync(file()).mode & 0o077).toBe(0);
  });
});
