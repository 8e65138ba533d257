import { describe, expect, test } from "bun:test";
import {
  ALONE,
  formatRatios,
  formatSetupHead,
  formatSetupRuns,
  publishesPerRouterCore,
  ratiosToAlone,
  type SetupRun,
} from "./cells-report.ts";
import { findFaultsOfRun } from "./report.ts";

const BEHIND = "one cell, HAProxy";

const alone: SetupRun = {
  contender: ALONE.name,
  acceptedPerSecond: 10_000,
  deliveredPerSecond: 10_000,
  publish: { p50Ms: 5, p99Ms: 12 },
  cellsCpu: 0.1,
  routerCpu: undefined,
  cellPeakBytes: [150 * 1024 * 1024],
  routerPeakBytes: undefined,
  accepted: 60_000,
  lost: 0,
  duplicates: 0,
  refused: {},
  otherCores: 0,
};

const behind: SetupRun = {
  ...alone,
  contender: BEHIND,
  deliveredPerSecond: 8_000,
  publish: { p50Ms: 6, p99Ms: 18 },
  routerCpu: 0.05,
  routerPeakBytes: 20 * 1024 * 1024,
};

const slower = (run: SetupRun, times: number): SetupRun => ({
  ...run,
  deliveredPerSecond: run.deliveredPerSecond / times,
  cellsCpu: run.cellsCpu * times,
  routerCpu: run.routerCpu === undefined ? undefined : run.routerCpu * times,
});

function ratio(runs: SetupRun[], title: string) {
  return ratiosToAlone(runs, BEHIND).find((one) => one.title === title);
}

describe("the report of the bench of cells", () => {
  test("divides within a round, so that a round in which all is slower does not count", () => {
    const runs = [alone, behind, slower(alone, 4), slower(behind, 4)];
    expect(ratio(runs, "delivered/s")).toEqual({
      title: "delivered/s",
      median: 0.8,
      lowest: 0.8,
      highest: 0.8,
    });
    expect(ratio(runs, "publish p99")?.median).toBe(1.5);
  });

  test("adds the processor's time of HAProxy to that of the cells", () => {
    expect(ratio([alone, behind], "CPU of the cells")?.median).toBe(1);
    expect(ratio([alone, behind], "CPU with HAProxy")?.median).toBeCloseTo(1.5, 9);
  });

  test("tells how far the rounds lie apart", () => {
    const runs = [alone, behind, alone, slower(behind, 2), alone, slower(behind, 4)];
    expect(ratio(runs, "delivered/s")).toMatchObject({ median: 0.4, lowest: 0.2, highest: 0.8 });
    expect(formatRatios(runs, BEHIND)).toContain("delivered/s 0.40 (0.20 to 0.80)");
  });

  test("compares nothing with a round that is missing", () => {
    expect(() => ratiosToAlone([alone, behind, behind], BEHIND)).toThrow("has not run as often");
  });

  test("says what one core of HAProxy alone would take", () => {
    expect(publishesPerRouterCore([alone, behind], BEHIND)).toBe(20_000);
    expect(publishesPerRouterCore([alone, behind], ALONE.name)).toBeUndefined();
  });

  test("prints each number below its title, and a dash for what did not run", () => {
    const both = { ...behind, cellPeakBytes: [150, 140].map((mebibytes) => mebibytes * 1024 * 1024) };
    const columnsOf = (run: SetupRun) => formatSetupRuns("row", [run]).split(/ {2,}/).slice(1);
    expect(columnsOf(both).slice(4)).toEqual(["0.1000", "0.0500", "150", "140", "20", "0.00"]);
    expect(columnsOf(alone).slice(4)).toEqual(["0.1000", "–", "150", "–", "–", "0.00"]);
    expect(formatSetupRuns("row", [both]).length).toBe(formatSetupHead().length);
  });

  test("names the setup whose publishes the router refused", () => {
    expect(findFaultsOfRun({ ...behind, refused: { 429: 3 } })).toEqual([
      `${BEHIND} answered 3 publishes with 429`,
    ]);
  });
});
