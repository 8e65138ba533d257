import type { Delivery } from "../core/model.ts";
import type { Waiting } from "../core/waiting.ts";

/**
 * Events on disk that the replica has not confirmed yet, and their deliveries. They come to their actors once
 * it has; those that wait in the database, parked or for a poller, are not fetched from it until then.
 */
export class Unconfirmed {
  readonly #events = new Set<number>();
  /** By endpoint. */
  readonly #deliveries = new Map<number, Set<number>>();

  /** True for an event that is not to be sent by hand either. */
  hasEvent(eventId: number): boolean {
    return this.#events.has(eventId);
  }

  /** Of a poller's those too whose event is confirmed and that have not got their new place yet. */
  has({ id, eventId, endpointId }: Pick<Delivery, "id" | "eventId" | "endpointId">): boolean {
    return this.#events.has(eventId) || this.#deliveries.get(endpointId)?.has(id) === true;
  }

  /** Deliveries of an endpoint. */
  of(endpointId: number): number[] {
    return [...(this.#deliveries.get(endpointId) ?? [])];
  }

  hold(events: readonly number[], written: readonly Waiting[]): void {
    for (const id of events) this.#events.add(id);
    for (const { id, endpointId } of written) {
      const own = this.#deliveries.get(endpointId);
      if (own) own.add(id);
      else this.#deliveries.set(endpointId, new Set([id]));
    }
  }

  letGo(events: readonly number[], written: readonly Waiting[]): void {
    for (const id of events) this.#events.delete(id);
    for (const { id, endpointId } of written) {
      const own = this.#deliveries.get(endpointId);
      if (own?.delete(id) && own.size === 0) this.#deliveries.delete(endpointId);
    }
  }

  /**
   * The first `count` of what `read` gives of an endpoint, without those that are held. Most often none of
   * these is among them, however many are held elsewhere.
   */
  leftOut<Row extends { id: number }>(
    endpointId: number,
    count: number,
    read: (count: number) => Row[],
  ): Row[] {
    const held = this.#deliveries.get(endpointId);
    for (let most = count; ; most *= 2) {
      const rows = read(most);
      const free = held === undefined ? rows : rows.filter(({ id }) => !held.has(id));
      if (free.length >= count || rows.length < most) return free.slice(0, count);
    }
  }
}
