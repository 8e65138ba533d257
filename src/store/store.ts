import type { Database } from "bun:sqlite";
import { unavailable } from "../core/errors.ts";
import { firstKeyAt, KeySequence } from "../core/ids.ts";
import { type Share, type TurnParts, TurnQueue } from "../core/structures/turn-queue.ts";
import { isBusy, isDiskError, isFull } from "./disk-error.ts";

/**
 * The store: reads are plain calls, writes are promises that resolve once they are on disk.
 *
 * Writes that arrive together share one transaction. The transaction commits on this thread, which only
 * copies pages into the WAL; the WAL is then synced on the thread pool, and only after that do the promises
 * resolve. So the event loop never waits for the disk, and what comes in during a sync is the next batch.
 *
 * | state    | true in it                                          | leaves when                            |
 * |----------|-----------------------------------------------------|----------------------------------------|
 * | idle     | no write waits, no sync runs                        | a write comes                          |
 * | gathering| writes wait, a commit is scheduled                  | the loop comes round                   |
 * | syncing  | one sync runs; writes that come meanwhile wait      | the sync ends (its writes resolve)     |
 * | held     | a checkpoint needs the WAL to stand still; writes wait | the checkpoint ends                 |
 * | full     | the disk had no room: writes are refused with 503, outcomes of attempts are kept | a probe commits |
 * | failed   | a commit or sync failed otherwise: nothing is acknowledged any more | never: the process ends |
 * | closed   | the process stops: nothing is written any more      | never                                  |
 */

export interface StoreParts extends TurnParts {
  now: () => number;
  /** Brings the WAL to the disk (fsync on the thread pool). */
  sync: () => Promise<void>;
  /** Runs `probe` after some time while the disk is full. */
  later: (ms: number, probe: () => void) => void;
  /** The disk failed: the process must end, since nothing is known of what it holds. */
  fail: (error: Error) => void;
  /** Work that nobody waits for came to an end that should not be. */
  report: (work: string, error: unknown) => void;
}

interface Job {
  run(): unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Kept through a full disk: the outcome of an attempt that was already made. */
  kept: boolean;
  value: unknown;
  /** What it threw; null where it is committed. */
  error: unknown;
}

/** Something that gathers over one transaction. */
export interface BatchPart {
  /** Writes what was gathered, before the commit. */
  flush(): void;
  /** The transaction is committed. */
  done(): void;
  /** The transaction was rolled back: nothing of it exists. */
  reset(): void;
}

const PROBE_MS = 1000;
const BUSY_MS = 10;

export class Store {
  readonly keys: KeySequence;
  /** For all work that can be divided. */
  readonly turns: TurnQueue;
  #jobs: Job[] = [];
  /** Where the one batch stands that is under way: batches are answered in their order. */
  #step: "none" | "scheduled" | "committing" | "syncing" = "none";
  /** `failed` is for ever: nothing is written or answered any more. */
  #disk: "fine" | "full" | "failed" = "fine";
  /** Nothing commits for a while (`holdCommits`). */
  #isHeld = false;
  /** Since when some write has had no answer; null where none waits. */
  #waitingSince: number | null = null;
  /** When the transaction that runs began. */
  #began: number | null = null;
  #parts: BatchPart[] = [];
  readonly #onRecovered: (() => void)[] = [];
  readonly #onFull: (() => void)[] = [];
  readonly #onTimed: ((what: "commit" | "sync", ms: number) => void)[] = [];
  #idle: (() => void)[] = [];
  #onCommitted: (() => void)[] = [];
  commits = 0;

  constructor(
    readonly sqlite: Database,
    private readonly parts: StoreParts,
  ) {
    this.keys = new KeySequence(lastKey(sqlite));
    this.turns = new TurnQueue(parts);
    this.begin = sqlite.prepare("BEGIN IMMEDIATE");
    this.commit = sqlite.prepare("COMMIT");
    this.rollback = sqlite.prepare("ROLLBACK");
    this.probe = sqlite.prepare(
      "INSERT INTO meta (name, value) VALUES ('probe', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    );
  }

  private readonly begin;
  private readonly commit;
  private readonly rollback;
  private readonly probe;

  /** A new key; inside a write, so that keys and commits have the same order. */
  takeKey(count = 1): number {
    return this.keys.take(this.now(), count);
  }

  /** Every key so far, also of before the last start, is at most this one; every later one is larger. */
  get latestKey(): number {
    return Math.max(this.keys.last, firstKeyAt(this.now()) - 1);
  }

  /**
   * Inside a write the instant at which its transaction began: asked for many times an event, the clock is
   * not free.
   */
  now(): number {
    return this.#began ?? this.parts.now();
  }

  /** False while the disk is full or has failed. */
  get writable(): boolean {
    return this.#disk === "fine";
  }

  /** For how long the disk has answered nothing, although it was asked; a disk that is full does answer. */
  get silentMs(): number {
    return this.#waitingSince === null ? 0 : performance.now() - this.#waitingSince;
  }

  /** Writes that no transaction has taken yet. */
  get waiting(): number {
    return this.#jobs.length;
  }

  /**
   * Runs `run` in a transaction and resolves with its value once that is on disk. `run` is synchronous,
   * changes nothing but the database, and may run again after a rollback. Rejects with what it throws, or
   * with `unavailable` while the disk is full, unless `kept`: then it waits for the disk.
   */
  write<T>(run: () => T, kept = false): Promise<T> {
    if (!this.writable && !kept)
      return Promise.reject(unavailable("The service cannot write at the moment."));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#jobs.push({ run, resolve, reject, kept, value: undefined, error: null });
    this.#waitingSince ??= performance.now();
    this.#gather();
    return promise as Promise<T>;
  }

  /** Runs `next` when the loop comes round: what others wait for goes first. */
  schedule(next: () => void): void {
    this.parts.schedule(next);
  }

  /** Begins the share that a work has of this turn of the loop. */
  beginShare(): Share {
    return this.parts.beginShare();
  }

  /**
   * Lets `running` go on without anybody who waits for it. What it fails with ends it and is told: whoever is
   * served besides must not suffer from a row that one part of the program cannot cope with, at this start
   * and at the next.
   */
  unattended(work: string, running: Promise<unknown>): void {
    running.catch((error: unknown) => this.report(work, error));
  }

  report(work: string, error: unknown): void {
    this.parts.report(work, error);
  }

  /** Runs `run` while nothing commits: writes wait for it, the event loop does not. */
  async holdCommits(run: () => Promise<unknown>): Promise<void> {
    this.#isHeld = true;
    try {
      await run();
    } finally {
      this.#isHeld = false;
      this.#gather();
    }
  }

  /** Resolves with the next transaction that is on disk, after those who wrote it. */
  untilCommitted(): Promise<void> {
    return new Promise((resolve) => this.#onCommitted.push(resolve));
  }

  addBatchPart(part: BatchPart): void {
    this.#parts.push(part);
  }

  /** Calls `listener` whenever the disk takes writes again. */
  onRecovered(listener: () => void): void {
    this.#onRecovered.push(listener);
  }

  /** Calls `listener` when the disk is found full, once until it takes writes again. */
  onFull(listener: () => void): void {
    this.#onFull.push(listener);
  }

  /** Calls `listener` with how long each transaction and each sync took. */
  onTimed(listener: (what: "commit" | "sync", ms: number) => void): void {
    this.#onTimed.push(listener);
  }

  /** Writes what waits, then nothing any more: what comes later stays unanswered, as after a crash. */
  async close(): Promise<void> {
    await this.settled();
    this.#disk = "failed";
  }

  /** Resolves when nothing waits for the disk. */
  async settled(): Promise<void> {
    while (this.writable && (this.#jobs.length > 0 || this.#step === "syncing")) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  #gather(): void {
    if (this.#step !== "none" || this.#isHeld || !this.writable || this.#jobs.length === 0) return;
    this.#step = "scheduled";
    this.parts.schedule(() => this.#commitBatch());
  }

  #commitBatch(): void {
    this.#step = "none";
    if (!this.writable || this.#isHeld) return;
    this.#step = "committing";
    const waiting = this.#jobs;
    const began = performance.now();
    const { count, failure } = this.#transact(waiting);
    this.#tellTimed("commit", performance.now() - began);
    const batch = waiting.slice(0, count);
    this.#jobs = waiting.slice(count);
    // A write that throws must not take its neighbours with it: each once more, alone.
    const alone = failure !== null && !isDiskError(failure) && !isBusy(failure) && batch.length > 1;
    for (const job of batch) job.error = alone ? this.#transact([job]).failure : failure;
    const busy = batch.filter((job) => isBusy(job.error));
    if (busy.length > 0) this.#jobs = [...busy, ...this.#jobs];
    const stopped = batch.filter((job) => isDiskError(job.error));
    if (stopped.length > 0) this.#refuse(stopped, stopped[0]?.error);
    const decided = batch.filter((job) => !isBusy(job.error) && !isDiskError(job.error));
    if (decided.length > 0) void this.#sync(decided);
    else if (busy.length > 0) this.#tryAgain();
    else this.#step = "none";
  }

  /**
   * Somebody else holds the write lock for a moment (Litestream, around its checkpoints): nothing is lost
   * but time.
   */
  #tryAgain(): void {
    this.#step = "scheduled";
    this.parts.later(BUSY_MS, () => this.#commitBatch());
  }

  /**
   * Runs jobs in one transaction, as many as their share of the turn has time for: `count` of them, and what
   * was thrown, or null. After a throw nothing of them is done.
   */
  #transact(jobs: readonly Job[]): { count: number; failure: unknown } {
    const share = this.beginShare();
    let count = 0;
    try {
      this.#began = this.parts.now();
      this.begin.run();
      for (const job of jobs) {
        if (count > 0 && share.isOver) break;
        count++;
        job.value = job.run();
      }
      for (const part of this.#parts) part.flush();
      this.commit.run();
    } catch (error) {
      for (const part of this.#parts) part.reset();
      if (this.sqlite.inTransaction) this.rollback.run();
      // Where it could not even begin, the first one stands for all.
      return { count: Math.max(1, count), failure: error ?? new Error("a write threw nothing") };
    } finally {
      this.#began = null;
    }
    for (const part of this.#parts) part.done();
    this.commits++;
    return { count, failure: null };
  }

  async #sync(batch: Job[]): Promise<void> {
    this.#step = "syncing";
    const began = performance.now();
    try {
      await this.parts.sync();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#step = "none";
    this.#tellTimed("sync", performance.now() - began);
    for (const job of batch) {
      if (job.error === null) job.resolve(job.value);
      else job.reject(job.error);
    }
    for (const resolve of this.#onCommitted.splice(0)) resolve();
    this.#waitingSince = this.#jobs.length > 0 ? performance.now() : null;
    this.#gather();
    if (this.#jobs.length === 0) this.#tellIdle();
  }

  #tellTimed(what: "commit" | "sync", ms: number): void {
    for (const listener of this.#onTimed) listener(what, ms);
  }

  #tellIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** The batch was rolled back. A full disk is waited for; any other failure of the disk ends the process. */
  #refuse(batch: Job[], error: unknown): void {
    if (!isFull(error)) {
      this.#fail(error);
      return;
    }
    if (this.#disk === "fine") for (const listener of this.#onFull) listener();
    this.#disk = "full";
    this.#waitingSince = null;
    const waiting = [...batch, ...this.#jobs];
    this.#jobs = waiting.filter((job) => job.kept);
    for (const job of waiting) if (!job.kept) job.reject(unavailable("The disk is full."));
    this.#tellIdle();
    this.parts.later(PROBE_MS, () => this.#probe());
  }

  #probe(): void {
    if (this.#disk !== "full") return;
    try {
      this.probe.run(Buffer.alloc(4096, this.keys.last % 256));
    } catch (error) {
      if (isFull(error) || isBusy(error)) this.parts.later(PROBE_MS, () => this.#probe());
      else this.#fail(error);
      return;
    }
    this.#disk = "fine";
    if (this.#jobs.length > 0) this.#waitingSince = performance.now();
    this.#gather();
    for (const listener of this.#onRecovered) listener();
  }

  #fail(error: unknown): void {
    this.#disk = "failed";
    this.#tellIdle();
    this.parts.fail(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Every table whose rows have a key of their own, whatever migration made it. */
function keyedTables(sqlite: Database): string[] {
  const rows = sqlite.query<{ name: string }, []>(
    `SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
     WHERE t.type = 'table' AND c.name = 'id' AND c.type = 'INTEGER' AND c.pk = 1
       AND (SELECT count(*) FROM pragma_table_info(t.name) WHERE pk > 0) = 1`,
  );
  return rows.all().map(({ name }) => name);
}

function lastKey(sqlite: Database): number {
  const maxima = keyedTables(sqlite).map((table) => `SELECT max(id) AS id FROM ${table}`);
  // Keys that a fan-out has set aside for deliveries that are still to be written.
  maxima.push("SELECT max(first_key + total) - 1 AS id FROM fanout");
  // Positions in the queues of polled endpoints (src/delivery/poll-actor.ts) are keys too.
  maxima.push(
    `SELECT max((SELECT max(queue_order) FROM delivery WHERE endpoint_id = endpoint.id AND queue_order IS NOT NULL)) AS id
     FROM endpoint WHERE kind = 'poll'`,
  );
  // What was the newest may be gone: the index says how far keys went, and takes nothing below that for new
  // after a crash.
  maxima.push("SELECT value AS id FROM meta WHERE name = 'indexed'");
  const union = maxima.join(" UNION ALL ");
  const row = sqlite.query<{ last: number | null }, []>(`SELECT max(id) AS last FROM (${union})`).get();
  return row?.last ?? 0;
}
