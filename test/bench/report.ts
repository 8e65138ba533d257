import type { Measurement } from "./measurement.ts";

/** What the bare loop delivers on two cores with nothing else to do; below it the machine is busy. */
const BARE_MIN_PER_SECOND = 8_000;
const LABEL_WIDTH = 14;
const MEBIBYTE = 1024 * 1024;

/** A column of a table with a row for each run. */
export interface Column<Run> {
  title: string;
  digits: number;
  /** Undefined where the run has no such number. */
  read: (run: Run) => number | undefined;
}

/** What makes a run worthless. */
type Counts = Pick<Measurement, "accepted" | "lost" | "duplicates" | "refused"> & { contender: string };

const columns: Column<Measurement>[] = [
  { title: "accepted/s", digits: 0, read: (run) => run.acceptedPerSecond },
  { title: "delivered/s", digits: 0, read: (run) => run.deliveredPerSecond },
  { title: "publish p50 ms", digits: 2, read: (run) => run.publish.p50Ms },
  { title: "p99 ms", digits: 2, read: (run) => run.publish.p99Ms },
  { title: "received p50 ms", digits: 2, read: (run) => run.delivery.p50Ms },
  { title: "p99 ms", digits: 2, read: (run) => run.delivery.p99Ms },
  { title: "CPU s/1,000", digits: 4, read: (run) => run.cpuSecondsPerThousand },
  { title: "RSS idle MiB", digits: 0, read: (run) => run.idleBytes / MEBIBYTE },
  { title: "peak", digits: 0, read: (run) => run.peakBytes / MEBIBYTE },
  { title: "after", digits: 0, read: (run) => run.afterBytes / MEBIBYTE },
  { title: "files", digits: 0, read: (run) => run.files },
  { title: "other cores", digits: 2, read: (run) => run.otherCores },
];

/** The head of the table that `formatRun` and `formatMedians` fill. */
export function formatHead(): string {
  return formatHeadOf(columns, LABEL_WIDTH);
}

/** One run as a row. */
export function formatRun(label: string, run: Measurement): string {
  return formatRowOf(columns, label.padEnd(LABEL_WIDTH), [run]);
}

/** The median of every column over the runs of one contender, as a row. */
export function formatMedians(label: string, runs: Measurement[]): string {
  return formatRowOf(columns, label.padEnd(LABEL_WIDTH), runs);
}

/** `service ÷ bare` of the median delivered/s; undefined where one of the two did not run. */
export function ratioToBare(runs: Measurement[]): number | undefined {
  const bare = deliveredPerSecond(runs, "bare");
  const service = deliveredPerSecond(runs, "service");
  return bare === undefined || service === undefined ? undefined : service / bare;
}

/** Everything that makes the run worthless, each as a sentence; empty where the numbers can be trusted. */
export function findFaults(runs: Measurement[]): string[] {
  const faults = runs.flatMap(findFaultsOfRun);
  const bare = deliveredPerSecond(runs, "bare");
  if (bare !== undefined && bare < BARE_MIN_PER_SECOND) {
    faults.push(
      `the machine is not quiet: the bare loop delivered ${bare.toFixed(0)}/s, less than ${BARE_MIN_PER_SECOND}/s`,
    );
  }
  return faults;
}

/** As `findFaults`, of one run alone. */
export function findFaultsOfRun(run: Counts): string[] {
  const faults: string[] = [];
  if (run.lost !== 0) faults.push(`${run.contender} lost ${run.lost} of ${run.accepted} accepted events`);
  if (run.duplicates > 0) faults.push(`${run.contender} sent ${run.duplicates} deliveries more than once`);
  for (const [status, count] of Object.entries(run.refused)) {
    faults.push(`${run.contender} answered ${count} publishes with ${status}`);
  }
  return faults;
}

/** The titles, after room for labels of that width. */
export function formatHeadOf<Run>(of: Column<Run>[], labelWidth: number): string {
  return ["".padEnd(labelWidth), ...of.map(({ title }) => title)].join("  ");
}

/** The median of every column over the runs, as a row; a dash where none has the number. */
export function formatRowOf<Run>(of: Column<Run>[], label: string, runs: Run[]): string {
  const cells = of.map(({ title, digits, read }) => {
    const values = runs.map(read).filter((value) => value !== undefined);
    return (values.length === 0 ? "–" : formatNumber(median(values), digits)).padStart(title.length);
  });
  return [label, ...cells].join("  ");
}

export function formatNumber(value: number, digits: number): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function deliveredPerSecond(runs: Measurement[], contender: Measurement["contender"]): number | undefined {
  const values = runs.filter((run) => run.contender === contender).map((run) => run.deliveredPerSecond);
  return values.length === 0 ? undefined : median(values);
}

/** The middle one, or the mean of the two in the middle. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}
