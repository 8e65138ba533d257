/** The plan computes what its page says: from the figures of the pages, and never less for more. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { SettingsError } from "../../src/platform/start-error.ts";
import { LIST_CELLS_MAX } from "../../src/cells/list.ts";
import { readPage } from "../readme/blocks.ts";
import { EXAMPLE, INPUTS, type Inputs, readInputs } from "./plan-inputs.ts";
import {
  BOUND_NAMES,
  BOUNDS,
  cellsFor,
  cpuOver,
  loadOf,
  type Plan,
  planFor,
  rateOver,
} from "./plan-model.ts";
import { breaking, sizesTable } from "./plan-tables.ts";

const deliveries = fc.double({ min: 1, max: 1e13, noNaN: true });
const factor = fc.double({ min: 1, max: 50, noNaN: true });

/** The example with some of its inputs made larger or smaller. */
const inputs: fc.Arbitrary<Inputs> = fc
  .record({
    deliveries_per_event: factor,
    peak_over_mean: factor,
    deliveries_per_endpoint: fc.double({ min: 1, max: 1e6, noNaN: true }),
    retention_days: fc.integer({ min: 1, max: 365 }),
    rate: fc.double({ min: 100, max: 1e5, noNaN: true }),
    part: fc.integer({ min: 5, max: 5000 }),
    restore_speed: fc.integer({ min: 1, max: 5000 }),
    uploads_max: fc.double({ min: 0.1, max: 50, noNaN: true }),
  })
  .map((changed) => ({ ...EXAMPLE, ...changed }));

describe("the inputs", () => {
  const figures: [page: string, pattern: RegExp, inputs: (inputs: Inputs) => readonly number[]][] = [
    ["measurements", /from ([\d,]+) events a second at one endpoint to 5,100/, ({ rate }) => [rate]],
    [
      "measurements",
      /costs ([\d.]+) s of the processor for 1,000 over one endpoint, ([\d.]+) over 10, ([\d.]+) over 100, ([\d.]+) over 1,000, ([\d.]+) over 10,000 and ([\d.]+) over/,
      ({ cpu }) => cpu.map(([, seconds]) => seconds),
    ],
    ["measurements", /grows by some (\d+) KB for each endpoint/, ({ endpoint_memory: memory }) => [memory]],
    ["measurements", /A million stored events change the rate/, () => []],
    [
      "measurements",
      /\| a bucket 60 ms away \| 200 \|.*\| [\d.]+ and (\d+) \|/,
      ({ uploads_max: most }) => [most * 5],
    ],
    [
      "measurements",
      /: ([\d,]+) for the event and (\d+) for each/,
      ({ event_bytes: event, delivery_bytes: delivery }) => [event, delivery],
    ],
    ["measurements", /a million events of 1 KiB leave in six minutes/, () => []],
    ["measurements", /with ([\d,]+) more endpoints in the project/, ({ endpoints_max: most }) => [most - 10]],
    [
      "measurements",
      /until `\/readyz` answers \| (\d+) ms/,
      ({ start }) => [Math.floor(start[0] * 1000) - 1],
    ],
    ["measurements", /until `\/readyz` answers: ([\d.]+) s/, ({ start }) => [start[1]]],
    ["promises", /ready ([\d.]+) to ([\d.]+) s after the kill/, ({ take_over: range }) => range],
    ["promises", /a planned handover takes ([\d.]+) s/, ({ handover }) => [handover]],
    [
      "promises",
      /lost (\d+) to ([\d,]+) ms before/,
      ({ unconfirmed }) => unconfirmed.map((one) => one * 1000),
    ],
    ["pair", /the primary renews every ([\d.]+) seconds/, ({ lease_write: every }) => [every]],
    ["operating", /came to 1,290 MiB: give the process (\d) GiB/, ({ memory }) => [memory / 1024]],
  ];

  test.each(figures)("are those of %s: %p", async (page, pattern, of) => {
    const found = pattern.exec(await readPage(`src/docs/${page}.md`));
    const told = found?.slice(1).map((text) => Number(text.replaceAll(",", "")));
    expect(told).toEqual(of(EXAMPLE).map((one) => Number(one.toPrecision(12))));
  });

  test("that are settings are those of the source", async () => {
    expect(await readPage("litestream.yml")).toContain(`retention: ${EXAMPLE.replica_days * 24}h`);
    expect(EXAMPLE.cells_max).toBe(LIST_CELLS_MAX);
  });

  test("have a source each", () => {
    for (const [name, { source }] of Object.entries(INPUTS))
      expect([name, source.length > 3]).toEqual([name, true]);
  });

  test("that a reader sets are checked, all at once", () => {
    expect(
      readInputs({
        rate: 5,
        cpu: [
          [1, 1],
          [2, 1],
        ],
        store_outages: 0,
      }),
    ).toMatchObject({ rate: 5, store_outages: 0 });
    const wrong = {
      nothing: 1,
      rate: 0,
      part: "5",
      take_over: [2, 1],
      cpu: [
        [1, 2],
        [2, 1],
      ],
      start: 3,
    };
    const problems = (() => {
      try {
        readInputs(wrong);
      } catch (error) {
        if (error instanceof SettingsError) return error.problems;
      }
      return [];
    })();
    expect(problems.map((text) => text.split(/[ :]/).find((word) => word in wrong))).toEqual(
      Object.keys(wrong),
    );
  });
});

describe("the model", () => {
  test("makes of the rate at one endpoint that of 100,000 which was measured, within a tenth", () => {
    expect(rateOver(100_000, EXAMPLE) / 5100).toBeWithin(0.9, 1);
    expect(rateOver(1, EXAMPLE)).toBe(10_800);
  });

  test("is what a hand computes", () => {
    const { deliveriesPerSecond, storedEvents, databaseBytes } = loadOf(1e9, EXAMPLE);
    expect(deliveriesPerSecond).toBeCloseTo(1e9 / (30.4375 * 86_400), 6);
    expect(storedEvents).toBeCloseTo(1e9 * (30 / 30.4375), 0);
    // 1,545 GB in objects of 52.4 GB.
    expect(databaseBytes / 1e9).toBeCloseTo(1545.5, 0);
    expect(planFor(1e9)).toMatchObject({ cells: 30, machines: 60, bound: "size of one object" });
    // 380.26 a second, four times at the peak, and 60 machines that two routers ask.
    expect(planFor(1e9).routerRequests).toBeCloseTo(380.257 * 4 + 120, 2);
    // One upload a second where something is new each second; the lease, three levels, and 15 GB in parts.
    const each = 1 / 1.5 + 1 / 30 + 1 / 300 + 1 / 3600;
    expect(planFor(1e7).writesByDisk).toBeCloseTo((each + 1 + 15.45e9 / 5_242_880 / 86_400) * 2.6298, 2);
    expect(planFor(1e5).writesByDisk).toBeCloseTo((each + 0.038) * 2.6298, 2);
    expect(planFor(1e7).writesByReplica - planFor(1e7).writesByDisk).toBeCloseTo(2.8026 * 2.6298, 2);
  });

  test("never asks for less where there is more to deliver", () => {
    const growing = ({ cells, cores, memoryGiB, diskTB, storeTB, cost, ...plan }: Plan) => [
      ...[
        cells,
        cores,
        memoryGiB,
        diskTB,
        storeTB,
        cost,
        plan.writesByDisk,
        plan.writesByReplica,
        plan.reads,
      ],
      ...[plan.routerRequests, plan.routerCores, plan.largestAccount, ...Object.values(plan.cellsByBound)],
    ];
    fc.assert(
      fc.property(inputs, deliveries, factor, (own, few, times) => {
        const [less, more] = [growing(planFor(few, own)), growing(planFor(few * times, own))];
        // Floating point: equal within a part of a million.
        for (const [at, value] of less.entries()) expect(more[at]).toBeGreaterThanOrEqual(value * (1 - 1e-6));
      }),
    );
  });

  test("has as many cells as the bound asks for, and one fewer would exceed it", () => {
    fc.assert(
      fc.property(inputs, deliveries, (own, size) => {
        const { cells, bound, cell } = planFor(size, own);
        for (const name of BOUND_NAMES) expect(BOUNDS[name](cell, own)).toBeLessThanOrEqual(1 + 1e-9);
        if (cells > 1) expect(BOUNDS[bound](loadOf(size / (cells - 1), own), own)).toBeGreaterThan(1);
      }),
    );
  });

  test("divides what there is, and adds up what it costs", () => {
    fc.assert(
      fc.property(inputs, deliveries, (own, size) => {
        const { cells, cell, all, cost, costs, diskTB } = planFor(size, own);
        for (const [name, value] of Object.entries(all))
          expect((cell[name as keyof typeof cell] * cells) / value).toBeCloseTo(1, 9);
        expect(Object.values(costs).reduce((sum, one) => sum + one, 0)).toBeCloseTo(cost, 6);
        expect(diskTB).toBeGreaterThanOrEqual(all.databaseBytes / 1e12);
      }),
    );
  });

  test("needs no more cells with larger parts, a faster store or a faster processor", () => {
    fc.assert(
      fc.property(inputs, deliveries, factor, (own, size, times) => {
        for (const name of ["part", "restore_speed", "rate", "removals", "endpoints_max"] as const) {
          const better = { ...own, [name]: own[name] * times };
          expect(planFor(size, better).cells).toBeLessThanOrEqual(planFor(size, own).cells);
        }
      }),
    );
  });

  test("goes through the points of the curve, and rises between them", () => {
    for (const [endpoints, seconds] of EXAMPLE.cpu)
      expect(cpuOver(endpoints, EXAMPLE)).toBeCloseTo(seconds, 12);
    expect([cpuOver(0, EXAMPLE), cpuOver(1e9, EXAMPLE)]).toEqual([0.1, 0.227]);
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), factor, (few, times) => {
        expect(cpuOver(few * times, EXAMPLE)).toBeGreaterThanOrEqual(cpuOver(few, EXAMPLE) - 1e-12);
      }),
    );
  });

  test("tells what breaks", () => {
    const broken = (size: number, changed: Partial<Inputs> = {}) => {
      const own = { ...EXAMPLE, ...changed };
      return breaking(planFor(size, own), own);
    };
    expect(broken(1e6)).toEqual([]);
    expect(broken(1e7)).toEqual(["9.86 times what was tried"]);
    expect(broken(1e11)).toEqual(["the largest account", "names of cells", "33.4 times what was tried"]);
    expect(broken(1e11, { largest_account: 1e-4, cells_max: 3000 })).toEqual(["33.4 times what was tried"]);
    expect(cellsFor(1e11, "endpoints of a cell", EXAMPLE)).toBe(100);
  });
});

describe("the command", () => {
  const run = (words: readonly string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      process.execPath,
      join(import.meta.dir, "plan.ts"),
      ...words,
    ]);
    return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
  };

  test("prints what stands on the page, and each command of the page runs", async () => {
    const page = await readPage("src/docs/planning.md");
    const commands = [...page.matchAll(/`npx -y bun@[\d.]+ test\/bench\/plan\.ts( [^`]*)?`/g)];
    expect(commands.length).toBe(5);
    for (const [command, words = ""] of commands) {
      const { exitCode, stderr } = run(words.split(" ").filter(Boolean));
      expect([command, exitCode, stderr]).toEqual([command, 0, ""]);
    }
    const { stdout } = run([]);
    for (const row of sizesTable().rows) for (const cell of row) expect(stdout).toContain(cell);
  }, 60_000);

  test("takes inputs from words, and prints JSON", () => {
    const { stdout } = run([
      "--json",
      "--deliveries",
      "1e9",
      "--set",
      "part=64",
      "--set",
      "retention_days=7",
    ]);
    expect(JSON.parse(stdout)).toMatchObject([{ deliveries: 1e9, cells: 2, bound: "time to restore" }]);
  }, 20_000);

  test.each([
    [["--set", "nothing=1"], "There is no input nothing"],
    [["--set", "rate"], "--set takes name=value"],
    [["--inputs", "nowhere.json"], "The inputs cannot be read"],
    [["weeks"], "plan.ts prints sizes, days and inputs"],
    [["days", "--days", "0"], "--days must be a number from 1"],
    [["--deliveries", "many"], "--deliveries must be a number"],
  ])(
    "ends with 2 and the reason for %p",
    (words, reason) => {
      const { exitCode, stderr } = run(words);
      expect([exitCode, stderr.split("\n")[0]]).toEqual([2, expect.stringContaining(reason)]);
    },
    20_000,
  );
});
