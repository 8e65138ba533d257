import type { Waiting } from "../core/waiting.ts";

/**
 * Deliveries on disk whose events the replica has not confirmed yet. They come to their actors once it has;
 * those that wait in the database, parked or for a poller, are not fetched from it until then.
 */
export class Unconfirmed {
  readonly #ids = new Set<number>();

  get ids(): ReadonlySet<number> {
    return this.#ids;
  }

  hold(written: readonly Waiting[]): void {
    for (const { id, queueOrder } of written) if (queueOrder !== null) this.#ids.add(id);
  }

  letGo(written: readonly Waiting[]): void {
    if (this.#ids.size === 0) return;
    for (const { id } of written) this.#ids.delete(id);
  }

  /** The first `count` of what `read` gives, without those that are held. */
  leftOut<Row extends { id: number }>(count: number, read: (count: number) => Row[]): Row[] {
    if (this.#ids.size === 0) return read(count);
    return read(count + this.#ids.size)
      .filter(({ id }) => !this.#ids.has(id))
      .slice(0, count);
  }
}
