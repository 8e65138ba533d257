import { SettingsError, StartError } from "../platform/start-error.ts";
import { SCHEMA_VERSION } from "../store/migrations.ts";
import { VERSION } from "../transport/user-agent.ts";
import type { Objects } from "./objects.ts";

/** Who may write, and where to: one object beside the replica of a pair. */
export interface Lease {
  /** Which database; null until its first start has made it. */
  installation: string | null;
  /** Which data directory; a copy of it has the same. */
  writer: string;
  /** Where that directory is, as a copy of it is elsewhere (`placeOf`); null where that cannot be told. */
  place: string | null;
  /** Of one run of `sealpost standby` and the service that it becomes: nobody else writes this. */
  holder: string;
  /** For people. */
  host: string;
  /** Whose path is written to: each writer takes the next. */
  generation: number;
  /** Which generation to restore while this one is not whole yet; null once it is. */
  from: number | null;
  /** Of which generation the writer's own database was that it goes on with; null where it restored one. */
  kept: number | null;
  /** The id of the key that encrypts (four bytes of its hash). */
  key: string;
  /** The version of the database's schema. */
  schema: number;
  /** Of the service, for people. */
  version: string;
  /** Up to which transaction the replica holds everything: of `from`, while that is what is restored. */
  txid: number;
  /** How many starts the database has seen, and its last beat: an older copy of it has less. */
  start: number;
  beat: number;
  /** The primary answers requests. One that cannot start renews its lease too, for a while. */
  isOpen: boolean;
  /**
   * The writer has stopped, and all that it wrote is in the replica. With `from`: its take-over has failed,
   * and it wrote nothing.
   */
  ended: boolean;
  /** Counts up: no two writes are the same. */
  renewals: number;
  /** When it was written, for people. */
  at: string;
}

export const LEASE_FILE = "sealpost-lease.json";
/** How long a writer may go on after it began to renew, by its own clock. */
export const LEASE_MS = 5000;
/**
 * How long a lease has not changed, by the clock of whoever looks, before somebody else takes it: clocks that
 * run by a quarter too fast or too slow do no harm.
 */
export const SILENCE_MS = 6500;
const RENEW_MS = 1500;
/** After a failure. */
const AGAIN_MS = 300;

/** Null where the text is no lease. */
export function readLease(text: string): Lease | null {
  try {
    const lease = JSON.parse(text) as Partial<Lease> | null;
    const isWhole = typeof lease?.writer === "string" && Number.isInteger(lease.generation);
    return isWhole && Number.isInteger(lease.renewals) ? (lease as Lease) : null;
  } catch {
    return null;
  }
}

/** The lease as it stands, with its tag; null where there is none. Throws SettingsError where it is none. */
export async function findLease(
  objects: Objects,
): Promise<{ lease: Lease; text: string; tag: string } | null> {
  const found = await objects.read(LEASE_FILE);
  if (found === null) return null;
  const lease = readLease(found.text);
  if (lease === null)
    throw new SettingsError([`${LEASE_FILE}, beside the replica, does not hold a lease: look who wrote it`]);
  return { lease, ...found };
}

export interface HolderParts {
  /** Milliseconds by a clock that nobody sets. */
  monotonic: () => number;
  /** By the wall clock, for people. */
  now: () => number;
  log: (level: "warn" | "info", msg: string, fields?: Record<string, string | number>) => void;
  /** Somebody else has the lease, or it is gone. */
  onLost: (error: Error) => void;
}

/**
 * The lease of this process, which renews it. It is held until LEASE_MS after the last renewal began. Past
 * that it is unknown whether somebody else has it: nothing is sent and answered until a renewal tells.
 */
export class HeldLease {
  #lease: Lease;
  #tag: string | null;
  /** By the monotonic clock. */
  #until = Number.NEGATIVE_INFINITY;
  /** By the wall clock, which goes on where a machine sleeps. */
  #untilWall = Number.NEGATIVE_INFINITY;
  #isLost = false;
  #isOver = false;
  #onHeld: (() => void)[] = [];
  /** Renewals come one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasFailed = false;

  /** `tag`: of the lease that this one replaces; null where there is none. */
  constructor(
    private readonly objects: Objects,
    lease: Lease,
    tag: string | null,
    private readonly parts: HolderParts,
  ) {
    this.#lease = lease;
    this.#tag = tag;
  }

  get generation(): number {
    return this.#lease.generation;
  }

  get isHeld(): boolean {
    return this.parts.monotonic() < this.#until && this.parts.now() < this.#untilWall;
  }

  /** Resolves with the next renewal; never where it is lost. */
  untilHeld(): Promise<void> {
    return new Promise((tell) => this.#onHeld.push(tell));
  }

  /** The service has started on its database. */
  async begin(own: Pick<Lease, "installation" | "start" | "beat">): Promise<void> {
    await this.change({ ...own, schema: SCHEMA_VERSION, version: VERSION });
  }

  /**
   * An upload has brought everything up to here. The first one makes the generation whole: until the lease
   * says so, the one before is restored, and how far that is stays in the lease. False where it is lost.
   */
  async reached(txid: number): Promise<boolean> {
    if (this.#lease.from !== null) return this.change({ from: null, txid });
    this.note({ txid });
    return true;
  }

  /** Is written with the next renewal. */
  note(change: Partial<Lease>): void {
    this.#lease = { ...this.#lease, ...change };
  }

  /** Writes it now. False where somebody else was first. Rejects where the store does not answer. */
  change(change: Partial<Lease> = {}): Promise<boolean> {
    const written = this.#last.then(() => this.#write(change));
    this.#last = written.catch(() => {});
    return written;
  }

  /** Renews it from now on, until `end` or `rest`. */
  keep(): void {
    if (this.#isOver || this.#isLost) return;
    this.#timer = setTimeout(() => void this.#renew(), this.#hasFailed ? AGAIN_MS : RENEW_MS);
  }

  /** Renews no more: another part of this process, or what it becomes, goes on. */
  async rest(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#last;
  }

  /** Gives it up: what was written, if anything, is in the replica. Somebody else may begin at once. */
  async end(): Promise<void> {
    await this.rest();
    if (!this.#isLost) await this.change({ ended: true });
    this.#forfeit();
  }

  #forfeit(): void {
    this.#until = this.#untilWall = Number.NEGATIVE_INFINITY;
  }

  async #renew(): Promise<void> {
    const { log } = this.parts;
    try {
      const isOurs = await this.change();
      if (this.#hasFailed && isOurs) log("info", "the lease is renewed again");
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) log("warn", "the lease is not renewed", { error: String(error) });
      this.#hasFailed = true;
    }
    this.keep();
  }

  async #write(change: Partial<Lease>): Promise<boolean> {
    if (this.#isLost) return false;
    const { monotonic, now } = this.parts;
    const [at, wall] = [monotonic(), now()];
    // Also of a write that fails: it may come through all the same, and no two are the same.
    this.note({ renewals: this.#lease.renewals + 1 });
    const next: Lease = { ...this.#lease, ...change, at: new Date(wall).toISOString() };
    const tag = await this.objects.replace(LEASE_FILE, JSON.stringify(next), this.#tag);
    if (tag === null) return this.#explain(change);
    this.#tag = tag;
    this.#lease = next;
    this.#until = at + LEASE_MS;
    this.#untilWall = wall + LEASE_MS;
    for (const tell of this.#onHeld.splice(0)) tell();
    return true;
  }

  /** An earlier write of our own may have come through without its answer: then its tag is ours. */
  async #explain(change: Partial<Lease>): Promise<boolean> {
    const found = await this.objects.read(LEASE_FILE);
    const lease = found && readLease(found.text);
    const { holder, renewals } = this.#lease;
    // A guest that was copied with its memory has the same number, and has written more than this one.
    if (found !== null && lease?.holder === holder && lease.renewals <= renewals) {
      this.#tag = found.tag;
      return this.#write(change);
    }
    this.#isLost = true;
    this.#forfeit();
    const by = found === null ? "gone" : lease === null ? "no lease any more" : describeLease(lease);
    this.parts.onLost(new StartError(`The lease is lost: it is ${by}.`));
    return false;
  }
}

/** In the environment of what `sealpost standby` becomes: the holder of the lease that it took. */
export const HOLDER_VARIABLE = "LEASE_HOLDER";

/**
 * The lease under which a generation is written by what this process was before. Throws SettingsError where
 * it is somebody else's, or of another generation.
 */
export async function adoptLease(
  objects: Objects,
  own: { holder: string; generation: number },
  parts: HolderParts,
): Promise<HeldLease> {
  const found = await findLease(objects);
  const { lease } = found ?? { lease: null };
  if (found === null || lease?.holder !== own.holder || lease.generation !== own.generation)
    throw new SettingsError([
      `LITESTREAM_REPLICA_URL is that of generation ${own.generation}, and the lease is ${lease === null ? "not there" : describeLease(lease)}: start with sealpost standby, which gives it a generation of its own`,
    ]);
  const held = new HeldLease(objects, found.lease, found.tag, parts);
  if (!(await held.change({ ended: false, isOpen: false })))
    throw new SettingsError(["The lease was taken by another machine at this start"]);
  held.keep();
  return held;
}

export function describeLease({ host, generation, at }: Lease): string {
  return `that of ${host}, generation ${generation}, last renewed at ${at}`;
}

/** What whoever starts, or waits, is to do. */
export type Role =
  /** There is no database anywhere yet. */
  | "begin"
  /** The newest database is in this data directory. */
  | "resume"
  /** The last writer is gone: what it replicated is restored here. */
  | "take"
  /** Somebody else writes. */
  | "follow"
  /** Whoever has the lease may be gone with an earlier start of this machine, or be a copy that lives. */
  | "wait";

/** What is seen of a lease: it changes; it has not yet; it has not for so long that nobody can have it. */
export type Sight = "changing" | "still" | "silent";

/** The database of a data directory. */
export interface OwnDatabase {
  writer: string;
  /** See Lease. */
  place: string | null;
  /** Its generation; null where there is none. */
  generation: number | null;
  start: number;
  beat: number;
  /** The last transaction that Litestream has copied beside it. */
  copiedTo: number;
}

type Known = Pick<
  Lease,
  "installation" | "writer" | "place" | "generation" | "from" | "kept" | "txid" | "ended" | "start" | "beat"
>;

/** By whoever has the data directory locked: whatever ran in it, at this place, is gone. */
export function roleOf(lease: Known | null, own: OwnDatabase, sight: Sight): Role {
  if (lease === null) return "begin";
  const isOver = isGivenUp(lease, own) || sight === "silent";
  const isOurs = lease.writer === own.writer;
  if (!isOver) return isOurs && sight === "still" ? "wait" : "follow";
  return (isOurs ? hasNewest : hasSource)(lease, own) ? "resume" : "take";
}

/** True where nobody holds it for certain, so that its path may be gone on with. */
export function isGivenUp(lease: Pick<Lease, "ended" | "place">, own: Pick<OwnDatabase, "place">): boolean {
  return lease.ended || isSamePlace(lease, own);
}

function isSamePlace(lease: Pick<Lease, "place">, own: Pick<OwnDatabase, "place">): boolean {
  return own.place !== null && lease.place === own.place;
}

/** Of a lease that is this directory's: its last start may have ended anywhere. */
function hasNewest(lease: Known, own: OwnDatabase): boolean {
  const { generation, from, kept } = lease;
  if (isBlank(lease)) return true;
  // Of `from`: the take-over ended before anything was restored.
  const isOfLease = own.generation !== null && [generation, from, kept].includes(own.generation);
  // What is gone on with was looked at when the lease was taken.
  const isKept = from !== null && own.generation === kept;
  return isOfLease && hasSeen(lease, own) && (isKept || hasCopied(lease, own));
}

/**
 * Somebody else has the lease, and is to restore what this directory's database is the newest of: nothing was
 * accepted since. Of a service that ran alone (0) nobody knows how far its replica was.
 */
export function hasSource(lease: Known, own: OwnDatabase): boolean {
  return (
    (lease.from ?? 0) > 0 && own.generation === lease.from && hasSeen(lease, own) && hasCopied(lease, own)
  );
}

/** An older copy of the disk has seen less. */
function hasSeen({ start, beat }: Known, own: OwnDatabase): boolean {
  return own.start >= start && own.beat >= beat;
}

/** Of the same beat, Litestream has copied less beside an older copy. The lease tells of its source. */
function hasCopied(lease: Known, own: OwnDatabase): boolean {
  if (own.generation !== sourceOf(lease) || own.copiedTo >= lease.txid) return true;
  // Where Litestream's folder alone is lost, the beat has to do.
  return own.copiedTo === 0 && isSamePlace(lease, own);
}

/** What a lease says of generations. */
export type Succession = Pick<Lease, "generation" | "from" | "kept">;

/**
 * The generation of whoever takes its part now. `isLease`: false where the mark of a service that ran alone
 * stands for a lease.
 */
export function successionOf(
  role: "begin" | "resume" | "take",
  seen: { lease: Known; isLease: boolean } | null,
  own: Pick<OwnDatabase, "generation" | "place">,
): Succession {
  // A database that was made without a lease is of generation 0.
  if (seen === null) return { generation: 1, from: own.generation, kept: own.generation };
  const { lease, isLease } = seen;
  const kept = role === "resume" ? own.generation : null;
  // Whoever only fell silent may write to its path still. After a take-over that failed nobody has.
  const hasFailed = lease.ended && lease.from !== null;
  const isPathFree = isLease && (hasFailed || (role === "resume" && isGivenUp(lease, own)));
  if (isPathFree) return { generation: lease.generation, from: lease.from, kept };
  return { generation: lease.generation + 1, from: isBlank(lease) && isLease ? null : sourceOf(lease), kept };
}

/** The very first start has not made the database yet. */
function isBlank({ installation, from }: Pick<Lease, "installation" | "from">): boolean {
  return installation === null && from === null;
}

/** The generation that holds what is newest. */
export function sourceOf({ generation, from }: Pick<Lease, "generation" | "from">): number {
  return from ?? generation;
}
