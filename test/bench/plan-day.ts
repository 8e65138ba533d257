/**
 * Days of many cells, each a pair, with failures drawn from the stated rates: who is down for how long, what
 * is not accepted, and what is lost. The same seed gives the same days. A day begins with all pairs whole.
 */
import { Rng } from "../simulation/world.ts";
import type { Inputs } from "./plan-inputs.ts";
import { type Load, restoreSeconds, uploadSeconds, YEAR_DAYS } from "./plan-model.ts";

const DAY = 86_400;

export const CAUSES = ["process", "machine", "disk", "handover", "zone", "store"] as const;
export type Cause = (typeof CAUSES)[number];

/** Seconds of the day. */
interface Span {
  from: number;
  to: number;
}

export interface Failure {
  at: number;
  cause: Cause;
  /** The cell that it hits; of a zone or the store, all that are there. */
  cell: number;
  /** Of its pair: 0 or 1. */
  machine: number;
  zone: number;
  until: number;
}

export interface Day {
  failures: Readonly<Record<Cause, number>>;
  /** Of all cells together; a second with two causes counts for both here. */
  downByCause: Readonly<Record<Cause, number>>;
  cellSeconds: number;
  /** Seconds in which a cell answered nothing. */
  down: number;
  /** … and in which it did not answer after the replica. */
  unconfirmed: number;
  worstCell: number;
  /** Cells that were down at one instant. */
  downAtOnce: number;
  requests: number;
  refusedByDisk: number;
  refusedByReplica: number;
  /** Acknowledged events that are gone. By `replica` none: an answer says that the store has it. */
  lostByDisk: number;
}

export interface Fleet {
  cells: number;
  /** What one of them carries. */
  cell: Load;
}

export function simulateDay(seed: number, fleet: Fleet, inputs: Inputs): Day {
  const rng = new Rng(Math.imul(seed, 0x9e3779b1));
  // Rng begins alike for seeds that are alike.
  for (let n = 0; n < 8; n++) rng.next();
  const failures = drawFailures(rng, fleet, inputs);
  const outages = failures
    .filter(({ cause }) => cause === "store")
    .map(({ at, until }) => ({ from: at, to: until }));
  const parts = { rng, inputs, outages, databaseBytes: fleet.cell.databaseBytes };
  // Most pairs have a day without anything: only those that fail are made.
  const pairs = new Map<number, Pair>();
  const pairAt = (cell: number) => {
    const pair = pairs.get(cell) ?? new Pair(parts);
    pairs.set(cell, pair);
    return pair;
  };
  for (const failure of failures) {
    if (failure.cause !== "zone" && failure.cause !== "store") pairAt(failure.cell).suffer(failure);
    else
      for (let cell = 0; cell < fleet.cells; cell++)
        sufferTogether(pairAt(cell), cell, failure, inputs.zones);
  }
  return sumOf([...pairs.values()], failures, fleet);
}

/** A pair stands in two zones, its neighbour in the next two. */
function sufferTogether(pair: Pair, cell: number, failure: Failure, zones: number): void {
  if (failure.cause === "store") return pair.loseStore(failure);
  for (const machine of [0, 1])
    if ((cell + machine) % zones === failure.zone) pair.suffer({ ...failure, machine });
}

function drawFailures(rng: Rng, { cells, cell }: Fleet, inputs: Inputs): Failure[] {
  const back = inputs.replace_minutes * 60 + restoreSeconds(cell.databaseBytes, inputs);
  const all = (cause: Cause, aYear: number, seconds: () => number) =>
    arrivals(rng, aYear / YEAR_DAYS).map((at) => ({
      ...{ at, cause, until: at + seconds() },
      ...{ cell: rng.below(cells), machine: rng.below(2), zone: rng.below(inputs.zones) },
    }));
  return [
    all("process", cells * inputs.process_ends, () => between(rng, inputs.start)),
    all("machine", cells * 2 * inputs.machine_ends, () => back),
    all("disk", cells * 2 * inputs.disk_ends, () => back),
    all("handover", cells * inputs.handovers, () => inputs.handover),
    all("zone", inputs.zones * inputs.zone_outages, () => exponential(rng, inputs.zone_minutes * 60)),
    all("store", inputs.store_outages, () => exponential(rng, inputs.store_minutes * 60)),
  ]
    .flat()
    .toSorted((a, b) => a.at - b.at);
}

/** Instants of a day at which something happens that comes so many times a day in the mean. */
function arrivals(rng: Rng, perDay: number): number[] {
  const found: number[] = [];
  if (perDay === 0) return found;
  const gap = () => exponential(rng, DAY / perDay);
  for (let at = gap(); at < DAY; at += gap()) found.push(at);
  return found;
}

function exponential(rng: Rng, mean: number): number {
  return -Math.log(1 - rng.next()) * mean;
}

function between(rng: Rng, [low, high]: readonly [number, number]): number {
  return low + rng.next() * (high - low);
}

interface Parts {
  rng: Rng;
  inputs: Inputs;
  /** When the store is away. */
  outages: readonly Span[];
  databaseBytes: number;
}

export class Pair {
  readonly down: (Span & { cause: Cause })[] = [];
  /** After a take-over, until the first upload is complete. */
  readonly waits: Span[] = [];
  lostSeconds = 0;
  /** Until when each machine is gone. */
  readonly #goneUntil: [number, number] = [0, 0];
  #primary = 0;
  /** The primary answers from then on; until `#wholeAt` its newest is on its disk alone. */
  #readyAt = 0;
  #wholeAt = 0;

  constructor(readonly parts: Parts) {}

  suffer(failure: Failure): void {
    if (failure.cause === "process") this.#restart(failure);
    else if (failure.cause === "handover") this.#handOver(failure);
    else this.#loseMachine(failure);
  }

  /** Nothing is answered once the lease has not been renewed for its time; by `replica` nothing at all. */
  loseStore({ at, until }: Failure): void {
    const { lease } = this.parts.inputs;
    this.waits.push({ from: at, to: until });
    if (until > at + lease) this.#stop(at + lease, until, "store");
  }

  /** On its own disk: nothing is lost, and nobody takes over. */
  #restart({ at, until }: Failure): void {
    if (at >= this.#readyAt) this.#stop(at, until, "process");
  }

  /** Planned: only while the pair is whole and the store is there. */
  #handOver({ at, until }: Failure): void {
    const isWhole = at >= this.#wholeAt && this.#goneUntil.every((gone) => gone <= at);
    if (!isWhole || this.#storeBack(at) > at) return;
    this.#takeOver(1 - this.#primary, at, until, "handover");
  }

  #loseMachine({ at, until, cause, machine }: Failure): void {
    const gone = this.#goneUntil;
    gone[machine] = Math.max(gone[machine] ?? 0, until);
    if (machine !== this.#primary) return;
    const other = 1 - machine;
    const [own, others] = [gone[machine] ?? 0, Math.max(gone[other] ?? 0, at)];
    const heir = others <= own ? other : machine;
    const keepsDisk = heir === machine && cause === "zone";
    if (!keepsDisk) this.lostSeconds += this.#unconfirmedAt(at);
    const from = this.#storeBack(Math.min(own, others));
    this.#takeOver(heir, at, from + between(this.parts.rng, this.parts.inputs.take_over), cause);
  }

  #takeOver(heir: number, at: number, readyAt: number, cause: Cause): void {
    this.#stop(at, readyAt, cause);
    this.#primary = heir;
    this.#readyAt = readyAt;
    this.#wholeAt = this.#afterUpload(readyAt);
    this.waits.push({ from: readyAt, to: this.#wholeAt });
  }

  /** Seconds whose answers by the disk alone are gone with the primary. */
  #unconfirmedAt(at: number): number {
    if (at <= this.#readyAt) return 0;
    const { inputs, rng, outages } = this.parts;
    // Before the first upload of a new primary: all that it has accepted.
    if (at < this.#wholeAt) return at - this.#readyAt;
    const outage = outages.find(({ from, to }) => from <= at && at < to);
    const sinceOutage = outage === undefined ? 0 : Math.min(at - outage.from, inputs.lease);
    return between(rng, inputs.unconfirmed) + sinceOutage;
  }

  #stop(from: number, to: number, cause: Cause): void {
    this.down.push({ from, to, cause });
  }

  #storeBack(at: number): number {
    return this.parts.outages.reduce((back, { from, to }) => (from <= back && back < to ? to : back), at);
  }

  /** While the store is away, an upload stands still. */
  #afterUpload(from: number): number {
    const { inputs, outages, databaseBytes } = this.parts;
    let to = from + uploadSeconds(databaseBytes, inputs);
    for (const outage of outages)
      if (outage.from < to && outage.to > from) to += outage.to - Math.max(outage.from, from);
    return to;
  }
}

function sumOf(pairs: readonly Pair[], failures: readonly Failure[], { cells, cell }: Fleet): Day {
  const downs = pairs.map((pair) => unionOf(pair.down));
  const waits = pairs.map((pair) => unionOf([...pair.down, ...pair.waits]));
  const perCell = downs.map(lengthOf);
  const down = sum(perCell);
  const unconfirmed = sum(waits.map(lengthOf));
  const byCause = (count: (cause: Cause) => number) =>
    Object.fromEntries(CAUSES.map((cause) => [cause, count(cause)])) as Record<Cause, number>;
  const spansOf = (cause: Cause) =>
    pairs.flatMap((pair) => unionOf(pair.down.filter((span) => span.cause === cause)));
  return {
    failures: byCause((cause) => failures.filter((failure) => failure.cause === cause).length),
    downByCause: byCause((cause) => lengthOf(spansOf(cause))),
    ...{ cellSeconds: cells * DAY, down, unconfirmed },
    worstCell: perCell.reduce((most, one) => Math.max(most, one), 0),
    downAtOnce: mostAtOnce(downs.flat()),
    requests: cells * DAY * cell.eventsPerSecond,
    refusedByDisk: down * cell.eventsPerSecond,
    refusedByReplica: unconfirmed * cell.eventsPerSecond,
    lostByDisk: sum(pairs.map(({ lostSeconds }) => lostSeconds)) * cell.eventsPerSecond,
  };
}

/** The same seconds of the day without an overlap. */
export function unionOf(spans: readonly Span[]): Span[] {
  const found: Span[] = [];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    const end = Math.min(to, DAY);
    if (from >= end) continue;
    if (last && from <= last.to) last.to = Math.max(last.to, end);
    else found.push({ from, to: end });
  }
  return found;
}

/** How many spans there are at one instant at most; one that ends as another begins does not count. */
export function mostAtOnce(spans: readonly Span[]): number {
  const steps = spans.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ]);
  let [now, most] = [0, 0];
  for (const { by } of steps.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

function lengthOf(spans: readonly Span[]): number {
  return sum(spans.map(({ from, to }) => to - from));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
