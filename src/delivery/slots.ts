import type { TurnParts } from "../core/structures/turn-queue.ts";

export interface SlotsParts extends TurnParts {
  /** Attempts in flight over all endpoints, at most, with those whose sockets the kernel still holds. */
  max: number;
  /** So many bytes of bodies in them leave no slot. */
  bytesMax: number;
  /** There may be a slot for this endpoint. */
  wake(endpointId: number): void;
}

/** Attempts in flight, or with a socket that outlives them, and the bytes of their bodies. */
interface Use {
  attempts: number;
  bytes: number;
}

/** How many times the free part an account may have: of endpoints with attempts in flight, and of others. */
const FREE_FOR_MORE = 1;
const FREE_FOR_FIRST = 3;
/** The last of all are for accounts that have nothing in flight, one for each. */
const LAST = 1 / 32;

/**
 * The attempts in flight of all endpoints together, and their bodies: whichever takes the larger part of what
 * there may be counts. Those that find no slot are woken in their order when there are some.
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
  /** Endpoints that asked in vain; not all of them have something left to send. */
  readonly #starved = new Set<number>();
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

  #partOf({ attempts, bytes }: Use): number {
    return Math.max(attempts / this.parts.max, bytes / this.parts.bytesMax);
  }

  /** The same; where it is false, the endpoint is woken once a slot is free. */
  ask(endpointId: number, accountId: number, own: number): boolean {
    if (this.isFree(accountId, own)) return true;
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

  /** The slot bounds sockets too: where the kernel still holds one, it is free once that is gone. */
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

  /** Wakes those that found no slot, in their order, while there are some and its share of the turn lasts. */
  #feed(): void {
    this.#isFeeding = false;
    const share = this.parts.beginShare();
    let left = this.#starved.size;
    for (const endpointId of this.#starved) {
      if (left-- === 0 || this.#partOf(this.#taken) >= 1) return;
      if (share.isOver) return this.#feedSoon();
      this.#starved.delete(endpointId);
      this.parts.wake(endpointId);
    }
  }
}
