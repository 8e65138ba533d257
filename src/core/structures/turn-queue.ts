import { limit } from "../limits.ts";
import { Lines, TimedLines } from "./lines.ts";
import { OneAtATime } from "./one-at-a-time.ts";

/** What a work may take of a turn of the loop; once it is over, the rest goes into the next turn. */
export interface Share {
  readonly isOver: boolean;
}

export interface TurnParts {
  /** Runs `next` when the loop comes round. */
  schedule(next: () => void): void;
  /** Begins the share that a work has of this turn of the loop. */
  beginShare(): Share;
  /** Milliseconds of a clock that never goes back. Without it accounts take turns by their pieces alone. */
  monotonic?: () => number;
}

/**
 * True for a body whose parts of work (a parse, a validation, an operation) each take a turn of their own.
 */
export function isHeavy(bytes: number): boolean {
  return bytes > limit("lightBodyBytesMax");
}

/**
 * Work that keeps what it parsed from piece to piece. It yields where others may go first: before a piece as
 * heavy as all of the body, or with `yield 0` before a light one. What has not begun holds only its text. It
 * may be begun anew: nobody sees anything of it before its last piece.
 */
export type Pieces<Made> = Generator<0 | undefined, Made, undefined>;

/** Elements of a long list that one light piece works on: each takes microseconds. */
const PIECE_ELEMENTS = 100;

/** Does `work` with each of a list that may be long. */
export function* piecewise<One>(all: Iterable<One>, work: (one: One) => void): Pieces<void> {
  let count = 0;
  for (const one of all) {
    if (count++ === PIECE_ELEMENTS) {
      yield 0;
      count = 1;
    }
    work(one);
  }
}

/** All pieces in this turn: for what is known to be short. */
export function atOnce<Made>(pieces: Pieces<Made>): Made {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}

/** What long work asks, piece after piece, so that others have their turns in between. */
export interface Turns {
  /** True where others should go first: asked right before each piece of work. */
  readonly isOver: boolean;
  /** Resolves in a later turn, in which there is time left. */
  next(): Promise<void>;
  /** Resolves at the beginning of a later turn, in which nobody else is resumed. */
  ownTurn(): Promise<void>;
  /**
   * Before work on so many bytes: its own turn where that is heavy; else at once while there is time left and
   * nobody waits for it.
   */
  giveWay(bytes?: number): Promise<void>;
  /**
   * Does work that parses so many bytes: at once where that is light and ends within this turn; else the
   * light works of an account one by one, and so the heavy ones, whose callers take turns: a parsed body may
   * take many times the room of its text.
   */
  inPieces<Made>(bytes: number, begin: () => Pieces<Made>): Made | Promise<Made>;
  /**
   * Resolves once no other page of the account is written, whose callers take turns, with what ends that:
   * each holds what is made of it, and many that went on together would all be held to the end.
   */
  beginPage(): Promise<() => void>;
  /**
   * Does long work of the thread pool, where the fsync of a commit stands behind what is there: one at a time
   * over all accounts, which take turns.
   */
  inPool<Made>(work: () => Promise<Made>): Promise<Made>;
}

/** Whose work it is, and the signal that they have left. */
interface Owner {
  /** The account's first. */
  names: readonly [string, ...string[]];
  signal: AbortSignal | null;
}

const OURSELVES: Owner = { names: [""], signal: null };

/**
 * Long work that can be divided, whoever does it: all of it has one share of each turn of the loop together,
 * however many requests are at it. What has not got its turn waits: the pieces of one caller in the order in
 * which they came, the callers of an account take turns, and so do the accounts: forty searches of one, with
 * forty keys and links, cost the others no more than one. A heavy piece waits for a turn of its own, and
 * where both wait, every second turn is such a one. Accounts take turns by time: whoever has had a piece of
 * 12 ms is passed over 48 times, where others wait. By pieces alone a list of a hundred small ones would take
 * as long as a hundred of theirs.
 * A waiter awaits the promise itself, so that its piece is done, and counted, before the next one's.
 */
export class TurnQueue implements Turns {
  readonly #light = new TimedLines();
  readonly #heavy = new TimedLines();
  /** By account of which one light work has begun and waits for turns: those that have not begun. */
  readonly #lightWorks = new Map<string, Lines>();
  /** The same of heavy ones, which no light work waits for. */
  readonly #heavyWorks = new Map<string, Lines>();
  /** The same of pages. */
  readonly #pages = new Map<string, Lines>();
  /** What works in the thread pool. */
  readonly #pool = new OneAtATime();
  /** True while somebody waits, or has just been resumed. */
  #isRunning = false;
  /** Whether the latest turn was that of a heavy piece. */
  #isOwnTurn = false;
  /** Of this turn; null where nobody has asked yet. */
  #share: Share | null = null;

  constructor(private readonly parts: TurnParts) {}

  /**
   * The turns of one account, and of one caller in it. Whoever waits for one is refused by `signal`'s reason
   * once that has come: the caller has left.
   */
  of(account: string, signal: AbortSignal | null, member = ""): Turns {
    return new OwnTurns(this, { names: [account, member], signal });
  }

  get isOver(): boolean {
    return (this.#share ?? this.#begin()).isOver;
  }

  next(owner = OURSELVES): Promise<void> {
    return this.#join(this.#light, owner);
  }

  ownTurn(owner = OURSELVES): Promise<void> {
    return this.#join(this.#heavy, owner);
  }

  giveWay(bytes = 0, owner = OURSELVES): Promise<void> {
    if (isHeavy(bytes)) return this.ownTurn(owner);
    if (this.isOver || !this.#light.isEmpty) return this.next(owner);
    return owner.signal?.aborted ? Promise.reject(owner.signal.reason as Error) : Promise.resolve();
  }

  inPieces<Made>(bytes: number, begin: () => Pieces<Made>, owner = OURSELVES): Made | Promise<Made> {
    if (isHeavy(bytes) || this.isOver || this.#mustPay(owner)) return this.#oneByOne(bytes, begin(), owner);
    const pieces = begin();
    if (this.#isRunning) this.#meter(this.#light, owner.names[0]);
    for (;;) {
      const { done, value } = pieces.next();
      if (done) return value;
      if (!this.isOver) continue;
      // What was done is dropped where another one has begun: it goes behind those that wait.
      const isFirst = !this.#lightWorks.has(owner.names[0]);
      return this.#oneByOne(bytes, isFirst ? pieces : begin(), owner);
    }
  }

  beginPage(owner = OURSELVES): Promise<() => void> {
    return this.#begun(this.#pages, owner);
  }

  inPool<Made>(work: () => Promise<Made>, { names, signal } = OURSELVES): Promise<Made> {
    return this.#pool.run(names, () => {
      signal?.throwIfAborted();
      return work();
    });
  }

  async #oneByOne<Made>(bytes: number, pieces: Pieces<Made>, owner: Owner): Promise<Made> {
    const end = await this.#begun(isHeavy(bytes) ? this.#heavyWorks : this.#lightWorks, owner);
    try {
      await this.giveWay(bytes, owner);
      for (;;) {
        const { done, value } = pieces.next();
        if (done) return value;
        if (isHeavy(value ?? bytes)) await this.ownTurn(owner);
        else if (this.isOver) await this.next(owner);
      }
    } finally {
      end();
    }
  }

  /** Resolves once none of the account is at such work, with what ends it. */
  async #begun(works: Map<string, Lines>, { names: [account, ...inner] }: Owner): Promise<() => void> {
    const waiting = works.get(account) ?? new Lines();
    if (works.has(account)) await new Promise<void>((resolve) => waiting.push(inner, resolve));
    else works.set(account, waiting);
    return () => {
      const next = waiting.shift();
      if (next) next();
      else works.delete(account);
    };
  }

  #join(lines: TimedLines, { names, signal }: Owner): Promise<void> {
    return new Promise((resolve, reject) => {
      lines.push(names, () => {
        if (signal?.aborted) reject(signal.reason as Error);
        else resolve();
        // Not before: the piece works as the microtask that has just been made.
        this.#meter(lines, names[0]);
      });
      if (!this.#isRunning) this.#schedule();
    });
  }

  #begin(): Share {
    const share = this.parts.beginShare();
    this.#share = share;
    this.parts.schedule(() => {
      if (this.#share === share) this.#share = null;
    });
    return share;
  }

  #schedule(): void {
    this.#isRunning = true;
    this.parts.schedule(() => {
      this.#begin();
      this.#isOwnTurn = !this.#heavy.isEmpty && (this.#light.isEmpty || !this.#isOwnTurn);
      if (!this.#isOwnTurn) {
        this.#light.bringNext();
        return this.#resume();
      }
      this.#heavy.bringNext();
      this.#heavy.shift()?.();
      this.#goOn();
    });
  }

  /**
   * One after the other: what is resumed works as a microtask, and then it is seen whether there is time for
   * one more. Whoever owes time waits for another turn: the others come back to the line in a moment.
   */
  #resume(): void {
    this.#light.shift()?.();
    queueMicrotask(() => {
      if (!this.#light.isEmpty && !this.isOver && this.#light.passDebtors()) this.#resume();
      else this.#goOn();
    });
  }

  /** In the next turn, where somebody waits for it. */
  #goOn(): void {
    if (!this.#light.isEmpty || !this.#heavy.isEmpty) this.#schedule();
    else this.#isRunning = false;
  }

  /** True for an account that owes time where others wait. */
  #mustPay({ names }: Owner): boolean {
    return !this.#light.isEmpty && this.#light.owes(names[0]);
  }

  /** Notes how long the piece takes that works now, before the next microtask. */
  #meter(lines: TimedLines, account: string): void {
    const { monotonic } = this.parts;
    if (monotonic === undefined) return;
    const beganAt = monotonic();
    queueMicrotask(() => lines.charge(account, monotonic() - beganAt));
  }
}

class OwnTurns implements Turns {
  constructor(
    private readonly queue: TurnQueue,
    private readonly owner: Owner,
  ) {}

  get isOver(): boolean {
    return this.queue.isOver;
  }

  next(): Promise<void> {
    return this.queue.next(this.owner);
  }

  ownTurn(): Promise<void> {
    return this.queue.ownTurn(this.owner);
  }

  giveWay(bytes?: number): Promise<void> {
    return this.queue.giveWay(bytes, this.owner);
  }

  inPieces<Made>(bytes: number, begin: () => Pieces<Made>): Made | Promise<Made> {
    return this.queue.inPieces(bytes, begin, this.owner);
  }

  beginPage(): Promise<() => void> {
    return this.queue.beginPage(this.owner);
  }

  inPool<Made>(work: () => Promise<Made>): Promise<Made> {
    return this.queue.inPool(work, this.owner);
  }
}
