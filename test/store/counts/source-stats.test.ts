/**
 * Numbers of sources: what is counted while others are written down is neither lost nor doubled, and what is
 * not written stays.
 */
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Disk, openDatabase } from "../../../src/store/database.ts";
import { SourceStats } from "../../../src/store/counts/source-stats.ts";
import { Store } from "../../../src/store/store.ts";
import { storeParts } from "../../kit/store-parts.ts";

const AT = Date.UTC(2026, 10, 21, 9, 30);
const HOUR_MS = 3_600_000;
const SOURCE = 7;

let dir: string;
let disk: Disk;
let store: Store;
let stats: SourceStats;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-source-stats-"));
  disk = openDatabase(dir);
  store = new Store(disk.sqlite, storeParts({ now: () => AT, sync: disk.sync }));
  stats = new SourceStats(store);
  disk.sqlite.exec(
    `INSERT INTO account (id, name, plan) VALUES (1, 'a', 'free');
     INSERT INTO project (id, account_id, name, mode) VALUES (1, 1, 'p', 'live');
     INSERT INTO source (id, project_id, provider, name, status, config, updated_at, sealed)
     VALUES (${SOURCE}, 1, 'service', 's', 'active', '{}', 0, x'00')`,
  );
});

afterEach(async () => {
  await store.close();
  disk.close();
  rmSync(dir, { recursive: true });
});

const rows = () => disk.sqlite.query("SELECT hour, outcome, count FROM source_stat").values();
const total = async (id = SOURCE) => {
  const span = { since: AT - HOUR_MS, until: AT + HOUR_MS };
  const sums = await stats.total(id, span, store.turns);
  expect((await stats.read(id, "hour", span, store.turns)).total).toEqual(sums);
  return Object.fromEntries(sums);
};

test("what is counted while the rest is written down is counted once, whenever one looks", async () => {
  for (let n = 0; n < 3; n++) stats.count(SOURCE, "accepted", AT);
  const seen = new Set([(await total())["accepted"]]);
  const written = stats.writeDown();
  stats.count(SOURCE, "accepted", AT + 1);
  for (let isDone = false; !isDone; ) {
    seen.add((await total())["accepted"]);
    isDone = (await Promise.race([written.then(() => "done"), store.write(() => "next")])) === "done";
  }
  seen.add((await total())["accepted"]);
  expect([...seen]).toEqual([3, 4]);
  await stats.writeDown();
  expect(rows()).toEqual([[Math.floor(AT / HOUR_MS), "accepted", 4]]);
  expect([await stats.writeDown(), await total()]).toEqual([0, { accepted: 4 }]);
});

test("what shared a transaction with a write that failed is written by the next", async () => {
  stats.count(SOURCE, "bad_signature", AT);
  const failed = store.write(() => {
    throw new Error("a neighbour");
  });
  const written = stats.writeDown();
  expect(await failed.catch(String)).toContain("a neighbour");
  await written;
  expect([await total(), rows().length]).toEqual([{ bad_signature: 1 }, 1]);
});

test("of more than a slice holds, each stands there once", async () => {
  for (let hour = 0; hour < 600; hour++) stats.count(SOURCE, "accepted", AT - hour * HOUR_MS);
  expect([await stats.writeDown(), rows().length]).toEqual([600, 600]);
  const span = { since: AT - 600 * HOUR_MS, until: AT };
  const { points } = await stats.read(SOURCE, "day", span, store.turns);
  expect(points[1]?.counts.get("accepted")).toBe(24);
  expect(points.map(({ at }) => at % (24 * HOUR_MS)).every((rest) => rest === 0)).toBe(true);
});

test("what goes from memory to the table between two pieces counts once", async () => {
  const span = { since: AT - 99 * HOUR_MS, until: AT };
  for (let round = 1; round <= 2; round++) {
    for (let hour = 1; hour < 99; hour++) stats.count(SOURCE, "accepted", AT - hour * HOUR_MS);
    let pieces = 0;
    using _ = spyOn(store.turns, "giveWay").mockImplementation(async () => {
      if (pieces++ === 2) await stats.writeDown();
    });
    const sums = await stats.total(SOURCE, span, store.turns);
    expect([sums.get("accepted"), pieces]).toEqual([98 * round, 5]);
  }
});

test("a source that is erased meanwhile leaves nothing behind", async () => {
  stats.count(8, "accepted", AT);
  await stats.writeDown();
  expect([rows(), await total(8)]).toEqual([[], {}]);
});

test("the last of each kind is known from the table and from memory", async () => {
  expect(stats.last(SOURCE)).toEqual({ takenAt: null, answeredAt: null, refused: null });
  stats.count(SOURCE, "malformed", AT - 2 * HOUR_MS);
  stats.count(SOURCE, "accepted", AT - HOUR_MS);
  await stats.writeDown();
  expect(stats.last(SOURCE)).toEqual({
    takenAt: AT - HOUR_MS,
    answeredAt: null,
    refused: { at: AT - 2 * HOUR_MS, outcome: "malformed" },
  });
  stats.count(SOURCE, "bad_signature", AT);
  stats.count(SOURCE, "duplicate", AT + 5);
  stats.count(SOURCE, "handshake", AT + 6);
  const last = { takenAt: AT + 5, answeredAt: AT + 6, refused: { at: AT, outcome: "bad_signature" } };
  expect(stats.last(SOURCE)).toEqual(last);
  await stats.writeDown();
  expect(stats.last(SOURCE)).toEqual(last);
});
