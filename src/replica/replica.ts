import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { limit } from "../core/limits.ts";
import { StartError } from "../platform/start-error.ts";
import { BEAT_MS } from "../store/identity.ts";
import { Copies } from "./copies.ts";
import { findLease, type HeldLease } from "./lease.ts";
import { type Litestream, LitestreamGone } from "./litestream.ts";
import {
  describeMark,
  judge,
  type Mark,
  MARK_FILE,
  MARK_SILENCE_MS,
  type Own,
  readMark,
  writtenLater,
} from "./mark.ts";
import type { Objects } from "./objects.ts";
import { type Failure, Uploads } from "./uploads.ts";
import { copiedTo, placeOf, writerOf } from "./writer.ts";

/**
 * How often Litestream is asked to bring everything to the replica: litestream.yml leaves that to
 * the service.
 */
const SYNC_MS = 1000;
/** A good upload begins every second. */
const UPLOAD_LATE_MS = 2000;
/** How often the mark is looked at and written, with a beat each time. */
const MARK_MS = BEAT_MS;
const SILENCE_LOOK_MS = 1000;
const LATE_MS = 60_000;

/** What the replica needs of the database and the process. */
export interface ReplicaParts {
  /** By the wall clock: what the mark says. */
  now: () => number;
  /** Milliseconds by a clock that nobody sets: what is waited by. */
  monotonic: () => number;
  log: (level: "info" | "warn" | "error", msg: string, fields?: Record<string, string | number>) => void;
  /** Counts the start. */
  begin: () => Promise<{ installation: string; start: number; beat: number }>;
  /**
   * The last beat, which is a new one where anything was written since. Rejects where nothing can be written.
   */
  beat: () => Promise<number>;
  /** The lease is lost, or Litestream, without which it is worth nothing: the process has to end. */
  fail: (error: Error) => void;
}

/** How the replica stands, for /readyz and the metrics. */
export interface ReplicaReport {
  state: ReplicaState;
  /** Since the instant up to which everything is in the replica. */
  ageSeconds: number;
  /** False where the replica does not say who writes to it. */
  isMarked: boolean;
  /** Uploads that brought everything, since the start. */
  uploads: number;
  /** Of the path that is written to; null where there is no lease. */
  generation: number | null;
  /** False where there is a lease, and it is not known whether somebody else has it by now. */
  isHeld: boolean;
}

export type ReplicaState = "held" | "written" | "late" | "gone" | "contested" | "stopped";

const NOT_OURS = "nothing is uploaded from here any more";
const NOT_HELD = "The lease is not renewed: another machine may be the primary.";
const UNREAD = "the replica's mark cannot be read";

type Line = [level: "info" | "error", msg: string];

/** What the log says of a state when it begins; of `written` only where something else was said before. */
const LINES: Partial<Record<ReplicaState, Line>> = {
  written: ["info", "the replica is up to date again"],
  late: ["error", "the replica is late: what is accepted is on this disk only"],
  gone: ["error", "Litestream is gone: what is accepted from now on is on this disk only"],
  contested: ["error", "another service writes to the replica: nothing is uploaded from here any more"],
};

/**
 * What a look finds: the mark of this writer, or of one that is gone; somebody else's who may live; nothing,
 * as it cannot be read.
 */
type Look = "ours" | "theirs" | "unread";

/** Why nothing is confirmed in a state, as callers are told. */
const OBSTACLES: Readonly<Record<ReplicaState, string | null>> = {
  held: "The replica is not written to yet.",
  written: null,
  late: "Uploads to the replica fail.",
  gone: "Litestream, which makes the replica, is gone.",
  contested: "Another service writes to the replica.",
  stopped: "The service is stopping.",
};

/**
 * The replica that Litestream makes of the database: whether it is made at all, how far it came, and that
 * nobody else writes to it.
 *
 * | state     | true in it                                                   | leaves when                  |
 * |-----------|--------------------------------------------------------------|------------------------------|
 * | held      | Litestream uploads nothing of this database                  | begin                        |
 * | written   | syncs bring everything; none has failed for a minute         | a sync fails, a look, stop   |
 * | late      | syncs fail: for a minute, or ever since Litestream was gone  | a sync is good, a look, stop |
 * | gone      | Litestream does not listen                                   | it does again, a look, stop  |
 * | contested | a look found another writer's mark: nothing is uploaded      | never                        |
 * | stopped   | the mark says that this writer has ended                     | never                        |
 */
export class Replica {
  #state: ReplicaState = "held";
  /** Whether the mark was written when that was tried last. */
  #marking: "untried" | "written" | "failed" = "untried";
  /** Null before `begin`. */
  #own: (Own & { installation: string }) | null = null;
  /** The last beat that is in the replica for certain. */
  #beat = 0;
  /** The last transaction that the last upload has brought. */
  #txid = 0;
  readonly #run = randomBytes(16).toString("hex");
  #syncedAt = 0;
  /** Null before `begin`. */
  #uploads: Uploads | null = null;
  #uploadCount = 0;
  #hasFailed = false;
  /** Whoever waits for an upload that succeeds and begins after they came, in their order. */
  readonly #waiting: (() => void)[] = [];
  #markedAt = Number.NEGATIVE_INFINITY;
  /** Since when the mark is known to be ours; a look that finds something else begins anew. */
  #seenAt = Number.NEGATIVE_INFINITY;
  /** False where the mark could never be read: a replica that cannot be marked is written to all the same. */
  #wasRead = false;
  /** A mark of somebody else, and since when it has not changed. */
  #foreign: { text: string; since: number } | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #copyTimer: ReturnType<typeof setInterval> | undefined;
  readonly #copies = new Copies({ copy: () => this.litestream.copy() });
  #looking: Promise<void> = Promise.resolve();

  constructor(
    private readonly litestream: Litestream,
    /** Where the mark is; null where this kind of replica has no place for it. */
    private readonly objects: Objects | null,
    private readonly dir: string,
    /** Of a pair: it stands for the mark, as nobody else has this path. */
    private readonly lease: HeldLease | null,
    /** The last transaction that the replica has; 0 where that is not known. */
    private readonly endOf: () => Promise<number>,
  ) {}

  /**
   * First of all at a start. Litestream has not looked at the database yet: by litestream.yml it does so when
   * it is asked.
   */
  hold(): Promise<void> {
    return this.litestream.hold();
  }

  /** Throws StartError where what is uploaded from here would destroy what the replica holds. */
  async claim(
    identity: Pick<Own, "installation" | "start" | "beat">,
    { log, monotonic }: Pick<ReplicaParts, "log" | "monotonic">,
  ): Promise<void> {
    if (this.lease !== null) return;
    const own = { ...identity, ...this.#directory };
    if (this.objects === null) {
      log(
        "warn",
        "This kind of replica cannot be marked: a second service that writes to it is not noticed.",
      );
      return;
    }
    const text = (await this.#read(log))?.text ?? null;
    if (text === null) return;
    const mark = readMark(text);
    const verdict = judge(mark, own);
    if (verdict.may === "not") throw refusal(verdict.because);
    if (mark !== null && (await this.#isOlderCopy(mark, own))) throw refusal(writtenLater(mark));
    if (verdict.may === "write") return;
    log("info", "waiting to see whether another service writes to the replica", { ms: MARK_SILENCE_MS });
    const since = monotonic();
    this.#foreign = { text, since };
    for (let isOver = false; !isOver; ) {
      await new Promise((next) => setTimeout(next, SILENCE_LOOK_MS));
      isOver = monotonic() - since >= MARK_SILENCE_MS;
      const later = await this.#read(log);
      if (later === null && isOver) throw refusal("its mark cannot be read any more");
      if (later !== null && later.text !== text)
        throw refusal(`another service writes to it (${whoOf(later.text ?? "")})`);
    }
    log("warn", "the replica's last writer is silent: this one goes on in its place", { last: whoOf(text) });
  }

  /**
   * Of the same beat, Litestream has copied less beside an older copy than the replica has: it copies before
   * it uploads. Where it has no folder, or the replica does not tell, the beat has to do.
   */
  async #isOlderCopy({ writer, beat, ended }: Mark, own: Own): Promise<boolean> {
    if (writer !== own.writer || beat !== own.beat || ended) return false;
    const copied = copiedTo(this.dir);
    return copied > 0 && (await this.endOf().catch(() => 0)) > copied;
  }

  /** The start is good: from now on everything is uploaded, looked after and marked. */
  async begin(parts: ReplicaParts): Promise<void> {
    this.#own = { ...(await parts.begin()), ...this.#directory };
    this.#syncedAt = parts.monotonic();
    this.#uploads = new Uploads(() => this.#upload(parts), parts.monotonic);
    await this.lease?.begin(this.#own);
    await this.litestream.release();
    this.#enter("written", parts.log);
    await this.#writeMarkIfOurs(parts, false);
    this.#schedule(parts);
    this.#copyTimer = setInterval(() => void this.copyIfLate(parts), SYNC_MS);
    this.#copyTimer.unref();
  }

  /** `at` by the monotonic clock. */
  report(at: number): ReplicaReport {
    return {
      state: this.#state,
      ageSeconds: Math.max(0, at - this.#syncedAt) / 1000,
      isMarked: this.#marking === "written" || this.lease !== null,
      uploads: this.#uploadCount,
      generation: this.lease?.generation ?? null,
      isHeld: this.lease?.isHeld ?? true,
    };
  }

  /**
   * Why nothing is confirmed at this instant of the monotonic clock; null where it is, as far as anybody
   * knows. An upload that never ends is seen before Litestream gives it up.
   */
  obstacle(at: number): string | null {
    if (this.#state !== "written") return OBSTACLES[this.#state];
    if (this.lease?.isHeld === false) return NOT_HELD;
    if (this.#hasFailed) return "The last upload to the replica failed.";
    const isSilent = (this.#uploads?.runningMs(at) ?? 0) > limit("replicaWaitMs");
    return isSilent ? "The replica does not answer." : null;
  }

  /** The service answers requests. */
  async open(): Promise<void> {
    await this.lease?.change({ isOpen: true }).catch(() => this.lease?.note({ isOpen: true }));
  }

  /** See Replication. */
  get mayGo(): boolean {
    return this.lease?.isHeld ?? true;
  }

  /** See Replication. */
  untilMayGo(): Promise<void> | null {
    return this.lease === null || this.mayGo ? null : this.lease.untilHeld();
  }

  /** See ReplicaGate. An upload that fails leaves them to the next one. */
  untilWritten(): Promise<void> {
    const written = new Promise<void>((goOn) => this.#waiting.push(goOn));
    void this.#bring();
    return written;
  }

  /** What is uploaded after this is Litestream's own last turn, where nobody else may be the writer. */
  async stop(parts: ReplicaParts): Promise<void> {
    clearInterval(this.#copyTimer);
    // What is under way may find another writer; then it schedules the next look.
    await this.#looking;
    clearTimeout(this.#timer);
    if (this.#state === "contested") return this.#holdForGood();
    if (this.#isOver) return;
    if (this.lease !== null) return this.#handOver(this.lease, parts);
    const isMarked = await this.#writeMarkIfOurs(parts, true);
    if (!isMarked && (await this.#whyNot(parts)) !== null) await this.#holdForGood();
    if (!this.#isOver) this.#enter("stopped", parts.log);
  }

  /** A successor begins at once where it finds everything, and after the silence otherwise. */
  async #handOver(lease: HeldLease, parts: ReplicaParts): Promise<void> {
    // A copy of the disk from before this has seen less.
    if ((await this.#bringBeat(parts)) === null) await lease.end();
    else await lease.rest();
    if (!this.#isOver) this.#enter("stopped", parts.log);
  }

  get #isOver(): boolean {
    return this.#state === "contested" || this.#state === "stopped";
  }

  /** The one place where the state changes. */
  #enter(next: ReplicaState, log: ReplicaParts["log"], fields: Record<string, string | number> = {}): void {
    const last = this.#state;
    if (last === next) return;
    if (this.#isOver) throw new Error(`a replica goes from ${last} to ${next}`);
    this.#state = next;
    const line = LINES[next];
    if (line && last !== "held") log(...line, fields);
  }

  #schedule(parts: ReplicaParts): void {
    if (this.#isOver) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#goOn(parts).finally(() => this.#schedule(parts));
    }, SYNC_MS);
    this.#timer.unref();
  }

  async #goOn(parts: ReplicaParts): Promise<void> {
    if (parts.monotonic() - this.#markedAt >= MARK_MS) await this.look(parts);
    else await this.#bring();
  }

  /** One look: the mark, everything into the replica, then the mark again, which is written. */
  async look(parts: ReplicaParts): Promise<void> {
    this.#markedAt = parts.monotonic();
    if (this.#isOver || (await this.#lookAtMark(parts)) === "theirs") return;
    await this.#bringBeat(parts);
    if (!this.#isOver) await this.#writeMarkIfOurs(parts, false);
  }

  /** As `#bring`, with the beat that tells how far this is. */
  async #bringBeat(parts: ReplicaParts): Promise<Failure> {
    const beat = await parts.beat().catch(() => null);
    const failure = await this.#bring();
    if (failure === null && beat !== null) {
      this.#beat = beat;
      this.lease?.note({ beat });
    }
    return failure;
  }

  /** Resolves once an upload that begins now or later has ended. */
  #bring(): Promise<Failure> {
    if (this.#uploads === null) throw new Error("the replica is asked before its start");
    return this.#uploads.next();
  }

  async #upload(parts: ReplicaParts): Promise<Failure> {
    const at = parts.monotonic();
    const waiting = this.#waiting.length;
    // After it too: it may have taken longer than a successor waits.
    const failure =
      (await this.#whyNot(parts)) ??
      (await this.#sync()) ??
      (await this.#whyNot(parts)) ??
      (await this.#tellLease());
    this.#hasFailed = failure !== null;
    // The mark of another writer was found meanwhile.
    if (this.#isOver) return failure ?? new Error(NOT_OURS);
    if (failure === null) this.#onWritten(at, waiting, parts);
    else if (failure instanceof LitestreamGone) this.#lose(failure, parts);
    else if (this.#state === "gone" || parts.monotonic() - this.#syncedAt >= LATE_MS)
      this.#enter("late", parts.log, { error: String(failure) });
    return failure;
  }

  /** While uploads hang or fail, once a second. */
  async copyIfLate({ monotonic }: ReplicaParts): Promise<void> {
    const at = monotonic();
    if (this.#isOver || at - this.#syncedAt < UPLOAD_LATE_MS) return;
    const isMarked = this.#isKept && this.#wasRead;
    await this.#copies.make(!isMarked || at - this.#seenAt < MARK_SILENCE_MS);
  }

  /** A second time: the first may have been this process's own want of a file. */
  #lose(gone: LitestreamGone, { log, fail }: ReplicaParts): void {
    if (this.lease !== null && this.#state === "gone") fail(gone);
    this.#enter("gone", log);
  }

  async #sync(): Promise<Failure> {
    try {
      this.#txid = await this.litestream.sync();
      return null;
    } catch (error) {
      return error as Error;
    }
  }

  async #tellLease(): Promise<Failure> {
    try {
      const isOurs = (await this.lease?.reached(this.#txid)) ?? true;
      return isOurs ? null : new Error(NOT_HELD);
    } catch (error) {
      return error as Error;
    }
  }

  /** Why nothing may be uploaded: a process that has not seen its mark for so long may have a successor. */
  async #whyNot(parts: ReplicaParts): Promise<Failure> {
    if (this.#isOver) return new Error(NOT_OURS);
    if (this.lease !== null) return this.lease.isHeld ? null : new Error(NOT_HELD);
    if (parts.monotonic() - this.#seenAt < MARK_SILENCE_MS) return null;
    const found = await this.#lookAtMark(parts);
    if (found === "theirs") return new Error(NOT_OURS);
    return found === "unread" && this.#wasRead ? new Error(UNREAD) : null;
  }

  /** All that was committed at that instant is in the replica. */
  #onWritten(at: number, waiting: number, { log }: ReplicaParts): void {
    this.#syncedAt = at;
    this.#copies.onUploaded();
    this.#uploadCount++;
    this.#enter("written", log);
    for (const goOn of this.#waiting.splice(0, waiting)) goOn();
  }

  async #lookAtMark(parts: ReplicaParts): Promise<Look> {
    const own = this.#own;
    const at = parts.monotonic();
    if (!this.#isKept || own === null) return "ours";
    const read = await this.#read(parts.log);
    if (read === null) return "unread";
    const isOurs = (await this.#isOurs(read.text, own, parts)) && !(await this.#hasSuccessor(parts));
    this.#seenAt = isOurs ? at : Number.NEGATIVE_INFINITY;
    return isOurs ? "ours" : "theirs";
  }

  /** False where the mark is somebody else's who may live. */
  async #isOurs(text: string | null, own: Own, parts: ReplicaParts): Promise<boolean> {
    const mark = text === null ? null : readMark(text);
    if (mark === null || (mark.run === this.#run && mark.writer === own.writer)) return true;
    const { may } = judge(mark, own);
    if (may === "not") return this.#yield(mark, parts);
    // The process before, in this directory.
    if (may === "write" && this.#marking !== "written") return true;
    if (text !== null && this.#foreign?.text !== text) {
      if (this.#foreign !== null && !mark.ended) return this.#yield(mark, parts);
      this.#foreign = { text, since: parts.monotonic() };
    }
    return mark.ended || parts.monotonic() - (this.#foreign?.since ?? 0) >= MARK_SILENCE_MS;
  }

  /** A standby that has followed this service, and taken it for gone, has a lease in place of the mark. */
  async #hasSuccessor(parts: ReplicaParts): Promise<boolean> {
    const found = this.objects && (await findLease(this.objects).catch(() => null));
    if (!found) return false;
    await this.#yield(found.lease, parts);
    return true;
  }

  /** The other one is the writer: what is uploaded from here as well would destroy both. */
  async #yield({ host, start }: Pick<Mark, "host" | "start">, { log }: ReplicaParts): Promise<false> {
    if (!this.#isOver) this.#enter("contested", log, { host, start });
    await this.#holdForGood();
    return false;
  }

  get #directory(): Pick<Own, "writer" | "place"> {
    return { writer: writerOf(this.dir), place: placeOf(this.dir) };
  }

  /** A lease stands for the mark, and some kinds of replica have no place for it. */
  get #isKept(): boolean {
    return this.objects !== null && this.lease === null;
  }

  async #holdForGood(): Promise<void> {
    await this.litestream.hold().catch(() => {});
  }

  /** Null where it cannot be read. */
  async #read(log: ReplicaParts["log"]): Promise<{ text: string | null } | null> {
    try {
      const found = await this.objects?.read(MARK_FILE);
      this.#wasRead = true;
      return { text: found?.text ?? null };
    } catch (error) {
      this.#tellMarkFailure(error, log);
      return null;
    }
  }

  /** What cannot be read is not written over: it may be somebody else's. */
  async #writeMarkIfOurs(parts: ReplicaParts, ended: boolean): Promise<boolean> {
    if ((await this.#lookAtMark(parts)) !== "ours") return false;
    await this.#writeMark(parts, ended);
    return true;
  }

  async #writeMark({ now, log }: ReplicaParts, ended: boolean): Promise<void> {
    const own = this.#own;
    if (!this.#isKept || own === null) return;
    const { installation, writer, place, start } = own;
    const who = { installation, writer, place, run: this.#run, host: hostname(), start };
    const mark: Mark = { ...who, beat: this.#beat, ended, at: new Date(now()).toISOString() };
    try {
      await this.objects?.write(MARK_FILE, JSON.stringify(mark));
      if (this.#marking === "failed") log("info", "the replica is marked again");
      this.#marking = "written";
    } catch (error) {
      this.#tellMarkFailure(error, log);
    }
  }

  #tellMarkFailure(error: unknown, log: ReplicaParts["log"]): void {
    if (this.#marking === "failed") return;
    this.#marking = "failed";
    log("error", "the replica cannot be marked: a second service that writes to it is not noticed", {
      error: String(error),
    });
  }
}

function whoOf(text: string): string {
  const mark = readMark(text);
  return mark ? describeMark(mark) : "unknown";
}

function refusal(because: string): StartError {
  return new StartError(
    `This service must not write to the replica at LITESTREAM_REPLICA_URL: ${because}. See /docs/operating, "Two writers".`,
  );
}
