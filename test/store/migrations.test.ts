/** Steps of the schema, over a real database. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import initial from "../../drizzle/0001_initial.sql" with { type: "text" };
import parkedById from "../../drizzle/0002_parked_by_id.sql" with { type: "text" };
import auditConsumer from "../../drizzle/0003_audit_consumer.sql" with { type: "text" };
import { Erasures } from "../../src/store/cleanup/erasures.ts";
import type { Replays } from "../../src/store/log/replays.ts";
import type { Store } from "../../src/store/store.ts";
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

test("what a version before parked for an endpoint that keeps order stands by its due time from now on", () => {
  const sqlite = new Database(":memory:", { strict: true });
  migrate(sqlite, [initial]);
  const endpoint = sqlite.prepare(
    `INSERT INTO endpoint (id, project_id, kind, config, signature_versions, timeout_seconds, max_concurrency, ordering,
       metadata, status, updated_at, sealed) VALUES (?, 1, ?, '{}', '[]', 1, 1, ?, '{}', 'active', 0, x'')`,
  );
  endpoint.run(1, "http", "none");
  endpoint.run(2, "http", "fifo");
  endpoint.run(3, "poll", "fifo");
  const delivery = sqlite.prepare(
    "INSERT INTO delivery (id, event_id, endpoint_id, project_id, status, due, queue_order) VALUES (?, 9, ?, 1, 0, ?, ?)",
  );
  delivery.run(11, 1, 500, 500);
  delivery.run(12, 2, 600, 12);
  // In its actor's memory.
  delivery.run(13, 2, 700, null);
  delivery.run(14, 3, 800, 99);
  migrate(sqlite);
  expect(sqlite.query("SELECT id, queue_order FROM delivery ORDER BY id").values()).toEqual([
    [11, 500],
    [12, 600],
    [13, null],
    [14, 99],
  ]);
});

test("an entry of the audit log from a version before names no consumer, and the next one may", () => {
  const sqlite = new Database(":memory:", { strict: true });
  migrate(sqlite, [initial, parkedById]);
  const entry = "'api_key', 1, 'endpoint.updated', 'endpoint', 'ep_1', '{}'";
  sqlite.run(`INSERT INTO audit VALUES (1, 7, ${entry})`);
  migrate(sqlite);
  sqlite.run(`INSERT INTO audit VALUES (2, 7, ${entry}, 'anna')`);
  expect(sqlite.query("SELECT id, consumer_id FROM audit ORDER BY id").values()).toEqual([
    [1, null],
    [2, "anna"],
  ]);
  const plan = sqlite.query(
    "EXPLAIN QUERY PLAN SELECT 1 FROM audit WHERE scope = 7 AND consumer_id = 'anna'",
  );
  expect(JSON.stringify(plan.values())).toContain("audit_consumer");
});

test("what a version before asked for is found by whose it is", () => {
  const sqlite = new Database(":memory:", { strict: true });
  migrate(sqlite, [initial, parkedById, auditConsumer]);
  const replay = sqlite.prepare(
    "INSERT INTO replay (id, project_id, consumer_id, filter, status, matched, position, last) VALUES (?, 7, ?, ?, 'completed', 0, 0, 0)",
  );
  replay.run(1, "anna", "{}");
  replay.run(2, null, '{"consumerId":"anna"}');
  sqlite.run("PRAGMA foreign_keys = OFF");
  sqlite.run(
    `INSERT INTO endpoint VALUES
     (5, 7, 'anna', 'http', '{}', NULL, NULL, NULL, NULL, '[]', NULL, 15, NULL, 10, 'none', '{}', 'active', NULL, 0, x'')`,
  );
  replay.run(3, null, '{"consumerId":null,"endpointId":5}');
  replay.run(4, "bert", '{"consumerId":"bert"}');
  migrate(sqlite);
  const store = { sqlite } as Store;
  const of = { projectId: 7, consumerId: "anna", last: 9 };
  expect(new Erasures(store, {} as Replays).replaysOf(of)).toEqual([1, 2, 3]);
});
