/** How many cells so many deliveries a month need, what bounds them, and what they cost. */
import { EXAMPLE, type Inputs } from "./plan-inputs.ts";

const DAY_SECONDS = 86_400;
export const YEAR_DAYS = 365.25;
const MONTH_DAYS = YEAR_DAYS / 12;
const MONTH_SECONDS = MONTH_DAYS * DAY_SECONDS;
const MB = 1e6;
const GB = 1e9;
const MIB = 2 ** 20;
/** Of Litestream's levels: a write each 30 s, each 5 min and each hour. */
const COMPACTIONS_PER_SECOND = 1 / 30 + 1 / 300 + 1 / 3600;
/** As any service that has to be there: one may be gone. */
const ROUTERS_MIN = 2;
const MACHINES = 2;

/** What arrives and what is kept: of all, of a cell, or of an account. */
export interface Load {
  deliveriesPerSecond: number;
  eventsPerSecond: number;
  endpoints: number;
  storedEvents: number;
  databaseBytes: number;
}

export function loadOf(deliveriesPerMonth: number, inputs: Inputs): Load {
  const events = deliveriesPerMonth / inputs.deliveries_per_event;
  const storedEvents = (events * inputs.retention_days) / MONTH_DAYS;
  const bytesEach = inputs.event_bytes + inputs.deliveries_per_event * inputs.delivery_bytes;
  return {
    deliveriesPerSecond: deliveriesPerMonth / MONTH_SECONDS,
    eventsPerSecond: events / MONTH_SECONDS,
    endpoints: deliveriesPerMonth / inputs.deliveries_per_endpoint,
    storedEvents,
    databaseBytes: storedEvents * bytesEach,
  };
}

/** Seconds of the processor for 1,000 events over so many endpoints: between two points by the logarithm. */
export function cpuOver(endpoints: number, { cpu }: Inputs): number {
  const at = cpu.findIndex(([x]) => x >= endpoints);
  const [lowX, lowY] = cpu[Math.max(0, at - 1)] ?? [1, 0];
  if (at <= 0) return at === 0 ? (cpu[0]?.[1] ?? 0) : (cpu.at(-1)?.[1] ?? 0);
  const [highX, highY] = cpu[at] ?? [1, 0];
  const share = Math.log(endpoints / lowX) / Math.log(highX / lowX);
  return lowY + share * (highY - lowY);
}

/** How many deliveries a second a cell makes at most over so many endpoints: as many as its processor can. */
export function rateOver(endpoints: number, inputs: Inputs): number {
  return (inputs.rate * cpuOver(1, inputs)) / cpuOver(endpoints, inputs);
}

/** Each bound of a cell: which part of one cell it would take to carry a load, 1 for a full one. */
export const BOUNDS = {
  "the processor": ({ deliveriesPerSecond, endpoints }, inputs) =>
    (deliveriesPerSecond * inputs.peak_over_mean) / (rateOver(endpoints, inputs) * inputs.used),
  "retention's pace": ({ eventsPerSecond }, inputs) => eventsPerSecond / inputs.removals,
  "endpoints of a cell": ({ endpoints }, inputs) => endpoints / inputs.endpoints_max,
  "time to restore": ({ databaseBytes }, inputs) =>
    restoreSeconds(databaseBytes, inputs) / (inputs.restore_minutes_max * 60),
  "size of one object": ({ databaseBytes }, inputs) =>
    (databaseBytes * inputs.copied) / (inputs.part * MIB * inputs.parts_max),
} as const satisfies Record<string, (load: Load, inputs: Inputs) => number>;

export type Bound = keyof typeof BOUNDS;
export const BOUND_NAMES = Object.keys(BOUNDS) as Bound[];

/** Up to this many cells are looked at. */
const CELLS_END = 2 ** 40;

/** The least number of cells of which none exceeds a bound; more cells never exceed it where fewer do not. */
export function cellsFor(deliveriesPerMonth: number, bound: Bound, inputs: Inputs): number {
  const fits = (cells: number) => BOUNDS[bound](loadOf(deliveriesPerMonth / cells, inputs), inputs) <= 1;
  let [tooFew, enough] = [0, 1];
  while (!fits(enough) && enough < CELLS_END) [tooFew, enough] = [enough, enough * 2];
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (fits(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

export function restoreSeconds(databaseBytes: number, inputs: Inputs): number {
  return databaseBytes / (inputs.restore_speed * MB);
}

/** The whole database goes up first after each take-over; until then no answer by `replica` comes. */
export function uploadSeconds(databaseBytes: number, inputs: Inputs): number {
  return (databaseBytes * inputs.copied) / (inputs.upload_speed * MB);
}

export interface Plan {
  deliveries: number;
  all: Load;
  cell: Load;
  cells: number;
  /** What decides their number. */
  bound: Bound;
  cellsByBound: Readonly<Record<Bound, number>>;
  /** The largest account, which lives in one cell: the part of a cell that it takes. */
  largestAccount: number;
  machines: number;
  cores: number;
  /** Cores that work, in the mean. */
  busyCores: number;
  memoryGiB: number;
  diskTB: number;
  restoreMinutes: number;
  uploadMinutes: number;
  storeTB: number;
  /** Millions a month. */
  writesByDisk: number;
  writesByReplica: number;
  reads: number;
  /** At the peak. */
  routerRequests: number;
  routerCores: number;
  costs: Readonly<Record<"machines" | "disks" | "store" | "requests" | "sent", number>>;
  /** USD a month, with answers by `replica`. */
  cost: number;
}

export function planFor(deliveries: number, inputs: Inputs = EXAMPLE, givenCells?: number): Plan {
  const counted = BOUND_NAMES.map((bound) => [bound, cellsFor(deliveries, bound, inputs)] as const);
  const [bound, needed] = counted.reduce((most, one) => (one[1] > most[1] ? one : most));
  const cells = givenCells ?? needed;
  const all = loadOf(deliveries, inputs);
  const cell = loadOf(deliveries / cells, inputs);
  const account = loadOf(deliveries * inputs.largest_account, inputs);
  const machines = cells * MACHINES;
  const sizes = {
    ...{ machines, cores: machines * inputs.cores, ...routersOf(all, machines, inputs) },
    memoryGiB: (machines * memoryMiB(cell, inputs)) / 1024,
    diskTB: (machines * cell.databaseBytes * inputs.copies_on_disk) / 1e12,
    storeTB: (cells * storedBytes(cell, inputs)) / 1e12,
    ...requestsOf(cell, cells, inputs),
  };
  const costs = costsOf(deliveries, sizes, inputs);
  return {
    ...{ deliveries, all, cell, cells, bound, costs },
    ...sizes,
    cellsByBound: Object.fromEntries(counted) as Record<Bound, number>,
    largestAccount: Math.max(...BOUND_NAMES.map((name) => BOUNDS[name](account, inputs))),
    busyCores: (all.deliveriesPerSecond * cpuOver(cell.endpoints, inputs)) / 1000,
    restoreMinutes: restoreSeconds(cell.databaseBytes, inputs) / 60,
    uploadMinutes: uploadSeconds(cell.databaseBytes, inputs) / 60,
    cost: Object.values(costs).reduce((sum, one) => sum + one, 0),
  };
}

function memoryMiB({ endpoints }: Load, inputs: Inputs): number {
  return inputs.memory + (endpoints * inputs.endpoint_memory) / 1024;
}

/** Whole copies, one a day, and what has changed since: once in each level. */
function storedBytes({ databaseBytes }: Load, inputs: Inputs): number {
  const changed = (databaseBytes / inputs.retention_days) * inputs.replica_days * inputs.levels;
  return (databaseBytes * inputs.replica_days + changed) * inputs.copied;
}

/** Of the object store, in millions a month. */
function requestsOf({ eventsPerSecond, databaseBytes }: Load, cells: number, inputs: Inputs) {
  const parts = (databaseBytes * inputs.copied) / (inputs.part * MIB) / DAY_SECONDS;
  const fixed = 1 / inputs.lease_write + COMPACTIONS_PER_SECOND + parts;
  const millions = (perSecond: number) => (perSecond * MONTH_SECONDS * cells) / 1e6;
  return {
    // Without an answer that waits there is one upload a second, and none where nothing is new.
    writesByDisk: millions(fixed + Math.min(eventsPerSecond, 1)),
    writesByReplica: millions(fixed + Math.min(eventsPerSecond, Math.max(1, inputs.uploads_max))),
    reads: millions(1 / inputs.lease_read),
  };
}

/** Publishes, and the question of each router to each machine once a second. Deliveries pass none of them. */
function routersOf({ eventsPerSecond }: Load, machines: number, inputs: Inputs) {
  const routerRequests = eventsPerSecond * inputs.peak_over_mean + ROUTERS_MIN * machines;
  const cores = Math.ceil(routerRequests / (inputs.router_rate * inputs.used));
  return { routerRequests, routerCores: Math.max(ROUTERS_MIN, cores) };
}

type Sizes = Pick<
  Plan,
  "cores" | "routerCores" | "memoryGiB" | "diskTB" | "storeTB" | "writesByReplica" | "reads"
>;

function costsOf(deliveries: number, sizes: Sizes, inputs: Inputs): Plan["costs"] {
  const { cores, routerCores, memoryGiB, diskTB, storeTB, writesByReplica, reads } = sizes;
  return {
    machines: (cores + routerCores) * inputs.core_price + memoryGiB * inputs.memory_price,
    disks: diskTB * 1000 * inputs.disk_price,
    store: storeTB * 1000 * inputs.store_price,
    requests: writesByReplica * inputs.write_price + reads * inputs.read_price,
    sent: ((deliveries * inputs.sent) / GB) * inputs.sent_price,
  };
}
