/** Steps of the schema, over a real database. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { migrate } from "../../src/store/migrations.ts";

const steps = [
  "CREATE TABLE one (id INTEGER PRIMARY KEY); INSERT INTO one VALUES (1)",
  "ALTER TABLE one ADD COLUMN name TEXT; UPDATE one SET name = 'first'",
  "CREATE TABLE two (id INTEGER PRIMARY KEY)",
];

function openAt(version: number): Database {
  const sqlite = new Database(":memory:", { strict: true });
  migrate(sqlite, steps.slice(0, version));
  return sqlite;
}

const rowsOf = (sqlite: Database) => sqlite.query("SELECT * FROM one").values();

test("a database is brought up to date by the steps that it has not seen, each once", () => {
  const sqlite = openAt(1);
  expect(migrate(sqlite, steps)).toEqual({ from: 1, to: 3 });
  expect(rowsOf(sqlite)).toEqual([[1, "first"]]);
  expect(migrate(sqlite, steps)).toEqual({ from: 3, to: 3 });
  expect(rowsOf(sqlite)).toEqual([[1, "first"]]);
});

test("a step that fails is undone whole, and those before it stay", () => {
  const sqlite = openAt(1);
  const broken = [...steps.slice(0, 2), "DELETE FROM one; CREATE TABLE one (id INTEGER)"];
  expect(() => migrate(sqlite, broken)).toThrow("already exists");
  expect(rowsOf(sqlite)).toEqual([[1, "first"]]);
  expect(migrate(sqlite, steps)).toEqual({ from: 2, to: 3 });
});

test("a database of a newer program is refused by both versions", () => {
  const sqlite = openAt(3);
  expect(() => migrate(sqlite, steps.slice(0, 2))).toThrow(/version 3.*knows 2.*newer Sealpost/);
});
