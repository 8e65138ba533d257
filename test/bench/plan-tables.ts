/** What the plan (plan.ts) prints, and what stands on its page: rows below their heads. */
import { CAUSES, type Day, type Fleet, simulateDay } from "./plan-day.ts";
import { EXAMPLE, INPUTS, type Inputs } from "./plan-inputs.ts";
import { BOUND_NAMES, type Plan, planFor, YEAR_DAYS } from "./plan-model.ts";

export interface Table {
  head: readonly string[];
  rows: readonly (readonly string[])[];
}

export const SIZES = [1e7, 1e8, 1e9, 1e10, 1e11] as const;

/** The simulated cells, what they share, and how many days are drawn. */
export const DAYS = { cells: 1000, deliveries: 1e11, days: 1000 } as const;

export function inputsTable(inputs: Inputs = EXAMPLE): Table {
  const rows = Object.entries(INPUTS).map(([name, { unit, source }]) => {
    const value = inputs[name as keyof Inputs];
    return [`\`${name}\``, tellValue(value), unit, source];
  });
  return { head: ["Input", "Value", "Unit", "Where from"], rows };
}

/** The same as the page has it: a row for each source. */
export function sourcesTable(): Table {
  const sources = Map.groupBy(Object.entries(INPUTS), ([, { source }]) => source);
  const rows = [...sources].map(([source, inputs]) => [
    source,
    inputs.map(([name, { value, unit }]) => `\`${name}\` ${tellValue(value)} ${unit}`.trim()).join("; "),
  ]);
  return { head: ["Where from", "Inputs"], rows };
}

/** With every digit. */
function tellValue(value: Inputs[keyof Inputs]): string {
  const exact = (one: number) => one.toLocaleString("en-US", { maximumFractionDigits: 9 });
  if (typeof value === "number") return exact(value);
  return value
    .map((one) => (typeof one === "number" ? exact(one) : one.map(exact).join(": ")))
    .join(typeof value[0] === "number" ? " to " : ", ");
}

/** Each row of the sizes: what it tells of a plan. */
const LINES: readonly [string, (plan: Plan, inputs: Inputs) => string][] = [
  ["deliveries/s, mean", ({ all }) => tell(all.deliveriesPerSecond)],
  ["endpoints", ({ all }) => tell(all.endpoints)],
  ["**cells**, each a pair", ({ cells }) => `**${tell(cells)}**`],
  ["… what decides it", ({ cells, bound }) => (cells === 1 ? "one is the least" : bound)],
  ...BOUND_NAMES.map((bound): [string, (plan: Plan) => string] => [
    `cells, were it for ${bound} alone`,
    ({ cellsByBound }) => tell(cellsByBound[bound]),
  ]),
  [
    "cells, were none to store more than was tried",
    ({ all }, inputs) => tell(Math.ceil(all.storedEvents / inputs.stored_tried)),
  ],
  ["the largest account, in cells", ({ largestAccount }) => tell(largestAccount)],
  ["stored events of a cell, in millions", ({ cell }) => tell(cell.storedEvents / 1e6)],
  ["database of a cell, GB", ({ cell }) => tell(cell.databaseBytes / 1e9)],
  ["a cell is restored after, min", ({ restoreMinutes }) => tell(restoreMinutes)],
  ["503 by `replica` after a take-over, min", ({ uploadMinutes }) => tell(uploadMinutes)],
  ["cores; of them busy in the mean", ({ cores, busyCores }) => list(cores, busyCores)],
  ["memory, GiB", ({ memoryGiB }) => tell(memoryGiB)],
  ["disks, TB", ({ diskTB }) => tell(diskTB)],
  ["object store, TB", ({ storeTB }) => tell(storeTB)],
  [
    "its writes a month by `disk`; by `replica`, at most; reads; in millions",
    ({ writesByDisk, writesByReplica, reads }) => list(writesByDisk, writesByReplica, reads),
  ],
  [
    "router, requests/s at the peak; its cores",
    ({ routerRequests, routerCores }) => list(routerRequests, routerCores),
  ],
  [
    "USD a month: machines; disks; store; its requests, by `replica`; what is sent",
    ({ costs }) => list(costs.machines, costs.disks, costs.store, costs.requests, costs.sent),
  ],
  ["**all, USD a month**", ({ cost }) => `**${tell(cost)}**`],
  ["USD for a million deliveries", ({ cost, deliveries }) => tell(cost / (deliveries / 1e6))],
];

export function sizesTable(inputs: Inputs = EXAMPLE, sizes: readonly number[] = SIZES): Table {
  const plans = sizes.map((size) => planFor(size, inputs));
  const rows = LINES.map(([name, line]) => [name, ...plans.map((plan) => line(plan, inputs))]);
  return { head: headOf("A month", sizes), rows };
}

function headOf(first: string, sizes: readonly number[]): string[] {
  return [first, ...sizes.map(tellSize)];
}

/** What can be done about what breaks first, one thing after the other: each row keeps those above it. */
const LEVERS: readonly [string, Partial<Inputs>][] = [
  ["As above", {}],
  ["`part-size=67108864` in the replica's URL", { part: 64 }],
  ["… and 400 MB/s to and from the store", { restore_speed: 400, upload_speed: 400 }],
  ["… and events kept for 7 days, by the replica too", { retention_days: 7, replica_days: 7 }],
];

export function leversTable(inputs: Inputs = EXAMPLE, sizes: readonly number[] = SIZES): Table {
  let so: Inputs = inputs;
  const rows = LEVERS.map(([name, change]) => {
    so = { ...so, ...change };
    return [name, ...sizes.map((size) => tellBreaking(planFor(size, so), so))];
  });
  return { head: headOf("Cells, USD a month, and what breaks", sizes), rows };
}

function tellBreaking(plan: Plan, inputs: Inputs): string {
  return [`${tell(plan.cells)}, ${tell(plan.cost)}`, ...breaking(plan, inputs)].join("; ");
}

/** What does not hold any more, the worst first. */
export function breaking({ largestAccount, cells, cell }: Plan, inputs: Inputs): string[] {
  const found: string[] = [];
  if (largestAccount > 1) found.push("the largest account");
  if (cells > inputs.cells_max) found.push("names of cells");
  if (cell.storedEvents > inputs.stored_tried)
    found.push(`${tell(cell.storedEvents / inputs.stored_tried)} times what was tried`);
  return found;
}

export interface DaysAsked {
  cells: number;
  deliveries: number;
  seed: number;
  days: number;
}

export function fleetOf(
  { cells, deliveries }: Pick<DaysAsked, "cells" | "deliveries">,
  inputs: Inputs,
): Fleet {
  return { cells, cell: planFor(deliveries, inputs, cells).cell };
}

export function simulateDays(asked: DaysAsked, inputs: Inputs): Day[] {
  const fleet = fleetOf(asked, inputs);
  return Array.from({ length: asked.days }, (_, n) => simulateDay(asked.seed + n, fleet, inputs));
}

/** What stands for some days in the table. */
const DAY_LINES: readonly [string, (days: readonly Day[]) => string][] = [
  ["failures and handovers", (days) => byCause(days, ({ failures }) => failures, 1)],
  ["requests", (days) => tell(total(days, ({ requests }) => requests))],
  ["not accepted, by `disk`", (days) => tell(total(days, ({ refusedByDisk }) => refusedByDisk))],
  ["… availability of all cells", (days) => tellShare(1 - share(days, ({ down }) => down))],
  ["not accepted, by `replica`", (days) => tell(total(days, ({ refusedByReplica }) => refusedByReplica))],
  ["… availability of all cells", (days) => tellShare(1 - share(days, ({ unconfirmed }) => unconfirmed))],
  ["the cell that was down for longest in a day", tellWorst],
  ["cells down at once, at most", (days) => tell(most(days, ({ downAtOnce }) => downAtOnce))],
  ["acknowledged and lost, by `disk`", (days) => tell(total(days, ({ lostByDisk }) => lostByDisk))],
  ["… by `replica`", () => "0"],
  [
    "seconds down in a cell's year, at this pace",
    (days) =>
      byCause(
        days,
        ({ downByCause }) => downByCause,
        (YEAR_DAYS * 86_400) / total(days, ({ cellSeconds }) => cellSeconds),
      ),
  ],
];

/** The first day, the one with most seconds down, and all of them. */
export function daysTable(days: readonly Day[]): Table {
  const [first] = days;
  if (first === undefined) throw new Error("no day was simulated");
  const worst = days.reduce((top, day) => (day.down > top.down ? day : top));
  const rows = DAY_LINES.map(([name, line]) => [name, line([first]), line([worst]), line(days)]);
  return { head: ["What", "The first day", "The worst day", `All ${tell(days.length)} days`], rows };
}

function total(days: readonly Day[], of: (day: Day) => number): number {
  return days.reduce((sum, day) => sum + of(day), 0);
}

function most(days: readonly Day[], of: (day: Day) => number): number {
  return days.reduce((top, day) => Math.max(top, of(day)), 0);
}

/** Of the seconds of all cells. */
function share(days: readonly Day[], of: (day: Day) => number): number {
  return total(days, of) / total(days, ({ cellSeconds }) => cellSeconds);
}

/** What is 0 is left out. */
function byCause(days: readonly Day[], of: (day: Day) => Day["failures"], factor: number): string {
  const counts = CAUSES.map((cause) => [cause, total(days, (day) => of(day)[cause]) * factor] as const);
  return (
    counts.flatMap(([cause, count]) => (count > 0 ? [`${tell(count)} ${cause}`] : [])).join("; ") || "none"
  );
}

function tellWorst(days: readonly Day[]): string {
  const seconds = most(days, ({ worstCell }) => worstCell);
  return `${tell(seconds)} s (${tellShare(1 - seconds / 86_400)})`;
}

function tellShare(part: number): string {
  return `${(part * 100).toFixed(5)} %`;
}

function tellSize(deliveries: number): string {
  if (deliveries >= 1e9) return `${tell(deliveries / 1e9)} billion`;
  return deliveries >= 1e6 ? `${tell(deliveries / 1e6)} million` : tell(deliveries);
}

function list(...values: readonly number[]): string {
  return values.map(tell).join("; ");
}

/** Whole from 100 on, three digits below. */
export function tell(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return Number(value.toPrecision(value < 1 ? 2 : 3)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}
