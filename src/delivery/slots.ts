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
 */
export class Slots {
  #taken = 0;
  /** Endpoints that found no slot; not all of them have something left to send. */
  readonly #starved = new Set<number>();
  #isFeeding = false;

  constructor(private readonly parts: SlotsParts) {}

  get starved(): Iterable<number> {
    return this.#starved;
  }

  /**
   * True where one more attempt of an endpoint may start that has `own` in flight, without those made by
   * hand. Up to half of the slots each endpoint takes as many as it may; of the rest one, so that the slow
   * leave room for the others.
   */
  isFree(own: number): boolean {
    const { max } = this.parts;
    return this.#taken < max / 2 || (own === 0 && this.#taken < max);
  }

  /** The same, for an endpoint that has something to send: where it is false, it is woken later. */
  has(endpointId: number, own: number): boolean {
    if (this.isFree(own)) return true;
    this.#starved.add(endpointId);
    return false;
  }

  take(): void {
    this.#taken++;
  }

  giveBack(): void {
    this.#taken--;
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
