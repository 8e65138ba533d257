import { limit } from "../../core/limits.ts";
import type { DeliveryStatus } from "../../core/model.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { bound } from "../bound.ts";
import { deliveriesOf, endOfSlice, KEY_MAX, REPLAYED } from "./children.ts";
import { statusNumber } from "./delivery-row.ts";
import type { Index } from "../index/index.ts";
import type { Store } from "../store.ts";

/** Deliveries with keys above the one and below the other. */
export interface Slice {
  above: number;
  below: number;
}

/** Of which kind they are. */
interface Kind {
  status?: DeliveryStatus | null;
  /** Those that a replay made or reopened alone. */
  isReplayed?: true;
}

/** Which deliveries are meant. */
export interface Wanted extends Kind {
  /** Those to one of these endpoints; null: to any. */
  visible: Endpoints;
  endpointId?: number | null;
}

type Endpoints = ReadonlySet<number> | null;

/** A delivery, and where it goes. */
export interface Sent {
  id: number;
  endpointId: number;
}

/**
 * The deliveries of one event, which may be very many, slice by slice: others have their turn before each,
 * and no more than a slice is held. Of all of them, what is read of a slice are at most twice `listLimitMax`
 * rows. Those to some endpoints are found by each of these, so that none to another is read: how long that
 * takes tells nothing of others.
 */
export class EventDeliveries {
  readonly #end;
  readonly #begin;
  readonly #pick;
  readonly #to;

  constructor(
    { sqlite }: Pick<Store, "sqlite">,
    private readonly index: Pick<Index, "next">,
  ) {
    const parts = [bound(1), bound(2), bound(3)] as const;
    this.#end = sqlite.prepare<{ key: number }, [number, number, number]>(endOfSlice("up", ...parts));
    this.#begin = sqlite.prepare<{ key: number }, [number, number, number]>(endOfSlice("down", ...parts));
    const where = `(${bound(4)} IS NULL OR status = ${bound(4)}) AND (?5 IS NULL OR ${REPLAYED})`;
    this.#pick = sqlite.prepare<Sent, [number, number, number, number | null, true | null]>(
      `${deliveriesOf(bound(1), "id, endpoint_id AS endpointId", { above: bound(2), below: bound(3), where })} ORDER BY id`,
    );
    const [columns, of] = ["delivery.id, endpoint_id AS endpointId", `event_id = ${bound(1)}`];
    this.#to = sqlite.prepare<Sent, [number, string, string]>(
      `SELECT ${columns} FROM delivery WHERE id IN (SELECT value FROM json_each(?2)) AND ${of} AND NOT ${REPLAYED}
       UNION ALL SELECT ${columns} FROM json_each(?3) CROSS JOIN delivery INDEXED BY delivery_replayed_to
         WHERE ${of} AND endpoint_id = value AND ${REPLAYED}`,
    );
  }

  /** Oldest first; each is to be read before the next one is asked for. */
  async *slices(
    eventId: number,
    turns: Turns,
    visible: Endpoints,
    within = wholeOf(eventId),
  ): AsyncGenerator<Slice> {
    if (visible !== null) {
      for (const run of runsOf(await this.#keysTo(eventId, turns, visible, within))) {
        await turns.giveWay();
        yield run;
      }
      return;
    }
    let { above } = within;
    while (above < within.below - 1) {
      await turns.giveWay();
      const end = this.#end.get(eventId, above, limit("listLimitMax"))?.key ?? KEY_MAX;
      const below = Math.min(end, within.below);
      yield { above, below };
      above = below - 1;
    }
  }

  /** Oldest first. */
  async #keysTo(
    eventId: number,
    turns: Turns,
    endpoints: ReadonlySet<number>,
    { above, below }: Slice,
  ): Promise<number[]> {
    const keys: number[] = [];
    const all = [...endpoints];
    for (let at = 0; at < all.length; at += limit("listLimitMax")) {
      await turns.giveWay();
      for (const { id } of this.#sentTo(eventId, all.slice(at, at + limit("listLimitMax"))))
        if (id > above && id < below) keys.push(id);
    }
    return keys.sort((a, b) => a - b);
  }

  /**
   * In no order. What came with the event has the keys right behind it, so that it stands first behind it in
   * the list of its endpoint.
   */
  #sentTo(eventId: number, endpoints: readonly number[]): Sent[] {
    const next = endpoints.flatMap((id) => this.index.next(id, eventId) ?? []);
    return this.#to.all(eventId, JSON.stringify(next), JSON.stringify(endpoints));
  }

  /** Keys of the newest to each of these endpoints, by the endpoint's key. */
  newestTo(eventId: number, endpoints: readonly number[]): Map<number, number> {
    const sent = this.#sentTo(eventId, endpoints).sort((a, b) => a.id - b.id);
    return new Map(sent.map(({ id, endpointId }) => [endpointId, id]));
  }

  /** Keys of the newest below a key, newest first; at most `count`. */
  async newest(
    eventId: number,
    turns: Turns,
    visible: Endpoints,
    before: number,
    count: number,
  ): Promise<number[]> {
    const keys: number[] = [];
    if (visible !== null) {
      const within = { ...wholeOf(eventId), below: before };
      keys.push(...(await this.#keysTo(eventId, turns, visible, within)).reverse());
      return keys.slice(0, count);
    }
    let below = before;
    while (below > eventId + 1 && keys.length < count) {
      await turns.giveWay();
      const above = this.#begin.get(eventId, below, limit("listLimitMax"))?.key ?? eventId;
      const found = this.pick(eventId, { above, below }).reverse();
      keys.push(...found.map(({ id }) => id));
      below = above + 1;
    }
    return keys.slice(0, count);
  }

  /** Those of one slice, oldest first. */
  pick(eventId: number, { above, below }: Slice, { status = null, isReplayed }: Kind = {}): Sent[] {
    const number = status && statusNumber(status);
    return this.#pick.all(eventId, above, below, number, isReplayed ?? null);
  }

  /** Whether there is such a one; what comes behind it is not read. */
  async some(eventId: number, turns: Turns, wanted: Wanted, within?: Slice): Promise<boolean> {
    for await (const slice of this.slices(eventId, turns, endpointsOf(wanted), within))
      if (this.pick(eventId, slice, wanted).length > 0) return true;
    return false;
  }

  async count(eventId: number, turns: Turns, wanted: Wanted, within?: Slice): Promise<number> {
    let count = 0;
    for await (const slice of this.slices(eventId, turns, endpointsOf(wanted), within))
      count += this.pick(eventId, slice, wanted).length;
    return count;
  }
}

function endpointsOf({ visible, endpointId = null }: Wanted): Endpoints {
  if (endpointId === null) return visible;
  return new Set(visible === null || visible.has(endpointId) ? [endpointId] : []);
}

/** Keys that follow each other without a gap are one slice: nothing else stands between. */
function* runsOf(keys: readonly number[]): Generator<Slice> {
  let from = 0;
  for (let at = 1; at <= keys.length; at++) {
    const [first = 0, last = 0] = [keys[from], keys[at - 1]];
    if (keys[at] === last + 1 && at - from < limit("listLimitMax")) continue;
    yield { above: first - 1, below: last + 1 };
    from = at;
  }
}

/** All that an event has. */
export function wholeOf(eventId: number): Slice {
  return { above: eventId, below: KEY_MAX };
}
