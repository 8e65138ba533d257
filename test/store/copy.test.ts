import { Database as SQLite, type Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compare, examine, readStanding } from "../../src/store/copy.ts";
import { Cipher } from "../../src/core/cipher.ts";
import { firstKeyAt } from "../../src/core/ids.ts";
import { DATABASE_FILE, openDatabase } from "../../src/store/database.ts";
import { SCHEMA_VERSION } from "../../src/store/migrations.ts";
import { sealedPlace } from "../../src/store/resources/sealing.ts";

const KEYS = [Buffer.alloc(32, "own"), Buffer.alloc(32, "other")] as const;
const cipher = new Cipher([KEYS[0]]);
const PAGE_BYTES = 4096;
const NOW = Date.UTC(2026, 10, 28);

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sealpost-copy-"));
});
afterEach(() => rmSync(home, { recursive: true }));

/** A database in a folder of its own, with what `fill` puts there. */
function makeDatabase(fill: (sqlite: Database) => void = () => {}): { dir: string; path: string } {
  const dir = mkdtempSync(join(home, "data-"));
  const disk = openDatabase(dir);
  disk.sqlite.exec("PRAGMA foreign_keys = OFF");
  fill(disk.sqlite);
  disk.close();
  return { dir, path: join(dir, DATABASE_FILE) };
}

/** A row with these values, and nothing else of use. */
function put(sqlite: Database, table: string, values: Record<string, number | string | Uint8Array>): void {
  const columns = sqlite
    .query<{ name: string; type: string }, []>(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name, type }) => [name, values[name] ?? (type === "INTEGER" ? 0 : "{}")] as const);
  const [names, marks] = [columns.map(([name]) => name).join(", "), columns.map(() => "?").join(", ")];
  sqlite.run(
    `INSERT INTO ${table} (${names}) VALUES (${marks})`,
    columns.map(([, value]) => value),
  );
}

const identify =
  (installation: string, start: number, beat = 1) =>
  (sqlite: Database) =>
    put(sqlite, "meta", {
      name: "identity",
      value: Buffer.from(JSON.stringify({ installation, start, beat })),
    });

test("a copy with an account, a source and its secret is as it should be", () => {
  const { path } = makeDatabase((sqlite) => {
    identify("one", 3)(sqlite);
    put(sqlite, "account", { id: 1 });
    put(sqlite, "project", { id: 2, account_id: 1 });
    put(sqlite, "source", { id: 3, project_id: 2, sealed: cipher.seal("{}", sealedPlace("source", 3)) });
  });
  expect(examine(path, cipher)).toEqual({
    bytes: expect.any(Number),
    schema: SCHEMA_VERSION,
    installation: "one",
    start: 3,
    beat: 1,
    newestKey: 3,
    rows: { account: 1, endpoint: 0, source: 1, event: 0, delivery: 0, attempt: 0 },
    secrets: 1,
    problems: [],
  });
  expect(examine(path, null).secrets).toBeNull();
});

test("secrets that do not open are told, once a table: of another key, and moved to another row", () => {
  const { path } = makeDatabase((sqlite) => {
    put(sqlite, "account", { id: 1 });
    put(sqlite, "project", { id: 2, account_id: 1 });
    for (const id of [3, 4])
      put(sqlite, "source", { id, project_id: 2, sealed: cipher.seal("{}", sealedPlace("source", 3)) });
  });
  const others = examine(path, new Cipher([KEYS[1]]));
  expect(others.problems).toEqual([expect.stringMatching(/^Secrets of source rows do not open: .* lacks/)]);
  expect(examine(path, cipher).problems).toEqual([expect.stringMatching(/^Secrets of source rows/)]);
});

test("a row without its parent is told, and nothing else of a newer schema", () => {
  const { path } = makeDatabase((sqlite) => put(sqlite, "project", { id: 2, account_id: 1 }));
  expect(examine(path, cipher).problems).toEqual(["A row of project lacks its account."]);
  const newer = makeDatabase((sqlite) => sqlite.exec("PRAGMA user_version = 99; DROP TABLE source"));
  expect(() => examine(newer.path, cipher)).toThrow("The copy has schema 99");
});

test("a damaged file is told, page by page, and as a whole", () => {
  const { path } = makeDatabase();
  const pages = statSync(path).size / PAGE_BYTES;
  const said = Array.from({ length: pages - 1 }, (_, at) => {
    const damaged = join(mkdtempSync(join(home, "damaged-")), DATABASE_FILE);
    const bytes = readFileSync(path).fill(0xff, (at + 1) * PAGE_BYTES, (at + 2) * PAGE_BYTES);
    writeFileSync(damaged, bytes);
    try {
      return examine(damaged, cipher).problems[0] ?? "nothing";
    } catch (error) {
      return String(error);
    }
  });
  const kinds = new Set(said.map((text) => text.replace(/: .*/s, "")));
  expect(kinds).toEqual(new Set(["It is damaged", "DatabaseError"]));
});

/** What a copy with this in it lacks of the database here, which another one was when it was begun. */
function lagOf(copy: (sqlite: Database) => void, here: (sqlite: Database) => void, began = NOW) {
  const { dir } = makeDatabase(here);
  return compare(examine(makeDatabase(copy).path, cipher), readStanding(dir), dir, began);
}

const rows = (count: number) => (sqlite: Database) => {
  identify("one", 3)(sqlite);
  for (let at = 0; at < count; at++) put(sqlite, "account", { id: firstKeyAt(NOW + at * 1000) });
};

test("a copy is as far behind as the oldest row that it lacks", () => {
  expect(lagOf(rows(10), rows(10), NOW + 10_000)).toEqual({ seconds: 0, problems: [] });
  expect(lagOf(rows(4), rows(10), NOW + 10_000)).toEqual({ seconds: 6, problems: [] });
});

test("… or as the beats that it lacks, where no row was made, or keys are ahead of the clock", () => {
  expect(lagOf(identify("one", 3, 1), identify("one", 3, 2)).seconds).toBe(0);
  expect(lagOf(identify("one", 3, 1), identify("one", 3, 14)).seconds).toBe(60);
});

test("what was written after the copy was begun is none of what it lacks", () => {
  const { dir, path } = makeDatabase(rows(4));
  const standing = readStanding(dir);
  const sqlite = new SQLite(path);
  put(sqlite, "account", { id: firstKeyAt(NOW + 60_000) });
  sqlite.close();
  const copy = examine(makeDatabase(rows(4)).path, cipher);
  expect(compare(copy, standing, dir, NOW + 90_000)).toEqual({ seconds: 0, problems: [] });
});

test("a copy of another database, and one that is further than this one, are told", () => {
  const problemsOf = (installation: string, start: number) =>
    lagOf(identify(installation, start), identify("one", 3)).problems;
  expect(problemsOf("one", 2)).toEqual([]);
  expect(problemsOf("two", 1)).toEqual([expect.stringContaining("another database")]);
  expect(problemsOf("one", 4)).toEqual([expect.stringContaining("that one is out of date")]);
});
