import type { TurnParts } from "../core/structures/turn-queue.ts";

export interface SlotsParts extends TurnParts {
  /** Attempts over all endpoints whose outcome is not on disk, or whose sockets or questions outlive them. */
  max: number;
  /** So many bytes of bodies in them leave no slot. */
  bytesMax: number;
  /** There may be a slot for this endpoint. */
  wake(endpointId: number): void;
}

/** Attempts that hold a slot, and the bytes of their bodies. */
interface Use {
  attempts: number;
  bytes: number;
}

/** Endpoints in the order in which they came: what leaves from the midst costs as little as the first. */
class Line {
  readonly #waiting = new Set<number>();
  /** Goes on behind those that were shifted: to begin anew would pass by the places of all of them. */
  #walk = this.#waiting.values();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(endpointId: number): void {
    // A walk that has come to an end sees nothing of what comes later.
    if (this.isEmpty) this.#walk = this.#waiting.values();
    this.#waiting.add(endpointId);
  }

  delete(endpointId: number): void {
    this.#waiting.delete(endpointId);
  }

  shift(): number | undefined {
    if (this.isEmpty) return undefined;
    const { value } = this.#walk.next();
    if (value !== undefined) this.#waiting.delete(value);
    return value;
  }
}

/** An account's starved endpoints: those with nothing in flight, and the others, which get less. */
interface AccountLines {
  readonly first: Line;
  readonly more: Line;
}

/** How many times the free part an account may have: of endpoints with attempts in flight, and of others. */
const FREE_FOR_MORE = 1;
const FREE_FOR_FIRST = 3;
/** The last of all are for accounts that have nothing in flight, one for each. */
const LAST = 1 / 32;

/**
 * The attempts in flight of all endpoints together, and their bodies: whichever takes the larger part of what
 * there may be counts. Those that find no slot are woken when there are some: the accounts take turns, and
 * one that has its part already is passed by with all that it has.
 *
 * An account with nothing in flight takes one. What the others may have goes by what is free (dynamic
 * thresholds: Choudhury and Hahne, 1998), so that something is left however many are slow:
 *
 * - An endpoint with attempts in flight takes more while its account has less than the free part: alone up to
 *   half of all, two accounts a third each, three a quarter.
 * - An endpoint with none takes one while its account has less than three times the free part: alone up to
 *   three quarters of all, two accounts three sevenths each.
 */
export class Slots {
  readonly #taken: Use = { attempts: 0, bytes: 0 };
  /** By account. */
  readonly #takenBy = new Map<number, Use>();
  /** Endpoints that asked in vain; not all have something left to send. */
  readonly #starved = new Set<number>();
  /** The same by account. */
  readonly #lines = new Map<number, AccountLines>();
  #isFeeding = false;

  constructor(private readonly parts: SlotsParts) {}

  get starved(): Iterable<number> {
    return this.#starved;
  }

  /** True where one more attempt of an endpoint of the account may start that has `own` in flight. */
  isFree(accountId: number, own: number): boolean {
    const free = 1 - this.#partOf(this.#taken);
    const known = this.#takenBy.get(accountId);
    if (known === undefined) return free > 0;
    const taken = this.#partOf(known);
    return free > LAST && taken < free * (own === 0 ? FREE_FOR_FIRST : FREE_FOR_MORE);
  }

  hasAttemptOf(accountId: number): boolean {
    return (this.#takenBy.get(accountId)?.attempts ?? 0) > 0;
  }

  #partOf({ attempts, bytes }: Use): number {
    return Math.max(attempts / this.parts.max, bytes / this.parts.bytesMax);
  }

  /** The same; where it is false, the endpoint is woken once a slot is free. */
  ask(endpointId: number, accountId: number, own: number): boolean {
    if (this.isFree(accountId, own)) return true;
    const { first, more } = this.#linesOf(accountId);
    const [line, other] = own === 0 ? [first, more] : [more, first];
    other.delete(endpointId);
    line.add(endpointId);
    this.#starved.add(endpointId);
    return false;
  }

  /** The size of a body is known only now, so that the last one may go beyond the bound. */
  take(accountId: number, bytes: number): void {
    let own = this.#takenBy.get(accountId);
    if (!own) this.#takenBy.set(accountId, (own = { attempts: 0, bytes: 0 }));
    for (const use of [this.#taken, own]) {
      use.attempts++;
      use.bytes += bytes;
    }
  }

  /**
   * The slot bounds sockets, and questions for names, too: where one is still held, it is free once that is
   * gone.
   */
  giveBack(accountId: number, bytes: number, socketGone?: Promise<void>): void {
    if (socketGone !== undefined) {
      this.take(accountId, 0);
      void socketGone.then(() => this.giveBack(accountId, 0));
    }
    const own = this.#takenBy.get(accountId);
    if (!own) throw new Error("a slot is given back that was not taken");
    for (const use of [this.#taken, own]) {
      use.attempts--;
      use.bytes -= bytes;
    }
    if (own.attempts === 0) this.#takenBy.delete(accountId);
    this.#feedSoon();
  }

  #feedSoon(): void {
    if (this.#isFeeding || this.#starved.size === 0) return;
    this.#isFeeding = true;
    this.parts.schedule(() => this.#feed());
  }

  /** Wakes those that find a slot now, an account after the other, while its share of the turn lasts. */
  #feed(): void {
    this.#isFeeding = false;
    const share = this.parts.beginShare();
    for (const [accountId, lines] of this.#lines) {
      if (this.#partOf(this.#taken) >= 1) return;
      const endpointId = this.#takeFrom(lines, accountId);
      if (endpointId === undefined) continue;
      this.#starved.delete(endpointId);
      // The next turn is another account's.
      this.#lines.delete(accountId);
      if (!lines.first.isEmpty || !lines.more.isEmpty) this.#lines.set(accountId, lines);
      this.parts.wake(endpointId);
      if (share.isOver) return this.#feedSoon();
    }
  }

  #linesOf(accountId: number): AccountLines {
    let lines = this.#lines.get(accountId);
    if (!lines) this.#lines.set(accountId, (lines = { first: new Line(), more: new Line() }));
    return lines;
  }

  /**
   * One of the account's that finds a slot, first of those with nothing in flight; the others are not looked
   * at while they get no more, as there may be ten thousand.
   */
  #takeFrom({ first, more }: AccountLines, accountId: number): number | undefined {
    if (!this.isFree(accountId, 0)) return undefined;
    return first.shift() ?? (this.isFree(accountId, 1) ? more.shift() : undefined);
  }
}
