/** What SQLite does for each statement of the store: none passes by rows that grow without bound. */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { Cipher } from "../../src/core/cipher.ts";
import { openData } from "../../src/store/data.ts";
import { DeliveryList } from "../../src/store/log/delivery-list.ts";
import { EventList } from "../../src/store/log/event-list.ts";
import { migrate } from "../../src/store/migrations.ts";
import { storeParts } from "../kit/store-parts.ts";

/** Remembers what is prepared over it. */
class Watched extends Database {
  readonly statements = new Set<string>();

  override prepare(sql: string): never {
    this.statements.add(sql);
    return super.prepare(sql) as never;
  }

  override query(sql: string): never {
    this.statements.add(sql);
    return super.query(sql) as never;
  }
}

const sqlite = new Watched(":memory:", { strict: true });
const plain: Database = sqlite;
migrate(sqlite);
const data = openData(sqlite, storeParts({}), { cipher: new Cipher([new Uint8Array(32)]), cell: "00" });
const lists = [new EventList(data), new DeliveryList(data)];
// What drizzle asks is made when it is asked.
data.replays.list(1, null, 9, 9);
data.replays.list(1, "ada", 9, 9);
data.replays.get(1);
data.replays.listOf(1);
data.endpoints.getAnyway(1);
data.endpoints.keysOf(1, "ada");
data.endpoints.countOf(1, "ada");
const read = [...sqlite.statements].filter((sql) => /^\s*(SELECT|UPDATE|DELETE)/i.test(sql));

afterAll(() => sqlite.close());

const planOf = (sql: string) =>
  plain
    .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => detail);

/** Statements of which a step does this, each in one line. */
const thatDo = (isStep: (step: string, sql: string) => boolean) =>
  read.filter((sql) => planOf(sql).some((step) => isStep(step, sql))).map((sql) => sql.replace(/\s+/g, " "));

test("all that the store asks is looked at", () => {
  expect([lists.length, read.length > 180]).toEqual([2, true]);
});

/** What may be long, by its name or the letter that it goes by. */
const LONG =
  /^SCAN (delivery|attempt|event|entry|note|endpoint|source|replay|erasure|audit|portal_link|idempotency|dedup|label|stat|project_stat|source_stat|usage|head|d|a|e|n)\b/;
/** They hold what runs, which is bounded. */
const RUNNING = /INDEX (replay_running|erasure_next)$/;
/** Once, at the start: what is read into memory, and what is to be sealed anew. */
const AT_START = [
  /^SELECT id, project_id FROM endpoint WHERE status = 'deleted' AND EXISTS/,
  /^select .* from "source" where status <> 'deleted' order by/,
  /^select .* from "endpoint" where \("endpoint"\."id" > \? and "endpoint"\."status" <> \?\) order by/,
  /^SELECT count\(\*\) AS rows FROM (endpoint|source) WHERE substr\(sealed/,
];

test("no statement reads a long table from end to end", () => {
  const scanning = thatDo((step) => LONG.test(step) && !RUNNING.test(step));
  expect(scanning.filter((sql) => !AT_START.some((known) => known.test(sql)))).toEqual([]);
});

test("no statement sorts what an index has in order, but for the attempts of one page of deliveries", () => {
  const sorting = thatDo((step) => step.includes("TEMP B-TREE"));
  expect(sorting.filter((sql) => !/^SELECT attempt\.id\b.*\battempt\b/.test(sql))).toEqual([]);
});

test("no statement reads all attempts of a delivery, but where all are wanted or the first is enough", () => {
  const whole = thatDo((step) => step.startsWith("MULTI-INDEX OR"));
  const known = [
    /^SELECT attempt\.id\b.* JOIN attempt .* LIMIT/,
    /^SELECT 1 AS found .* JOIN attempt .* LIMIT 1$/,
    /^UPDATE attempt SET request_body = NULL/,
    /^DELETE FROM attempt/,
    /^SELECT total\(.*\) AS bytes FROM attempt/,
  ];
  expect(whole.filter((sql) => !known.some((one) => one.test(sql)))).toEqual([]);
});

test("no statement passes by an event's deliveries to other endpoints than it asks for", () => {
  const passing = thatDo(
    (step, sql) =>
      /^SEARCH (d|delivery) USING (INTEGER PRIMARY KEY \(rowid[<>]|INDEX delivery_replayed )/.test(step) &&
      /endpoint_id (=|IN)/.test(sql),
  );
  expect(passing).toEqual([]);
});

/** Tables whose rows have an owner, and that keep what is over: nobody passes by another's, or by those. */
const OWNED = ["endpoint", "source", "replay", "erasure", "audit", "portal_link"];

interface Search {
  sql: string;
  table: string;
  index: string;
  /** What it is looked up by: `project_id=?`. */
  terms: string;
}

const searches = read.flatMap((sql) =>
  planOf(sql).flatMap((step): Search[] => {
    const [, table = "", index = "", terms = ""] =
      /^SEARCH (\w+) USING (?:COVERING )?(?:INDEX )?(.+?) \((.*)\)$/.exec(step) ?? [];
    return OWNED.includes(table) ? [{ sql: sql.replace(/\s+/g, " "), table, index, terms }] : [];
  }),
);

/** By a key that only one row has. */
const isOfOne = ({ terms }: Search) => /^(rowid|hash)=\?/.test(terms);

test("what has an owner is looked up by its owner, or by its key", () => {
  const foreign = searches.filter((search) => !/^(project_id|scope|rowid|hash)[=<>]/.test(search.terms));
  expect(foreign).toEqual([]);
});

/** Columns of the table that the conditions name on each place where it is read. */
function conditionsOn(sql: string, table: string): string[][] {
  const columns = plain.query<{ name: string }, []>(`PRAGMA table_info(${table})`).all();
  const text = sql
    .replace(/\((\?\d+) \+ 0\)/g, "$1")
    .replaceAll('"', "")
    // What is changed is found by the key that the inner one gives.
    .replace(/^UPDATE \w+ SET .*? WHERE id IN\s+\(/, "");
  const place = new RegExp(
    `(?:FROM|UPDATE) ${table}\\b(?: INDEXED BY \\w+)?(?: SET .*?)? WHERE (.*?)(?= UNION | ORDER BY | LIMIT |\\)|$)`,
    "gi",
  );
  return [...text.matchAll(place)].map(([, where = ""]) =>
    columns.map(({ name }) => name).filter((name) => new RegExp(`\\b${name}\\b`).test(where)),
  );
}

/** What an index finds by these terms, and by being one of some rows only. */
function foundBy({ index, terms }: Search): string {
  const sql = plain
    .query<{ sql: string }, [string]>("SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?")
    .get(index)?.sql;
  const rest = / WHERE (.*)$/.exec(sql ?? "")?.[1] ?? "";
  return `${terms.replace("rowid", "id")} ${rest}`;
}

test("what has an owner is found by an index on all that is asked, and none of what is over is passed by", () => {
  const passing = searches.filter((search) => {
    if (isOfOne(search) || foundBy(search).endsWith(" status = 'running'")) return false;
    const others = searches.filter(({ sql, table }) => sql === search.sql && table === search.table);
    return conditionsOn(search.sql, search.table).some((columns) =>
      others.every((one) => columns.some((name) => !new RegExp(`\\b${name}\\b`).test(foundBy(one)))),
    );
  });
  // None runs that is older than the audit log.
  const known = [
    ...AT_START,
    /^DELETE FROM erasure /,
    /^DELETE FROM audit WHERE id IN \(SELECT id FROM audit WHERE scope = /,
  ];
  expect(passing.filter(({ sql }) => !known.some((one) => one.test(sql)))).toEqual([]);
});

test("what waits for the plan is found by its event, or by its endpoint, without what waits no longer", () => {
  const isRead = (sql: string) =>
    /^\s*SELECT\b.*\bdue IS NULL/is.test(sql) && sql.includes("status IN (0, 1)");
  const reads = read.filter(isRead);
  const steps = reads.flatMap(planOf).map((step) => / INDEX (\w+ \(.*\))$/.exec(step)?.[1] ?? step);
  expect([String(reads.length), ...new Set(steps)].toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    "3",
    "delivery_awaiting (endpoint_id=?)",
    "delivery_awaiting_by_event (event_id=?)",
  ]);
});

test("what is parked is long too, and each of its orders has an index", () => {
  for (const [order, name, count] of [
    ["id", "delivery_parked_by_id", 2],
    ["queue_order", "delivery_parked", 3],
  ] as const) {
    const reads = read.filter((sql) =>
      new RegExp(
        `queue_order IS NOT NULL ORDER BY ${order} LIMIT|min\\(${order}\\) .*queue_order IS NOT NULL`,
      ).test(sql),
    );
    expect(reads).toHaveLength(count);
    for (const sql of reads)
      expect(planOf(sql)).toEqual([
        expect.stringMatching(new RegExp(`^SEARCH delivery USING (COVERING )?INDEX ${name} \\(`)),
      ]);
  }
});
