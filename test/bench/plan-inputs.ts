/** What the plan (plan.ts) computes with: each number with its unit, and where it comes from. */
import { SettingsError } from "../../src/platform/start-error.ts";

/** A number, a lowest and a highest between which is drawn, or points of a curve. */
type Value = number | readonly [number, number] | readonly (readonly [number, number])[];

interface Input<V extends Value> {
  value: V;
  unit: string;
  source: string;
}

const measured = (date: string) => `measured: [measurements](measurements.md), ${date}`;
const promised = (date: string) => `measured: [promises](promises.md), ${date}`;
const PAIR = "[a pair](pair.md)";
const OPERATING = "[operating](operating.md)";
const LITESTREAM = "read in the source of Litestream 0.5.18, not tried";
const YOURS = "yours";
const PRICE = "yours: examples of November 2026, of no provider";
const ASSUMED = "yours: assumed, not measured";

function number(value: number, unit: string, source: string): Input<number> {
  return { value, unit, source };
}

function range(low: number, high: number, unit: string, source: string): Input<readonly [number, number]> {
  return { value: [low, high], unit, source };
}

function curve(
  points: readonly (readonly [number, number])[],
  unit: string,
  source: string,
): Input<readonly (readonly [number, number])[]> {
  return { value: points, unit, source };
}

const XEON = "2026-11-28";
const CPU_POINTS = [
  [1, 0.1],
  [10, 0.11],
  [100, 0.128],
  [1000, 0.157],
  [10_000, 0.216],
  [100_000, 0.227],
] as const;

export const INPUTS = {
  deliveries_per_event: number(1, "", YOURS),
  peak_over_mean: number(4, "times", YOURS),
  deliveries_per_endpoint: number(10_000, "a month", YOURS),
  retention_days: number(30, "days for which events are kept", YOURS),
  largest_account: number(0.01, "of all deliveries", YOURS),
  restore_minutes_max: number(60, "min that a cell may take to be restored", YOURS),
  zones: number(3, "zones, of which a pair stands in two", YOURS),
  handovers: number(12, "a year, of each cell: upgrades", YOURS),

  rate: number(10_800, "deliveries/s of a cell over one endpoint", measured(XEON)),
  used: number(0.5, "of the rate at the peak, where a publish has a p99 of 12.8 ms", measured(XEON)),
  cpu: curve(CPU_POINTS, "s of the processor for 1,000 events, by endpoints", measured(XEON)),
  endpoint_memory: number(15, "KB for each endpoint", measured(XEON)),
  removals: number(
    2778,
    "events/s that leave by their age: a million in six minutes",
    measured("2026-11-22"),
  ),
  stored_tried: number(1_000_000, "stored events: more was not tried", measured(XEON)),
  uploads_max: number(13.4, "uploads/s by `replica`: 67 for 1,000 at 200/s, 60 ms away", measured(XEON)),
  event_bytes: number(1372, "bytes on disk for an event of 1 KiB", measured("2026-11-29")),
  delivery_bytes: number(196, "bytes on disk for a delivery", measured("2026-11-29")),
  endpoints_max: number(100_000, "endpoints of a cell: more was not tried", measured("2026-11-29")),
  start: range(0.65, 2.02, "s from `kill -9` to `/readyz`", measured("2026-11-30")),
  take_over: range(6.5, 7.4, "s", promised("2026-11-29")),
  handover: number(1.2, "s", promised("2026-11-29")),
  unconfirmed: range(0.125, 1.226, "s before the end of a machine, in three runs", promised("2026-11-23")),

  cores: number(2, "for each machine: what all of it was measured on", measured(XEON)),
  memory: number(2048, "MiB for each machine: customers that you do not know", OPERATING),
  copied: number(1, "bytes for each of the database: bodies that do not compress", OPERATING),
  copies_on_disk: number(5, "databases: its own, two older ones, two for the drill", PAIR),
  lease: number(5, "s without the store, then nothing is answered", PAIR),
  lease_write: number(1.5, "s between two renewals of the lease", PAIR),
  lease_read: number(0.5, "s between two looks of the standby", PAIR),
  replica_days: number(30, "days, a whole copy each", "`litestream.yml`"),
  levels: number(3, "times each change: levels of 30 s, 5 min and 1 h", LITESTREAM),
  part: number(5, "MiB for each part of an object", LITESTREAM),
  parts_max: number(10_000, "parts of an object", LITESTREAM),
  cells_max: number(1024, "cells in one list", "`src/cells/list.ts`"),

  restore_speed: number(100, "MB/s: `sealpost backup verify` tells yours", ASSUMED),
  upload_speed: number(100, "MB/s", ASSUMED),
  router_rate: number(10_000, "requests/s for each core of the router", ASSUMED),
  sent: number(1600, "bytes on the wire for each delivery", ASSUMED),
  process_ends: number(12, "a year, of each cell", ASSUMED),
  machine_ends: number(1, "a year, of each machine", ASSUMED),
  disk_ends: number(0.02, "a year, of each machine", ASSUMED),
  replace_minutes: number(10, "min until a new machine begins to restore", ASSUMED),
  zone_outages: number(0.2, "a year, of each zone", ASSUMED),
  zone_minutes: number(60, "min in the mean", ASSUMED),
  store_outages: number(1, "a year, of all cells", ASSUMED),
  store_minutes: number(30, "min in the mean", ASSUMED),

  core_price: number(15, "USD a month", PRICE),
  memory_price: number(2, "USD a GiB and month", PRICE),
  disk_price: number(0.08, "USD a GB and month", PRICE),
  store_price: number(0.023, "USD a GB and month", PRICE),
  write_price: number(5, "USD a million", PRICE),
  read_price: number(0.4, "USD a million", PRICE),
  sent_price: number(0.05, "USD a GB", PRICE),
};

export type Inputs = { readonly [Name in keyof typeof INPUTS]: (typeof INPUTS)[Name]["value"] };

/** The inputs as they stand here. */
export const EXAMPLE = Object.fromEntries(
  Object.entries(INPUTS).map(([name, { value }]) => [name, value]),
) as Inputs;

/** The example with what a reader sets in its place. Throws SettingsError with all that is wrong in it. */
export function readInputs(given: Readonly<Record<string, unknown>>): Inputs {
  const problems = Object.entries(given).flatMap(([name, value]) => problemOf(name, value) ?? []);
  if (problems.length > 0) throw new SettingsError(problems);
  return { ...EXAMPLE, ...given };
}

function problemOf(name: string, value: unknown): string | null {
  if (!Object.hasOwn(INPUTS, name)) return `There is no input ${name}: plan.ts inputs lists them`;
  const { value: example } = INPUTS[name as keyof typeof INPUTS];
  if (typeof example === "number") {
    if (isNumber(value) && (value > 0 || MAY_BE_NONE.test(name))) return null;
    return `${name} must be a number above 0`;
  }
  if (typeof example[0] === "number")
    return isPair(value) && value[0] <= value[1] ? null : `${name} must be [lowest, highest]`;
  return isCurve(value) ? null : `${name} must be [[x, y], …], both of them rising`;
}

/** Prices, and how often something fails: none of it is an answer too. */
const MAY_BE_NONE = /_price$|_ends$|_outages$|^handovers$|_minutes$/;

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isPair(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every(isNumber);
}

/** Rising, as the model takes it that more is never cheaper. */
function isCurve(value: unknown): boolean {
  if (!Array.isArray(value) || value.length < 2 || !value.every(isPair)) return false;
  const points: [number, number][] = value;
  return points.every(([x, y], at) => {
    const [lastX, lastY] = points[at - 1] ?? [0, 0];
    return x > lastX && y > 0 && y >= lastY;
  });
}
