import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  attemptsOf,
  deliveriesOf,
  endOfSlice,
  isAttemptOf,
  isLastAttemptOf,
  KEY_MAX,
} from "../../../src/store/log/children.ts";
import { openMemory } from "../../kit/memory.ts";

interface Row {
  id: number;
  event: number;
  origin?: number;
  attempts?: number;
  due?: number;
}

/** Each attempt has the key of its delivery × 10 and its number. */
const ROWS: readonly Row[] = [
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
    "INSERT INTO delivery (id, event_id, endpoint_id, project_id, status, attempt_count, origin, due, first_attempt) VALUES (?, ?, 9, 1, ?, ?, ?, ?, ?)",
  );
  const attempt = sqlite.prepare(
    "INSERT INTO attempt (id, delivery_id, number, trigger, started_at, duration_ms, outcome) VALUES (?, ?, ?, 0, 0, 0, 1)",
  );
  for (const { id, event: of, origin = 0, attempts = 0, due = null } of ROWS) {
    delivery.run(id, of, due === null ? 2 : 1, attempts, origin, due, attempts > 0 ? 10 * id + 1 : null);
    for (let number = 1; number <= attempts; number++) attempt.run(10 * id + number, id, number);
  }
}

const keysOf = (sqlite: Database, sql: string) =>
  sqlite
    .query<{ id: number }, []>(sql)
    .all()
    .map(({ id }) => id);

test("what belongs to an event or a delivery is found without an index on it", () => {
  const sqlite = openMemory();
  fill(sqlite);
  for (const event of EVENTS) {
    const expected = ROWS.filter((row) => row.event === event).map((row) => row.id);
    expect(keysOf(sqlite, `${deliveriesOf(String(event), "id")} ORDER BY id`)).toEqual(expected);
    const newest = `${deliveriesOf(String(event), "id", { above: "101" })} ORDER BY id DESC LIMIT 1`;
    expect(keysOf(sqlite, newest)).toEqual(expected.filter((id) => id > 101).slice(-1));
  }
  for (const { id, attempts = 0 } of ROWS) {
    const expected = Array.from({ length: attempts }, (_, at) => 10 * id + at + 1);
    const sql = `SELECT id FROM attempt WHERE ${isAttemptOf(String(id))} ORDER BY id`;
    expect(keysOf(sqlite, sql)).toEqual(expected);
    expect(keysOf(sqlite, `${attemptsOf(String(id), "id")} ORDER BY id`)).toEqual(expected);
    const between = { above: String(10 * id + 1), below: String(10 * id + 3) };
    expect(keysOf(sqlite, attemptsOf(String(id), "id", between))).toEqual(expected.slice(1, 2));
    const newest = `${attemptsOf(String(id), "id")} ORDER BY id DESC LIMIT 2`;
    expect(keysOf(sqlite, newest)).toEqual(expected.slice(-2).toReversed());
    const last = `SELECT id FROM attempt WHERE ${isLastAttemptOf(String(id))}`;
    expect(keysOf(sqlite, last)).toEqual(expected.slice(-1));
  }
  // What waits for a retry is taken up by the next start.
  const held = "SELECT id FROM delivery WHERE due IS NOT NULL AND queue_order IS NULL ORDER BY due";
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

test("an attempt that has the key of one that has left is not taken for it", () => {
  const sqlite = openMemory();
  const delivery = sqlite.prepare(
    "INSERT INTO delivery (id, event_id, endpoint_id, project_id, status, first_attempt) VALUES (?, ?, 9, 1, 2, ?)",
  );
  delivery.run(2, 1, 50);
  delivery.run(5, 4, 50);
  sqlite.exec(
    `INSERT INTO attempt (id, delivery_id, number, trigger, started_at, duration_ms, outcome) VALUES (50, 5, 1, 0, 0, 0, 1)`,
  );
  for (const [id, expected] of [
    ["2", []],
    ["5", [50]],
  ] as const) {
    expect(keysOf(sqlite, `SELECT id FROM attempt WHERE ${isAttemptOf(id)}`)).toEqual([...expected]);
    expect(keysOf(sqlite, attemptsOf(id, "id"))).toEqual([...expected]);
    expect(keysOf(sqlite, `SELECT id FROM attempt WHERE ${isLastAttemptOf(id, "50")}`)).toEqual([
      ...expected,
    ]);
  }
  sqlite.close();
});

test("deliveries of an event that has left the log, and that they follow in slices, are not passed by", () => {
  const sqlite = openMemory();
  fill(sqlite);
  sqlite.exec("DELETE FROM event WHERE id = 200");
  const insert = sqlite.prepare(
    "INSERT INTO delivery (id, event_id, endpoint_id, project_id, status) VALUES (?, 200, 9, 1, 2)",
  );
  for (let id = 202; id < 250; id++) insert.run(id);
  // As it counts all rows that stand between, the end of a slice tells how far they are read.
  const end = () => sqlite.query<{ key: number }, []>(endOfSlice("up", "100", "100", "5")).get()?.key ?? 0;
  expect(end()).toBe(203);
  sqlite.exec("INSERT INTO removal (event_id) VALUES (200)");
  expect(end()).toBe(KEY_MAX);
  expect(keysOf(sqlite, `${deliveriesOf("100", "id")} ORDER BY id`)).toEqual([101, 102, 103, 300]);
  sqlite.close();
});
