import type { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compare, examine } from "../../src/store/copy.ts";
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

const identify = (installation: string, start: number) => (sqlite: Database) =>
  put(sqlite, "meta", {
    name: "identity",
    value: Buffer.from(JSON.stringify({ installation, start, beat: 1 })),
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

test("a row without its parent, and a newer schema, are told", () => {
  const { path } = makeDatabase((sqlite) => {
    put(sqlite, "project", { id: 2, account_id: 1 });
    sqlite.exec("PRAGMA user_version = 99");
  });
  expect(examine(path, cipher).problems).toEqual([
    "A row of project lacks its account.",
    `It has schema 99, and this version knows ${SCHEMA_VERSION}: a newer one wrote it.`,
  ]);
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

test("a copy is as far behind as the oldest row that it lacks", () => {
  const rows = (count: number) => (sqlite: Database) => {
    identify("one", 3)(sqlite);
    for (let at = 0; at < count; at++) put(sqlite, "account", { id: firstKeyAt(NOW + at * 1000) });
  };
  const here = makeDatabase(rows(10));
  const lagOf = (count: number) =>
    compare(examine(makeDatabase(rows(count)).path, cipher), here.dir, here.path, NOW + 10_000);
  expect(lagOf(10)).toEqual({ seconds: 0, problems: [] });
  expect(lagOf(4)).toEqual({ seconds: 6, problems: [] });
  // What was written after the copy was begun is none of it.
  expect(compare(examine(makeDatabase(rows(4)).path, cipher), here.dir, here.path, NOW)).toEqual({
    seconds: 0,
    problems: [],
  });
});

test("a copy of another database, and one that is further than this one, are told", () => {
  const here = makeDatabase(identify("one", 3));
  const problemsOf = (installation: string, start: number) =>
    compare(examine(makeDatabase(identify(installation, start)).path, cipher), here.dir, here.path, NOW)
      .problems;
  expect(problemsOf("one", 2)).toEqual([]);
  expect(problemsOf("two", 1)).toEqual([expect.stringContaining("another database")]);
  expect(problemsOf("one", 4)).toEqual([expect.stringContaining("that one is out of date")]);
});
