import type { Waiting } from "../core/waiting.ts";

/**
 * Events on disk that the replica has not confirmed yet, and their deliveries. They come to their actors once
 * it has; those that wait in the database, parked or for a poller, are not fetched from it until then.
 */
export class Unconfirmed {
  readonly #events = new Set<number>();
  readonly #ids = new Set<number>();

  /** True for an event that is not to be sent by hand either. */
  hasEvent(eventId: number): boolean {
    return this.#events.has(eventId);
  }

  hold(events: readonly number[], written: readonly Waiting[]): void {
    for (const id of events) this.#events.add(id);
    for (const { id, queueOrder } of written) if (queueOrder !== null) this.#ids.add(id);
  }

  letGo(events: readonly number[], written: readonly Waiting[]): void {
    for (const id of events) this.#events.delete(id);
    if (this.#ids.size === 0) return;
    for (const { id } of written) this.#ids.delete(id);
  }

  /**
   * The first `count` of what `read` gives, without those that are held. Most often none of these is among
   * them, however many are held elsewhere.
   */
  leftOut<Row extends { id: number }>(count: number, read: (count: number) => Row[]): Row[] {
    for (let most = count; ; most *= 2) {
      const rows = read(most);
      const free = this.#ids.size === 0 ? rows : rows.filter(({ id }) => !this.#ids.has(id));
      if (free.length >= count || rows.length < most) return free.slice(0, count);
    }
  }
}
