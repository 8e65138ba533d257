import type { TurnParts } from "../core/structures/turn-queue.ts";

export interface SlotsParts extends TurnParts {
  /** Attempts in flight over all endpoints, at most. */
  max: number;
  /** So many bytes of bodies in them leave no slot. */
  bytesMax: number;
  /** There may be a slot for this endpoint. */
  wake(endpointId: number): void;
}

/** Attempts in flight, and the bytes of their bodies. */
interface Use {
  attempts: number;
  bytes: number;
}

/**
 * The attempts in flight of all endpoints together, and their bodies: whichever takes the larger part of what
 * there may be counts. Those that find no slot are woken in their order when there are some.
 *
 * While less than half is in use, an endpoint takes as many slots as it may. From then on:
 *
 * - An endpoint with no attempt in flight takes one, as long as its account has less than three quarters of
 *   all: so the last quarter is for the other accounts.
 * - An endpoint with attempts in flight takes more only while its account has less than its fair part, which
 *   is half of all divided by the accounts that have any: so slow endpoints leave room for the others.
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
    const all = this.#partOf(this.#taken);
    if (all >= 1) return false;
    if (all < 1 / 2) return true;
    const known = this.#takenBy.get(accountId);
    const taken = known === undefined ? 0 : this.#partOf(known);
    const fair = 1 / 2 / Math.max(1, this.#takenBy.size);
    return own === 0 ? taken < 3 / 4 : taken < fair;
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

  giveBack(accountId: number, bytes: number): void {
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
