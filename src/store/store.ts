import type { Database } from "bun:sqlite";
import { unavailable } from "../core/errors.ts";
import { firstKeyAt, KeySequence } from "../core/ids.ts";
import { Slices } from "../core/structures/slices.ts";
import { type Share, type TurnParts, TurnQueue } from "../core/structures/turn-queue.ts";
import { isBusy, isDiskError, isFull } from "./disk-error.ts";
import { lastKey } from "./store-keys.ts";
import { type Owner, type Write, WriteLines } from "./write-lines.ts";

/**
 * The store: reads are plain calls, writes are promises that resolve once they are on disk.
 *
 * Writes that arrive together share one transaction. The transaction commits on this thread, which only
 * copies pages into the WAL; the WAL is then synced on the thread pool, and only after that do the promises
 * resolve. So the event loop never waits for the disk, and what comes in during a sync is the next batch.
 *
 * | state      | true in it                                         | leaves when                    |
 * |------------|----------------------------------------------------|--------------------------------|
 * | idle       | no batch is under way; writes wait only for a hold | a write comes, the hold ends   |
 * | gathering  | writes wait, a commit is scheduled                 | the loop comes round, or 10 ms |
 * | committing | a batch is in its transaction, on this thread      | it is committed or rolled back |
 * | syncing    | one sync runs; writes that come meanwhile wait     | it ends: its writes resolve    |
 * | full       | no room: kept writes wait, others get a 503        | a look finds room              |
 * | failed     | a commit or sync failed: nothing is acknowledged   | never: the process ends        |
 * | closed     | the process stops: nothing is written any more     | never                          |
 *
 * In any of them commits may be held, because a checkpoint needs the WAL to stand still: until the hold ends
 * no batch commits and nobody looks for room; a sync that runs goes on.
 */

export interface StoreParts extends TurnParts {
  now: () => number;
  /** Brings the WAL to the disk (fsync on the thread pool). */
  sync: () => Promise<void>;
  /** Runs `next` after some time: the disk is full, somebody else writes, or long work rests. */
  later: (ms: number, next: () => void) => void;
  /** The disk failed: the process must end, since nothing is known of what it holds. */
  fail: (error: Error) => void;
  /** Work that nobody waits for came to an end that should not be. */
  report: (work: string, error: unknown) => void;
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

/** The first column of the table above. */
type State = "idle" | "gathering" | "committing" | "syncing" | "full" | "failed" | "closed";

const LOOK_MS = 1000;
const BUSY_MS = 10;

export class Store {
  readonly keys: KeySequence;
  /** For all work that can be divided. */
  readonly turns: TurnQueue;
  /** For what ends in slices, and nobody waits for. */
  readonly slices: Slices;
  readonly #waiting = new WriteLines();
  /** Milliseconds of a clock that never goes back; it stands still where the parts have none. */
  readonly #monotonic: () => number;
  #state: State = "idle";
  /** Nothing commits for a while (`holdCommits`), whatever the state. */
  #isHeld = false;
  /** Nothing more is taken. */
  #isClosing = false;
  /** Since when some write has had no answer, if the store is writable; null where none waits. */
  #waitingSince: number | null = null;
  /** When the transaction that runs began. */
  #began: number | null = null;
  readonly #batchParts: BatchPart[] = [];
  readonly #onWritable: (() => void)[] = [];
  readonly #onFull: (() => void)[] = [];
  readonly #onTimed: ((what: "commit" | "sync", ms: number) => void)[] = [];
  readonly #onSettled: (() => void)[] = [];
  readonly #onCommitted: (() => void)[] = [];
  commits = 0;

  constructor(
    readonly sqlite: Database,
    private readonly parts: StoreParts,
  ) {
    this.keys = new KeySequence(lastKey(sqlite));
    this.turns = new TurnQueue(parts);
    this.#monotonic = parts.monotonic ?? (() => 0);
    this.slices = new Slices({ monotonic: this.#monotonic, later: parts.later });
    this.begin = sqlite.prepare("BEGIN IMMEDIATE");
    this.commit = sqlite.prepare("COMMIT");
    this.rollback = sqlite.prepare("ROLLBACK");
    this.writeAPage = sqlite.prepare(
      "INSERT INTO meta (name, value) VALUES ('probe', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    );
  }

  private readonly begin;
  private readonly commit;
  private readonly rollback;
  private readonly writeAPage;

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

  /** False while the disk is full, once it has failed, and from the beginning of the end. */
  get writable(): boolean {
    return !this.#isClosing && this.#isAtWork;
  }

  get #isAtWork(): boolean {
    return this.#state !== "full" && this.#state !== "failed" && this.#state !== "closed";
  }

  /** For how long the disk has answered nothing, although it was asked; a disk that is full does answer. */
  get silentMs(): number {
    return this.#isAtWork && this.#waitingSince !== null ? performance.now() - this.#waitingSince : 0;
  }

  /** Writes that no transaction has taken yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs `run` in a transaction and resolves with its value once that is on disk. `run` is synchronous,
   * changes nothing but the database, and may run again after a rollback. Rejects with what it throws, or
   * with `unavailable` while the disk is full, unless `kept`: then it waits for the disk.
   */
  write<T>(run: () => T, kept = false): Promise<T> {
    return this.writeFor(null, run, kept);
  }

  /**
   * `write` for a project: where more waits than a transaction has time for, projects take turns by the
   * time that their writes take. Writes of one project keep their order; those of two, or of a project and of
   * nobody, do not.
   */
  writeFor<T>(owner: Owner, run: () => T, kept = false): Promise<T> {
    if (!this.writable && !kept)
      return Promise.reject(unavailable("The service cannot write at the moment."));
    if (this.#isClosing) return new Promise(() => {});
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ run, resolve, reject, kept, owner, value: undefined, error: null });
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
    this.#batchParts.push(part);
  }

  /** Calls `listener` whenever the disk takes writes again. */
  onWritable(listener: () => void): void {
    this.#onWritable.push(listener);
  }

  /** Calls `listener` when the disk is found full, once until it takes writes again. */
  onFull(listener: () => void): void {
    this.#onFull.push(listener);
  }

  /** Calls `listener` with how long each transaction and each sync took. */
  onTimed(listener: (what: "commit" | "sync", ms: number) => void): void {
    this.#onTimed.push(listener);
  }

  /**
   * Writes what waits, and nothing any more: what is kept from now on stays unanswered, as after a crash.
   * Else whoever writes slice after slice would hold up the end of the process.
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.settled();
    this.#enter("closed");
  }

  /** Resolves when nothing waits for the disk. */
  async settled(): Promise<void> {
    while (this.#isAtWork && (this.#waiting.size > 0 || this.#state === "syncing")) {
      await new Promise<void>((resolve) => this.#onSettled.push(resolve));
    }
  }

  /** The only place that sets the state; the last two are never left. */
  #enter(next: State): void {
    if (this.#state !== "failed" && this.#state !== "closed") this.#state = next;
  }

  #gather(): void {
    if (this.#state !== "idle" || this.#isHeld || this.#waiting.size === 0) return;
    this.#enter("gathering");
    this.parts.schedule(() => this.#commitBatch());
  }

  #commitBatch(): void {
    if (this.#state !== "gathering") return;
    if (this.#isHeld) return this.#enter("idle");
    this.#enter("committing");
    const began = performance.now();
    const { batch, failure } = this.#transact(this.#waiting);
    this.#tellTimed("commit", performance.now() - began);
    for (const write of batch) write.error = failure;
    if (failure === null) void this.#sync(batch);
    else this.#sortOut(batch, failure);
  }

  /** The batch was rolled back: tells apart who is answered, who waits on, and whether the disk failed. */
  #sortOut(batch: readonly Write[], failure: unknown): void {
    // A write that throws must not take its neighbours with it: each once more, alone.
    if (!isDiskError(failure) && !isBusy(failure) && batch.length > 1)
      for (const write of batch) write.error = this.#transact(new WriteLines([write])).failure;
    const broken = batch.find(({ error }) => isDiskError(error) && !isFull(error));
    if (broken) return this.#fail(broken.error);
    const isRefused = ({ error }: Write) => isFull(error) || isBusy(error);
    const refused = batch.filter(isRefused);
    this.#waiting.unshift(refused);
    // Where the disk took some, the next batch finds out whether it is full.
    if (refused.length < batch.length) void this.#sync(batch.filter((write) => !isRefused(write)));
    else if (refused.some(({ error }) => isFull(error))) this.#waitForRoom();
    else this.#tryAgain();
  }

  /**
   * Somebody else holds the write lock for a moment (Litestream, around its checkpoints): nothing is lost
   * but time.
   */
  #tryAgain(): void {
    this.#enter("gathering");
    this.parts.later(BUSY_MS, () => this.#commitBatch());
  }

  /**
   * Runs writes in one transaction, as many as their share of the turn has time for: these, and what was
   * thrown, or null. After a throw nothing of them is done. Where it could not even begin, the first one
   * stands for all.
   */
  #transact(waiting: WriteLines): { batch: Write[]; failure: unknown } {
    const share = this.beginShare();
    let write = waiting.shift();
    const batch = write ? [write] : [];
    try {
      this.#began = this.parts.now();
      this.begin.run();
      for (let at = this.#monotonic(); write; ) {
        write.value = write.run();
        const since = at;
        at = this.#monotonic();
        waiting.charge(write.owner, at - since);
        write = share.isOver ? undefined : waiting.shift();
        if (write) batch.push(write);
      }
      for (const part of this.#batchParts) part.flush();
      this.commit.run();
    } catch (error) {
      for (const part of this.#batchParts) part.reset();
      if (this.sqlite.inTransaction) this.rollback.run();
      return { batch, failure: error ?? new Error("a write threw nothing") };
    } finally {
      this.#began = null;
    }
    for (const part of this.#batchParts) part.done();
    this.commits++;
    return { batch, failure: null };
  }

  async #sync(batch: readonly Write[]): Promise<void> {
    this.#enter("syncing");
    const began = performance.now();
    try {
      await this.parts.sync();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#tellTimed("sync", performance.now() - began);
    for (const write of batch) {
      if (write.error === null) write.resolve(write.value);
      else write.reject(write.error);
    }
    for (const resolve of this.#onCommitted.splice(0)) resolve();
    this.#goOn();
    if (this.#waiting.size === 0) this.#tellSettled();
  }

  /** The disk has answered: what waits is the next batch. */
  #goOn(): void {
    this.#enter("idle");
    this.#waitingSince = this.#waiting.size > 0 ? performance.now() : null;
    this.#gather();
  }

  #tellTimed(what: "commit" | "sync", ms: number): void {
    for (const listener of this.#onTimed) listener(what, ms);
  }

  #tellSettled(): void {
    for (const resolve of this.#onSettled.splice(0)) resolve();
  }

  /** The disk is full: what is kept waits, the rest is refused. */
  #waitForRoom(): void {
    this.#enter("full");
    const waiting = this.#waiting.takeAll();
    for (const write of waiting) {
      if (write.kept) this.#waiting.push(write);
      else write.reject(unavailable("The disk is full."));
    }
    for (const listener of this.#onFull) listener();
    this.#tellSettled();
    this.#lookLater();
  }

  #lookLater(): void {
    this.parts.later(LOOK_MS, () => this.#lookForRoom());
  }

  #lookForRoom(): void {
    if (this.#state !== "full") return;
    if (this.#isHeld) return this.#lookLater();
    try {
      this.writeAPage.run(Buffer.alloc(4096, this.keys.last % 256));
    } catch (error) {
      if (isFull(error) || isBusy(error)) this.#lookLater();
      else this.#fail(error);
      return;
    }
    this.#goOn();
    for (const listener of this.#onWritable) listener();
  }

  /** What the disk holds is not known any more: the process ends. */
  #fail(error: unknown): void {
    this.#enter("failed");
    this.#tellSettled();
    this.parts.fail(error instanceof Error ? error : new Error(String(error)));
  }
}
