/** What is kept of sources in memory: rates, counts, and how refusals reach the log. */
import { beforeEach, describe, expect, test } from "bun:test";
import { IdCodec } from "../../../src/core/ids.ts";
import { SourceMonitor } from "../../../src/http/sources/monitor.ts";

const SOURCE = 5;
const ids = new IdCodec("00", new Uint8Array(16));

let now = 0;
let elapsed = 0;
let isThere = true;
let lines: Record<string, unknown>[] = [];
let counts: [source: number, outcome: string, at: number][] = [];
let monitor: SourceMonitor;
let told = Promise.withResolvers<void>();

beforeEach(() => {
  now = Date.UTC(2026, 10, 21);
  elapsed = 0;
  isThere = true;
  lines = [];
  counts = [];
  told = Promise.withResolvers();
  monitor = new SourceMonitor({
    ids,
    wallNow: () => now,
    monotonic: () => elapsed,
    isThere: () => isThere,
    onRejected: () => {},
    count: (...counted) => void counts.push(counted),
    log: (level, msg, fields) => {
      lines.push({ level, msg, ...fields });
      if ("count" in fields) told.resolve();
    },
  });
});

/** Seconds to wait for the next request; 0 where it passed. */
function waitOf(source: number, perSecond: number): number {
  const allowance = monitor.take(source, perSecond);
  return allowance === null || allowance.isGranted ? 0 : allowance.retryAfterSeconds;
}

describe("a rate", () => {
  test("lets two seconds' worth pass at once, then its own number a second", () => {
    const takeMany = (count: number) => Array.from({ length: count }, () => waitOf(SOURCE, 10));
    expect(takeMany(21)).toEqual([...Array.from({ length: 20 }, () => 0), 1]);
    now += 500;
    expect(takeMany(6)).toEqual([0, 0, 0, 0, 0, 1]);
    now += 60_000;
    expect(takeMany(21).filter((wait) => wait === 0)).toHaveLength(20);
  });

  test("is a source's own, and 0 is none", () => {
    expect([waitOf(1, 1), waitOf(1, 1), waitOf(1, 1), waitOf(2, 1)]).toEqual([0, 0, 1, 0]);
    expect(Array.from({ length: 1000 }, () => waitOf(3, 0)).every((wait) => wait === 0)).toBe(true);
  });

  test("does not mind a clock that steps back", () => {
    waitOf(SOURCE, 1);
    now -= 3_600_000;
    expect([waitOf(SOURCE, 1), waitOf(SOURCE, 1)]).toEqual([0, 1]);
  });
});

describe("counters", () => {
  test("count by source and reason, duplicates apart, until the source is deleted", () => {
    monitor.accept(SOURCE, false);
    monitor.accept(SOURCE, true);
    monitor.refuse(SOURCE, "bad_signature");
    monitor.refuse(SOURCE, "stale_timestamp");
    const { accepted, duplicates, rejected, lastRejected } = monitor.counters(SOURCE);
    expect([accepted, duplicates, rejected.get("bad_signature")]).toEqual([1, 1, 1]);
    expect(lastRejected).toEqual({ at: now, reason: "stale_timestamp" });
    const outcomes = ["accepted", "duplicate", "bad_signature", "stale_timestamp"];
    expect(counts).toEqual(outcomes.map((outcome) => [SOURCE, outcome, now]));
    expect(monitor.counters(6).accepted).toBe(0);
    monitor.forget(SOURCE);
    expect(monitor.counters(SOURCE)).toMatchObject({ accepted: 0, lastRejected: null });
  });

  test("keep nothing of a request that was on its way when its source was deleted", () => {
    const came = () => {
      monitor.accept(SOURCE, false);
      expect(waitOf(SOURCE, 10)).toBe(0);
      for (let refused = 0; refused < 11; refused++) monitor.refuse(SOURCE, "bad_signature");
    };
    came();
    isThere = false;
    monitor.forget(SOURCE);
    const before = lines.length;
    came();
    expect(lines).toHaveLength(before + 10);
    // Whoever comes under its key begins anew: nothing stands there.
    isThere = true;
    const { accepted, rejected } = monitor.counters(SOURCE);
    expect([accepted, rejected.size]).toEqual([0, 0]);
  });
});

describe("refusals in the log", () => {
  test("have a line each, with source and reason; one that exists nowhere is named by none", () => {
    monitor.refuse(SOURCE, "bad_signature");
    monitor.refuse(null, "unknown_source");
    expect(counts).toHaveLength(1);
    expect(lines).toEqual([
      { level: "warn", msg: "ingest refused", source_id: ids.encode("src", SOURCE), reason: "bad_signature" },
      { level: "warn", msg: "ingest refused", source_id: null, reason: "unknown_source" },
    ]);
  });

  test("above ten in a second become one line with their count; the next second begins anew", async () => {
    elapsed += 995;
    for (let refused = 0; refused < 10; refused++) monitor.refuse(SOURCE, "bad_signature");
    elapsed += 990;
    for (let refused = 0; refused < 25; refused++) monitor.refuse(SOURCE, "bad_signature");
    expect(lines).toHaveLength(10);
    await told.promise;
    expect(lines.at(-1)).toMatchObject({ source_id: ids.encode("src", SOURCE), count: 25 });
    elapsed += 10;
    monitor.refuse(SOURCE, "bad_signature");
    expect(lines).toHaveLength(12);
    expect(monitor.counters(SOURCE).rejected.get("bad_signature")).toBe(36);
  });

  test("begin anew in the next second also where the clock is set back by a day", async () => {
    for (let refused = 0; refused < 11; refused++) monitor.refuse(SOURCE, "bad_signature");
    now -= 86_400_000;
    elapsed += 1000;
    monitor.refuse(SOURCE, "bad_signature");
    expect(lines).toHaveLength(11);
    await told.promise;
    expect(lines.at(-1)).toMatchObject({ count: 1 });
  });
});
