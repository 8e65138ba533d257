/** Simulated days: one pair told step by step, and what holds for whatever fails. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Rng } from "../simulation/world.ts";
import { CAUSES, type Day, mostAtOnce, Pair, simulateDay, unionOf } from "./plan-day.ts";
import { EXAMPLE, type Inputs } from "./plan-inputs.ts";
import { planFor } from "./plan-model.ts";
import { DAYS, fleetOf, simulateDays, SIZES } from "./plan-tables.ts";

const NONE = Object.fromEntries(
  ["process_ends", "machine_ends", "disk_ends", "handovers", "zone_outages", "store_outages"].map((name) => [
    name,
    0,
  ]),
);
const still: Inputs = { ...EXAMPLE, ...NONE };

function daysOf(changed: Partial<Inputs>, cells = 100, count = 40): Day[] {
  const own = { ...still, ...changed };
  return simulateDays({ cells, deliveries: cells * 1e8, seed: 1, days: count }, own);
}

const sumOf = (days: readonly Day[], of: (day: Day) => number) => days.reduce((sum, day) => sum + of(day), 0);

describe("a pair", () => {
  const exact: Inputs = { ...still, take_over: [7, 7], unconfirmed: [1, 1] };
  type Step = readonly [
    "machine" | "zone" | "handover" | "store",
    from: number,
    to: number,
    machine?: number,
  ];

  /** Its first upload takes 1,000 s. */
  function play(steps: readonly Step[]) {
    const outages = steps.flatMap(([cause, from, to]) => (cause === "store" ? [{ from, to }] : []));
    const pair = new Pair({ rng: new Rng(1), inputs: exact, outages, databaseBytes: 1000 * 100e6 });
    for (const [cause, at, until, machine = 0] of steps) {
      const failure = { ...{ cause, at, until, machine }, cell: 0, zone: 0 };
      if (cause === "store") pair.loseStore(failure);
      else pair.suffer(failure);
    }
    const pairsOf = (spans: readonly { from: number; to: number }[]) =>
      spans.map(({ from, to }) => [from, to]);
    return [pairsOf(pair.down), pairsOf(pair.waits), pair.lostSeconds];
  }

  const stories: [story: string, steps: Step[], down: number[][], waits: number[][], lost: number][] = [
    ["its standby goes: nothing", [["machine", 100, 900, 1]], [], [], 0],
    ["its primary goes: the standby takes over", [["machine", 100, 900]], [[100, 107]], [[107, 1107]], 1],
    [
      "the old primary, back as the standby, goes",
      [
        ["machine", 100, 900],
        ["machine", 2000, 3000],
      ],
      [[100, 107]],
      [[107, 1107]],
      1,
    ],
    [
      "the new primary goes before its first upload is complete: all that it has accepted is lost",
      [
        ["machine", 100, 5000],
        ["machine", 600, 5600, 1],
      ],
      [
        [100, 107],
        [600, 5007],
      ],
      [
        [107, 1107],
        [5007, 6007],
      ],
      1 + 493,
    ],
    [
      "the new primary goes before it answers: no more is lost",
      [
        ["machine", 100, 5000],
        ["machine", 105, 5600, 1],
      ],
      [
        [100, 107],
        [105, 5007],
      ],
      [
        [107, 1107],
        [5007, 6007],
      ],
      1,
    ],
    [
      "both are gone: the one that is back first goes on",
      [
        ["machine", 100, 1000, 1],
        ["machine", 200, 3000],
      ],
      [[200, 1007]],
      [[1007, 2007]],
      1,
    ],
    [
      "its zone comes back with the disk before the standby does: nothing is lost",
      [
        ["machine", 100, 9000, 1],
        ["zone", 200, 500],
      ],
      [[200, 507]],
      [[507, 1507]],
      0,
    ],
    ["it is handed over", [["handover", 100, 101]], [[100, 101]], [[101, 1101]], 0],
    [
      "… not while its standby is gone",
      [
        ["machine", 100, 900, 1],
        ["handover", 200, 201],
      ],
      [],
      [],
      0,
    ],
    [
      "… nor before the first upload is complete",
      [
        ["handover", 100, 101],
        ["handover", 900, 901],
      ],
      [[100, 101]],
      [[101, 1101]],
      0,
    ],
    [
      "the store is away: it answers for five seconds more",
      [["store", 1000, 1600]],
      [[1005, 1600]],
      [[1000, 1600]],
      0,
    ],
    ["… which a short outage does not reach", [["store", 1000, 1004]], [], [[1000, 1004]], 0],
    [
      "… and its primary goes meanwhile: the take-over waits, and what was accepted is lost",
      [
        ["store", 1000, 1600],
        ["machine", 1003, 9000],
      ],
      [
        [1005, 1600],
        [1003, 1607],
      ],
      [
        [1000, 1600],
        [1607, 2607],
      ],
      1 + 3,
    ],
    [
      "… for five seconds only",
      [
        ["store", 1000, 1600],
        ["machine", 1300, 9000],
      ],
      [
        [1005, 1600],
        [1300, 1607],
      ],
      [
        [1000, 1600],
        [1607, 2607],
      ],
      1 + 5,
    ],
    [
      "… no handover then",
      [
        ["store", 1000, 1600],
        ["handover", 1100, 1101],
      ],
      [[1005, 1600]],
      [[1000, 1600]],
      0,
    ],
    [
      "… and an upload stands still",
      [
        ["machine", 493, 9000],
        ["store", 1000, 1600],
      ],
      [
        [493, 500],
        [1005, 1600],
      ],
      [
        [500, 2100],
        [1000, 1600],
      ],
      1,
    ],
  ];

  test.each(stories)("%s", (_story, steps, down, waits, lost) => {
    expect(play(steps)).toEqual([down, waits, lost]);
  });
});

describe("a simulated day", () => {
  test("is the same from the same seed, and another one from another", () => {
    const fleet = fleetOf({ cells: 1000, deliveries: 1e11 }, EXAMPLE);
    expect(simulateDay(7, fleet, EXAMPLE)).toEqual(simulateDay(7, fleet, EXAMPLE));
    expect(simulateDay(7, fleet, EXAMPLE)).not.toEqual(simulateDay(8, fleet, EXAMPLE));
  });

  test("has no more down than there is, whatever fails", () => {
    const often = fc.double({ min: 0, max: 3000, noNaN: true });
    const rates = fc.record({
      process_ends: often,
      machine_ends: often,
      disk_ends: often,
      handovers: often,
      zone_outages: often,
      store_outages: often,
    });
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 30 }), rates, (seed, cells, changed) => {
        const own = { ...EXAMPLE, ...changed };
        const day = simulateDay(seed, fleetOf({ cells, deliveries: cells * 1e8 }, own), own);
        const causes = CAUSES.map((cause) => day.downByCause[cause]);
        expect(day.cellSeconds).toBe(cells * 86_400);
        expect(day.down).toBeLessThanOrEqual(day.unconfirmed + 1e-6);
        expect(day.unconfirmed).toBeLessThanOrEqual(day.cellSeconds + 1e-6);
        expect(day.down).toBeWithin(
          Math.max(...causes) - 1e-6,
          causes.reduce((sum, one) => sum + one, 0) + 1e-6,
        );
        expect(day.worstCell).toBeWithin(day.down / cells - 1e-6, 86_400 + 1e-6);
        expect(day.downAtOnce).toBeWithin(day.down > 0 ? 1 : 0, cells + 1);
        expect(day.refusedByDisk / day.requests).toBeCloseTo(day.down / day.cellSeconds, 9);
        expect(day.lostByDisk).toBeWithin(0, day.requests - day.refusedByDisk + 1e-6);
      }),
      { numRuns: 60 },
    );
  });

  test("without failures has nothing refused or lost", () => {
    for (const day of daysOf({}))
      expect(day).toMatchObject({
        down: 0,
        unconfirmed: 0,
        downAtOnce: 0,
        refusedByDisk: 0,
        refusedByReplica: 0,
        lostByDisk: 0,
      });
  });

  test("draws as many failures as the rates say", () => {
    const days = daysOf({ process_ends: 36.525, machine_ends: 3.6525, store_outages: 73.05 }, 100, 400);
    // 4,000, 800 and 80 in the mean, within four standard deviations.
    expect(sumOf(days, ({ failures }) => failures.process)).toBeWithin(4000 - 253, 4000 + 253);
    expect(sumOf(days, ({ failures }) => failures.machine)).toBeWithin(800 - 113, 800 + 113);
    expect(sumOf(days, ({ failures }) => failures.store)).toBeWithin(80 - 36, 80 + 36);
  });

  test("loses nothing by a process that starts again, and nothing by a handover", () => {
    const ends = daysOf({ process_ends: 100 });
    expect(sumOf(ends, ({ lostByDisk }) => lostByDisk)).toBe(0);
    const each = sumOf(ends, ({ down }) => down) / sumOf(ends, ({ failures }) => failures.process);
    expect(each).toBeWithin(1.2, 1.5);
    expect(sumOf(ends, ({ unconfirmed, down }) => unconfirmed - down)).toBeCloseTo(0, 6);
    const handed = daysOf({ handovers: 20 });
    expect(sumOf(handed, ({ lostByDisk }) => lostByDisk)).toBe(0);
    const count = sumOf(handed, ({ failures }) => failures.handover);
    expect(sumOf(handed, ({ down }) => down) / count).toBeWithin(1.1, 1.2001);
    // Until the whole database is up, no answer by the replica.
    const { uploadMinutes } = planFor(1e10, still, 100);
    expect(sumOf(handed, ({ unconfirmed }) => unconfirmed) / count / 60).toBeWithin(
      uploadMinutes * 0.9,
      uploadMinutes + 0.021,
    );
  });

  test("loses what was not confirmed with a primary, which a standby replaces", () => {
    const days = daysOf({ machine_ends: 2 });
    const primaries = sumOf(days, ({ failures }) => failures.machine) / 2;
    const perSecond = 1e8 / (30.4375 * 86_400);
    expect(sumOf(days, ({ down }) => down) / primaries).toBeWithin(3.5, 15);
    expect(sumOf(days, ({ lostByDisk }) => lostByDisk) / primaries / perSecond).toBeGreaterThan(0.3);
    expect(Math.max(...days.map(({ worstCell }) => worstCell))).toBeGreaterThan(6.5);
  });

  test("has cells without a machine where both of a pair are lost before one is back", () => {
    const days = daysOf({ machine_ends: 3000 }, 10, 5);
    expect(Math.max(...days.map(({ worstCell }) => worstCell))).toBeGreaterThan(EXAMPLE.replace_minutes * 60);
  });

  test("stands still in every cell while the store is away, and loses nothing by that", () => {
    const days = daysOf({ store_outages: 365 }).filter(({ failures }) => failures.store > 0);
    expect(days.length).toBeGreaterThan(5);
    for (const day of days) {
      expect(day.lostByDisk).toBe(0);
      expect(day.worstCell).toBeCloseTo(day.down / 100, 6);
      expect(day.downAtOnce).toBe(day.down > 0 ? 100 : 0);
    }
  });

  test("has a third of the primaries taken over where one of three zones is gone", () => {
    const [day] = daysOf({ zone_outages: 120 }, 99, 40).filter(({ failures }) => failures.zone === 1);
    expect(day?.downAtOnce).toBe(33);
    expect(day?.worstCell).toBeWithin(6.5, 7.4001);
  });

  test("counts seconds as one by one", () => {
    const span = fc
      .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20 }))
      .map(([from, length]) => ({ from, to: from + length }));
    fc.assert(
      fc.property(fc.array(span), (spans) => {
        const seconds = Array.from(
          { length: 80 },
          (_, at) => spans.filter(({ from, to }) => from <= at && at < to).length,
        );
        const union = unionOf(spans);
        expect(union.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(
          seconds.filter((count) => count > 0).length,
        );
        expect(mostAtOnce(spans.filter(({ from, to }) => to > from))).toBe(Math.max(...seconds));
      }),
    );
    expect(
      unionOf([
        { from: 86_390, to: 90_000 },
        { from: 86_500, to: 90_000 },
      ]),
    ).toEqual([{ from: 86_390, to: 86_400 }]);
  });
});

test("what the page says of its days and sizes is so", () => {
  const own = simulateDays({ ...DAYS, seed: 1 }, EXAMPLE);
  const causes = CAUSES.map((cause) => sumOf(own, ({ downByCause }) => downByCause[cause]));
  const byStore = sumOf(own, ({ downByCause }) => downByCause.store);
  // "Nearly all seconds down are the store's."
  expect(byStore / causes.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0.95);
  // "By `replica` most of what is not accepted is planned."
  const unplanned = simulateDays({ ...DAYS, seed: 1 }, { ...EXAMPLE, handovers: 0 });
  const refused = (days: readonly Day[]) => sumOf(days, ({ refusedByReplica }) => refusedByReplica);
  expect(refused(unplanned)).toBeLessThan(refused(own) / 2);
  expect(fleetOf(DAYS, EXAMPLE).cell.databaseBytes / 1e9).toBeWithin(154.5, 155.5);
  expect((EXAMPLE.part * EXAMPLE.parts_max * 2 ** 20) / 1e9).toBeWithin(52, 53);
  for (const size of SIZES) {
    const { costs, cores, busyCores, cell } = planFor(size);
    expect(busyCores).toBeLessThan(cores / 1000);
    expect(cell.storedEvents).toBeGreaterThan(EXAMPLE.stored_tried);
    if (size > 1e7) expect(costs.requests).toBeGreaterThan(costs.machines);
  }
});
