import { limit } from "../core/limits.ts";

const KEPT_MS = 60_000;

/**
 * Deliveries that somebody replayed, cancelled or tried by hand, for a minute. A delivery can be seen once
 * it is committed, and is dispatched after the fsync: what that carries of it would be out of date.
 */
export class Touched {
  /** When, by delivery, in the order of these times. */
  readonly #at = new Map<number, number>();

  constructor(private readonly now: () => number) {}

  has(deliveryId: number): boolean {
    return this.#at.has(deliveryId);
  }

  /** Each call also forgets up to two deliveries that were touched more than a minute ago. */
  add(deliveryId: number): void {
    const now = this.now();
    this.#at.delete(deliveryId);
    this.#at.set(deliveryId, now);
    let looked = 0;
    for (const [id, at] of this.#at) {
      const isSurplus = this.#at.size > limit("touchedMax");
      if (!isSurplus && (++looked > 2 || Math.abs(now - at) < KEPT_MS)) break;
      this.#at.delete(id);
    }
  }
}
