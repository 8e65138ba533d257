import { describe, expect, test } from "bun:test";
import type { Measurement } from "./measurement.ts";
import { findFaults, formatHead, formatMedians, ratioToBare } from "./report.ts";

const clean: Measurement = {
  contender: "bare",
  acceptedPerSecond: 16_000,
  deliveredPerSecond: 16_000,
  publish: { p50Ms: 3, p99Ms: 9 },
  delivery: { p50Ms: 2, p99Ms: 8 },
  cpuSecondsPerThousand: 0.04,
  idleBytes: 40_000_000,
  peakBytes: 90_000_000,
  afterBytes: 80_000_000,
  files: 150,
  accepted: 96_000,
  lost: 0,
  duplicates: 0,
  refused: {},
  otherCores: 0,
};

describe("the report of the bench", () => {
  test("finds no fault in a clean run", () => {
    expect(findFaults([clean, { ...clean, contender: "service", deliveredPerSecond: 4_000 }])).toEqual([]);
  });

  test.each([
    [{ lost: 2 }, "bare lost 2 of 96000 accepted events"],
    [{ duplicates: 1 }, "bare sent 1 deliveries more than once"],
    [{ refused: { 429: 7 } }, "bare answered 7 publishes with 429"],
    [
      { deliveredPerSecond: 7_999 },
      "the machine is not quiet: the bare loop delivered 7999/s, less than 8000/s",
    ],
  ])("names what makes a run worthless: %o", (change, fault) => {
    expect(findFaults([{ ...clean, ...change }])).toEqual([fault]);
  });

  test("compares medians, so that one odd round does not count", () => {
    const bare = [10_000, 16_000, 20_000].map((deliveredPerSecond) => ({ ...clean, deliveredPerSecond }));
    const service = [100, 12_000, 12_500].map((deliveredPerSecond) => ({
      ...clean,
      contender: "service" as const,
      deliveredPerSecond,
    }));
    expect(ratioToBare([...bare, ...service])).toBe(0.75);
    expect(ratioToBare(bare)).toBeUndefined();
  });

  test("prints medians under the heads of their columns", () => {
    const row = formatMedians("bare median", [clean]);
    expect(row).toContain("16,000");
    expect(row.length).toBe(formatHead().length);
  });
});
