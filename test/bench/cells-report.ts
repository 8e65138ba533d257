/** What the bench of cells (cells.ts) computes from its runs and prints. */
import type { Measurement } from "./measurement.ts";
import { type Column, formatHeadOf, formatNumber, formatRowOf, median } from "./report.ts";

const MEBIBYTE = 1024 * 1024;

/** What is measured: so many cells, asked directly or through HAProxy. */
export interface Setup {
  name: string;
  cells: 1 | 2;
  isRouted: boolean;
}

/** Everything is compared with it. */
export const ALONE: Setup = { name: "one cell", cells: 1, isRouted: false };

export const SETUPS: Setup[] = [
  ALONE,
  { name: "one cell, HAProxy", cells: 1, isRouted: true },
  { name: "two cells, HAProxy", cells: 2, isRouted: true },
];

type Shared = "acceptedPerSecond" | "deliveredPerSecond" | "publish" | "otherCores";
type Counts = "accepted" | "lost" | "duplicates" | "refused";

/** One run of a setup. */
export interface SetupRun extends Pick<Measurement, Shared | Counts> {
  /** The name of the setup. */
  contender: string;
  /** CPU seconds for 1,000 accepted events, of all cells together. */
  cellsCpu: number;
  /** The same of HAProxy. */
  routerCpu: number | undefined;
  cellPeakBytes: number[];
  routerPeakBytes: number | undefined;
}

const LABEL_WIDTH = Math.max(...SETUPS.map(({ name }) => name.length)) + " median".length;

const columns: Column<SetupRun>[] = [
  { title: "accepted/s", digits: 0, read: (run) => run.acceptedPerSecond },
  { title: "delivered/s", digits: 0, read: (run) => run.deliveredPerSecond },
  { title: "publish p50 ms", digits: 2, read: (run) => run.publish.p50Ms },
  { title: "p99 ms", digits: 2, read: (run) => run.publish.p99Ms },
  { title: "CPU s/1,000: cells", digits: 4, read: (run) => run.cellsCpu },
  { title: "HAProxy", digits: 4, read: (run) => run.routerCpu },
  { title: "peak MiB: cell", digits: 0, read: (run) => toMebibytes(run.cellPeakBytes[0]) },
  { title: "cell 2", digits: 0, read: (run) => toMebibytes(run.cellPeakBytes[1]) },
  { title: "HAProxy", digits: 0, read: (run) => toMebibytes(run.routerPeakBytes) },
  { title: "other cores", digits: 2, read: (run) => run.otherCores },
];

/** What is divided by the same of the cell alone. */
const compared: { title: string; read: (run: SetupRun) => number }[] = [
  { title: "accepted/s", read: (run) => run.acceptedPerSecond },
  { title: "delivered/s", read: (run) => run.deliveredPerSecond },
  { title: "publish p50", read: (run) => run.publish.p50Ms },
  { title: "publish p99", read: (run) => run.publish.p99Ms },
  { title: "CPU of the cells", read: (run) => run.cellsCpu },
  { title: "CPU with HAProxy", read: (run) => run.cellsCpu + (run.routerCpu ?? 0) },
];

/** The head of the table that `formatSetupRuns` fills. */
export function formatSetupHead(): string {
  return formatHeadOf(columns, LABEL_WIDTH);
}

/** The medians of runs, or one of them, as a row. */
export function formatSetupRuns(label: string, runs: SetupRun[]): string {
  return formatRowOf(columns, label.padEnd(LABEL_WIDTH), runs);
}

export interface Ratio {
  title: string;
  median: number;
  lowest: number;
  highest: number;
}

/**
 * What each round of a setup has, divided by what the cell alone has in the same round: neighbours of the
 * machine change less within a round than from one round to the next.
 */
export function ratiosToAlone(runs: SetupRun[], name: string): Ratio[] {
  const alone = runs.filter(({ contender }) => contender === ALONE.name);
  const own = runs.filter(({ contender }) => contender === name);
  if (own.length !== alone.length) throw new Error(`${name} has not run as often as ${ALONE.name}`);
  return compared.map(({ title, read }) => {
    const ratios = own.map((run, round) => {
      const beside = alone[round];
      return beside === undefined ? Number.NaN : read(run) / read(beside);
    });
    return { title, median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
  });
}

/** The ratios of a setup in one line. */
export function formatRatios(runs: SetupRun[], name: string): string {
  const ratios = ratiosToAlone(runs, name).map(({ title, median: middle, lowest, highest }) => {
    const [low, mid, high] = [lowest, middle, highest].map((value) => formatNumber(value, 2));
    return `${title} ${mid} (${low} to ${high})`;
  });
  return `${name} ÷ ${ALONE.name}, median of the rounds (lowest to highest): ${ratios.join(", ")}`;
}

/** Publishes a second that would keep one core busy with HAProxy alone; undefined where it did not run. */
export function publishesPerRouterCore(runs: SetupRun[], name: string): number | undefined {
  const seconds = runs.filter((run) => run.contender === name).flatMap((run) => run.routerCpu ?? []);
  return seconds.length === 0 ? undefined : 1000 / median(seconds);
}

function toMebibytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / MEBIBYTE;
}
