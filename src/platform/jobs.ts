import { Cron } from "croner";
import { createJobControl, type JobControl } from "./job-control.ts";

/**
 * Scheduled work: each job does what is due and nothing twice, so that a run that was cut short is made good
 * by the next.
 */
export interface Job {
  name: string;
  /** A cron pattern, in UTC, or milliseconds where it is too often for one. */
  every: string | number;
  /** Answers how many rows it removed or changed. */
  run: (control: JobControl) => Promise<number | void>;
}

export interface JobReport {
  name: string;
  rows: number;
  seconds: number;
  /** What it failed with; undefined where it did not. */
  error?: string;
}

/**
 * Runs jobs by their schedule, each also once at the start, and each one at a time: what comes due while it
 * runs is left out.
 *
 * | state    | true in it                                  | leaves when |
 * |----------|---------------------------------------------|-------------|
 * | idle     | nothing is scheduled                        | start       |
 * | started  | every job is scheduled                      | stop        |
 * | stopping | nothing is scheduled; what runs ends soon   | never       |
 */
export class Jobs {
  readonly #running = new Map<string, Promise<void>>();
  #timers: { stop(): void }[] = [];
  #stopping = false;

  /** `onRun` hears of every run that ended. */
  constructor(
    private readonly jobs: readonly Job[],
    private readonly onRun: (report: JobReport) => void,
  ) {}

  start(): void {
    this.reschedule();
    for (const job of this.jobs) void this.#run(job);
  }

  /** A pattern names instants of the wall clock: after that was set, the next one is looked for anew. */
  reschedule(): void {
    if (this.#stopping) return;
    for (const timer of this.#timers) timer.stop();
    this.#timers = this.jobs.map((job) => this.#schedule(job));
  }

  /** Runs a job now, or waits for the run that is under way. */
  run(name: string): Promise<void> {
    const job = this.jobs.find((known) => known.name === name);
    if (job === undefined) throw new Error(`there is no job ${name}`);
    return this.#run(job);
  }

  /** Runs a job from its beginning, after the run that is under way: for something that has just come up. */
  async runAgain(name: string): Promise<void> {
    await this.#running.get(name);
    await this.run(name);
  }

  /** Starts nothing any more; resolves when nothing runs. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#timers) timer.stop();
    await Promise.all(this.#running.values());
  }

  #schedule(job: Job): { stop(): void } {
    const start = () => void this.#run(job);
    if (typeof job.every === "string") return new Cron(job.every, { timezone: "UTC", unref: true }, start);
    const timer = setInterval(start, job.every);
    timer.unref();
    return { stop: () => clearInterval(timer) };
  }

  #run(job: Job): Promise<void> {
    const known = this.#running.get(job.name);
    if (known || this.#stopping) return known ?? Promise.resolve();
    const run = this.#perform(job).finally(() => this.#running.delete(job.name));
    this.#running.set(job.name, run);
    return run;
  }

  async #perform({ name, run }: Job): Promise<void> {
    const begin = performance.now();
    const report: JobReport = { name, rows: 0, seconds: 0 };
    try {
      report.rows = (await run(createJobControl(() => this.#stopping))) ?? 0;
    } catch (error) {
      report.error = String(error);
    }
    this.onRun({ ...report, seconds: (performance.now() - begin) / 1000 });
  }
}
