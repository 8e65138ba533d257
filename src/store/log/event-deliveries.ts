import { limit } from "../../core/limits.ts";
import type { DeliveryStatus } from "../../core/model.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { bound } from "../bound.ts";
import { deliveriesOf, endOfSlice, KEY_MAX, REPLAYED } from "./children.ts";
import { statusNumber } from "./delivery-row.ts";
import type { Store } from "../store.ts";

/** Deliveries with keys above the one and below the other. */
export interface Slice {
  above: number;
  below: number;
}

/** Which deliveries are meant. */
export interface Wanted {
  /** Those to one of these endpoints; null: to any. */
  visible: ReadonlySet<number> | null;
  endpointId?: number | null;
  status?: DeliveryStatus | null;
  /** Those that a replay made or reopened alone. */
  isReplayed?: true;
}

/** A delivery, and where it goes. */
export interface Sent {
  id: number;
  endpointId: number;
}

/**
 * The deliveries of one event, which may be very many, slice by slice: others have their turn before each,
 * and no more than a slice is held. What is read of a slice are at most twice `listLimitMax` rows, whoever
 * they go to.
 */
export class EventDeliveries {
  readonly #end;
  readonly #begin;
  readonly #pick;

  constructor({ sqlite }: Pick<Store, "sqlite">) {
    const parts = [bound(1), bound(2), bound(3)] as const;
    this.#end = sqlite.prepare<{ key: number }, [number, number, number]>(endOfSlice("up", ...parts));
    this.#begin = sqlite.prepare<{ key: number }, [number, number, number]>(endOfSlice("down", ...parts));
    const where = `(${bound(4)} IS NULL OR endpoint_id = ${bound(4)}) AND (${bound(5)} IS NULL OR status = ${bound(5)}) AND (?6 IS NULL OR ${REPLAYED})`;
    this.#pick = sqlite.prepare<Sent, [number, number, number, number | null, number | null, true | null]>(
      `${deliveriesOf(bound(1), "id, endpoint_id AS endpointId", { above: bound(2), below: bound(3), where })} ORDER BY id`,
    );
  }

  /** Oldest first; each is to be read before the next one is asked for. */
  async *slices(eventId: number, turns: Turns, within = wholeOf(eventId)): AsyncGenerator<Slice> {
    let { above } = within;
    while (above < within.below - 1) {
      await turns.giveWay();
      const end = this.#end.get(eventId, above, limit("listLimitMax"))?.key ?? KEY_MAX;
      const below = Math.min(end, within.below);
      yield { above, below };
      above = below - 1;
    }
  }

  /** Keys of the newest below a key, newest first; at most `count`. */
  async newest(
    eventId: number,
    turns: Turns,
    wanted: Wanted,
    before: number,
    count: number,
  ): Promise<number[]> {
    const keys: number[] = [];
    let below = before;
    while (below > eventId + 1 && keys.length < count) {
      await turns.giveWay();
      const above = this.#begin.get(eventId, below, limit("listLimitMax"))?.key ?? eventId;
      const found = this.pick(eventId, { above, below }, wanted).reverse();
      keys.push(...found.map(({ id }) => id));
      below = above + 1;
    }
    return keys.slice(0, count);
  }

  /** Those of one slice, oldest first. */
  pick(eventId: number, { above, below }: Slice, wanted: Wanted): Sent[] {
    const { visible, endpointId = null, status = null, isReplayed = null } = wanted;
    const number = status && statusNumber(status);
    const found = this.#pick.all(eventId, above, below, endpointId, number, isReplayed);
    return visible === null ? found : found.filter((sent) => isVisible(sent, visible));
  }

  /** Whether there is such a one; what comes behind it is not read. */
  async some(eventId: number, turns: Turns, wanted: Wanted, within?: Slice): Promise<boolean> {
    for await (const slice of this.slices(eventId, turns, within))
      if (this.pick(eventId, slice, wanted).length > 0) return true;
    return false;
  }

  async count(eventId: number, turns: Turns, wanted: Wanted, within?: Slice): Promise<number> {
    let count = 0;
    for await (const slice of this.slices(eventId, turns, within))
      count += this.pick(eventId, slice, wanted).length;
    return count;
  }
}

/** Whether it goes to one of the `visible` endpoints; null: all. */
export function isVisible(
  { endpointId }: { endpointId: number },
  visible: ReadonlySet<number> | null,
): boolean {
  return visible === null || visible.has(endpointId);
}

/** All that an event has. */
export function wholeOf(eventId: number): Slice {
  return { above: eventId, below: KEY_MAX };
}
