import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getTableName } from "drizzle-orm";
import { getTableConfig, SQLiteSyncDialect, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { DatabaseError, lockDirectory, openDatabase } from "../../src/store/database.ts";
import * as logSchema from "../../src/store/log-schema.ts";
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
    disk.sqlite.run("INSERT INTO account VALUES (?, ?, 'free', 0, 0, NULL)", [id, "x".repeat(200)]);
  disk.sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  disk.close();
  const handle = openSync(file(), "r+");
  writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, at);
  closeSync(handle);
  return readFileSync(file());
}

/** Name, type, null or not, place in the primary key, and default of each column. */
type Column = [name: string, type: string, isNeeded: boolean, inKey: number, standard: string | null];

function columnsMade(sqlite: Database, table: SQLiteTable): Column[] {
  return sqlite
    .query<{ name: string; type: string; notnull: number; pk: number; dflt_value: string | null }, []>(
      `PRAGMA table_info(${getTableName(table)})`,
    )
    .all()
    .map(
      ({ name, type, notnull, pk, dflt_value }): Column => [
        name,
        type,
        notnull === 1 || pk > 0,
        pk,
        dflt_value,
      ],
    )
    .toSorted(byName);
}

function columnsFor(table: SQLiteTable): Column[] {
  const { columns, primaryKeys } = getTableConfig(table);
  const together = primaryKeys.flatMap((key) => key.columns.map(({ name }) => name));
  return columns
    .map(
      (column): Column => [
        column.name,
        column.getSQLType().toUpperCase(),
        column.notNull || column.primary,
        column.primary ? 1 : together.indexOf(column.name) + 1,
        column.default === undefined ? null : literalOf(column.mapToDriverValue(column.default)),
      ],
    )
    .toSorted(byName);
}

function literalOf(value: unknown): string {
  return typeof value === "string" ? `'${value}'` : String(value);
}

function byName([one]: Column, [other]: Column): number {
  return one < other ? -1 : 1;
}

function indexesMade(sqlite: Database, table: SQLiteTable): string[] {
  const name = getTableName(table);
  const indexes = sqlite
    .query<{ sql: string }, [string]>(
      "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql <> ''",
    )
    .all(name)
    .map(({ sql }) => sql);
  const unique = sqlite
    .query<{ name: string; origin: string }, []>(`PRAGMA index_list(${name})`)
    .all()
    .filter(({ origin }) => origin === "u")
    .flatMap((index) => sqlite.query<{ name: string }, []>(`PRAGMA index_info(${index.name})`).all())
    .map((column) => `unique ${column.name}`);
  const keys = sqlite
    .query<{ table: string; from: string; to: string }, []>(`PRAGMA foreign_key_list(${name})`)
    .all()
    .map((key) => `${key.from} of ${key.table} ${key.to}`);
  return [...indexes, ...unique, ...keys].toSorted();
}

function indexesFor(table: SQLiteTable): string[] {
  const { name, columns, indexes, foreignKeys } = getTableConfig(table);
  const dialect = new SQLiteSyncDialect();
  const made = indexes.map(({ config }) => {
    const on = config.columns
      .map((column) => ("name" in column ? column.name : dialect.sqlToQuery(column).sql))
      .join(", ");
    const where = config.where ? ` WHERE ${dialect.sqlToQuery(config.where).sql}` : "";
    return `CREATE ${config.unique ? "UNIQUE " : ""}INDEX ${config.name} ON ${name} (${on})${where}`;
  });
  const unique = columns.filter(({ isUnique }) => isUnique).map((column) => `unique ${column.name}`);
  const keys = foreignKeys.map((key) => {
    const { columns: from, foreignColumns: to, foreignTable } = key.reference();
    return `${from[0]?.name} of ${getTableName(foreignTable)} ${to[0]?.name}`;
  });
  return [...made, ...unique, ...keys].toSorted();
}

describe("the schema", () => {
  const migrated = openMemory();
  const tables = [...Object.values(schema), ...Object.values(logSchema)];

  test("for drizzle has every table that the migrations make", () => {
    const made = migrated
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all();
    expect(tables.map((table): string => getTableName(table)).sort()).toEqual(
      made.map(({ name }) => name).sort(),
    );
  });

  test.each(tables.map((table) => [getTableName(table), table] as const))(
    "%s is the same in the migrations and for drizzle",
    (_name, table) => expect(columnsFor(table)).toEqual(columnsMade(migrated, table)),
  );

  test.each(tables.map((table) => [getTableName(table), table] as const))(
    "%s has the same keys and indexes in the migrations and for drizzle",
    (_name, table) => expect(indexesFor(table)).toEqual(indexesMade(migrated, table)),
  );

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

test("what a process that was killed left in a long WAL stays there, as Litestream may not have copied it", () => {
  const killed = join(dir, "killed");
  mkdirSync(killed);
  const disk = openDatabase(dir);
  disk.sqlite.exec("CREATE TABLE t (text TEXT NOT NULL)");
  for (let n = 0; n < 3000; n++) disk.sqlite.run("INSERT INTO t VALUES (?)", ["x".repeat(4000)]);
  for (const name of ["sealpost.db", "sealpost.db-wal"]) copyFileSync(join(dir, name), join(killed, name));
  disk.close();

  const begin = () => readFileSync(join(killed, "sealpost.db-wal")).subarray(0, 32);
  const before = [statSync(join(killed, "sealpost.db")).size, begin()];
  const again = openDatabase(killed);
  again.sqlite.run("INSERT INTO t VALUES ('')");
  const after = [statSync(join(killed, "sealpost.db")).size, begin()];
  const vacuum = again.sqlite.query<{ auto_vacuum: number }, []>("PRAGMA auto_vacuum").get()?.auto_vacuum;
  again.close();
  expect(after).toEqual(before);
  expect(vacuum).toBe(2);
});
