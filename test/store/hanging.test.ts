import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { deliveriesOf, isAttemptOf, lastAttemptOf } from "../../src/store/hanging.ts";
import { migrate } from "../../src/store/migrations.ts";
import { openMemory } from "../kit/memory.ts";

const DRIZZLE = join(import.meta.dir, "../../drizzle");

interface Old {
  id: number;
  event: number;
  origin?: number;
  attempts?: number;
  due?: number;
}

/** As the program before migration 11 left it: each attempt has the key of its delivery × 10 and its number. */
const OLD: readonly Old[] = [
  { id: 101, event: 100, attempts: 1 },
  { id: 102, event: 100, attempts: 3, origin: 1 },
  { id: 103, event: 100, due: 7 },
  { id: 201, event: 200, attempts: 2 },
  // Replays of both, behind the last event.
  { id: 300, event: 100, attempts: 1, origin: 1 },
  { id: 301, event: 200, origin: 3, due: 5 },
];
const EVENTS = [100, 200, 250];

function fill(sqlite: Database): void {
  const event = sqlite.prepare(
    "INSERT INTO event (id, project_id, type, timestamp, delivery_count, data) VALUES (?, 1, 'a.b', 0, 0, '{}')",
  );
  for (const id of EVENTS) event.run(id);
  const delivery = sqlite.prepare(
    "INSERT INTO delivery (id, event_id, endpoint_id, project_id, status, attempt_count, origin, due) VALUES (?, ?, 9, 1, ?, ?, ?, ?)",
  );
  const attempt = sqlite.prepare(
    "INSERT INTO attempt (id, delivery_id, number, trigger, started_at, duration_ms, outcome) VALUES (?, ?, ?, 0, 0, 0, 1)",
  );
  for (const { id, event: of, origin = 0, attempts = 0, due = null } of OLD) {
    delivery.run(id, of, due === null ? 2 : 1, attempts, origin, due);
    for (let number = 1; number <= attempts; number++) attempt.run(10 * id + number, id, number);
  }
}

/** The database of a program that knew this many migrations. */
function openOlder(version: number): Database {
  const sqlite = new Database(":memory:");
  const files = readdirSync(DRIZZLE).sort().slice(0, version);
  for (const file of files) sqlite.exec(readFileSync(join(DRIZZLE, file), "utf8"));
  sqlite.exec(`PRAGMA user_version = ${version}`);
  return sqlite;
}

const keysOf = (sqlite: Database, sql: string) =>
  sqlite
    .query<{ id: number }, []>(sql)
    .all()
    .map(({ id }) => id);

test("what an older program wrote is found after the migration", () => {
  const sqlite = openOlder(10);
  fill(sqlite);
  migrate(sqlite);
  for (const event of EVENTS) {
    const expected = OLD.filter((row) => row.event === event).map((row) => row.id);
    expect(keysOf(sqlite, `${deliveriesOf(String(event), "id")} ORDER BY id`)).toEqual(expected);
    const newest = `${deliveriesOf(String(event), "id", "id > 101")} ORDER BY id DESC LIMIT 1`;
    expect(keysOf(sqlite, newest)).toEqual(expected.filter((id) => id > 101).slice(-1));
  }
  for (const { id, attempts = 0 } of OLD) {
    const expected = Array.from({ length: attempts }, (_, at) => 10 * id + at + 1);
    const sql = `SELECT id FROM attempt WHERE ${isAttemptOf(String(id))} ORDER BY id`;
    expect(keysOf(sqlite, sql)).toEqual(expected);
    expect(keysOf(sqlite, `SELECT ${lastAttemptOf(String(id))} AS id`)).toEqual([
      expected.at(-1) ?? null,
    ] as number[]);
  }
  // What waits for a retry is taken up by the next start.
  const held =
    "SELECT id FROM delivery WHERE due IS NOT NULL AND queue_order IS NULL AND fresh = 0 ORDER BY due";
  expect(keysOf(sqlite, held)).toEqual([301, 103]);
  sqlite.close();
});

test("what a replay of another event wrote behind an event is not its own, and its own are found far behind it", () => {
  const sqlite = openMemory();
  const second = 4096 * 1000;
  const insert = sqlite.prepare(
    "INSERT INTO delivery (id, event_id, endpoint_id, project_id, status, origin) VALUES (?, ?, 9, 1, 2, ?)",
  );
  insert.run(second + 1, second, 0);
  // Of another event, but in the place of this one's: read where the range holds it, and left out.
  insert.run(second + 2, 7, 1);
  insert.run(10 * second, second, 1);
  expect(keysOf(sqlite, `${deliveriesOf(String(second), "id")} ORDER BY id`)).toEqual([
    second + 1,
    10 * second,
  ]);
  sqlite.close();
});

test("none of it reads a table from end to end", () => {
  const sqlite = openMemory();
  const statements = [
    `${deliveriesOf("?1", "id", "status = 1")} ORDER BY id LIMIT 10`,
    `SELECT id FROM attempt WHERE ${isAttemptOf("?1")} ORDER BY id DESC`,
    `DELETE FROM attempt WHERE ${isAttemptOf("?1")}`,
    `SELECT attempt.id FROM (${deliveriesOf("?1", "id")}) d JOIN attempt ON ${isAttemptOf("d.id")}`,
    `SELECT ${lastAttemptOf("?1")}`,
  ];
  for (const sql of statements) {
    const plan = sqlite.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all();
    const scans = plan.filter(({ detail }) => /^SCAN (delivery|attempt|event)\b/.test(detail));
    expect([sql, scans]).toEqual([sql, []]);
  }
  sqlite.close();
});
