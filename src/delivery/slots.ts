import type { TurnParts } from "../core/structures/turn-queue.ts";

export interface SlotsParts extends TurnParts {
  /** Attempts in flight over all endpoints, at most. */
  max: number;
  /** There may be a slot for this endpoint. */
  wake(endpointId: number): void;
}

/**
 * The attempts in flight of all endpoints together. Those that find no slot are woken in their order when
 * there are some.
 *
 * Up to half of the slots each endpoint takes as many as it may. Of the rest it takes one, so that those of
 * its account that are slow leave room for the others; more only where its account has less than its fair
 * part of half of all. The last quarter is for those accounts alone that have not filled three.
 */
export class Slots {
  #taken = 0;
  /** By account. */
  readonly #takenBy = new Map<number, number>();
  /** Endpoints that found no slot; not all of them have something left to send. */
  readonly #starved = new Set<number>();
  #isFeeding = false;

  constructor(private readonly parts: SlotsParts) {}

  get starved(): Iterable<number> {
    return this.#starved;
  }

  /** True where one more attempt of an endpoint of the account may start that has `own` in flight. */
  isFree(accountId: number, own: number): boolean {
    const { max } = this.parts;
    if (this.#taken >= max) return false;
    if (this.#taken < max / 2) return true;
    const taken = this.#takenBy.get(accountId) ?? 0;
    const fair = max / 2 / Math.max(1, this.#takenBy.size);
    return own === 0 ? taken < (max * 3) / 4 : taken < fair;
  }

  /** The same, for an endpoint that has something to send: where it is false, it is woken later. */
  has(endpointId: number, accountId: number, own: number): boolean {
    if (this.isFree(accountId, own)) return true;
    this.#starved.add(endpointId);
    return false;
  }

  take(accountId: number): void {
    this.#taken++;
    this.#takenBy.set(accountId, (this.#takenBy.get(accountId) ?? 0) + 1);
  }

  giveBack(accountId: number): void {
    this.#taken--;
    const left = (this.#takenBy.get(accountId) ?? 0) - 1;
    if (left > 0) this.#takenBy.set(accountId, left);
    else this.#takenBy.delete(accountId);
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
      if (left-- === 0 || this.#taken >= this.parts.max) return;
      if (share.isOver) return this.#feedSoon();
      this.#starved.delete(endpointId);
      this.parts.wake(endpointId);
    }
  }
}
