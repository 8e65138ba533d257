import { invalid, type Problem } from "../core/errors.ts";
import { limit } from "../core/limits.ts";
import type { Endpoint } from "../core/model.ts";
import { atOnce, type Pieces, piecewise } from "../core/structures/turn-queue.ts";
import { keepsOrder } from "../destinations/destinations.ts";
import type { FanoutList } from "../store/log/fanouts.ts";

/** Endpoints whose deliveries follow their event, in the order in which they are written. */
export interface Followers extends Omit<FanoutList, "id" | "endpoints"> {
  /** Those that keep the order stand first. */
  endpoints: readonly Endpoint[];
  ids: readonly number[];
}

/**
 * By the endpoints of wide events, as `Subscribers` keeps them: while no endpoint changes, all events that
 * no filter is asked about share one list, however many are on their way.
 */
export type KnownOrders = WeakMap<readonly Endpoint[], Omit<Followers, "asOf">>;

/** A wide audience, and the order in which it is written. */
export interface WideList {
  endpoints: readonly Endpoint[];
  followers: Followers;
}

/**
 * The wide audiences of one batch: equal ones are one list. The first may be as large as the project; what
 * all are together has bounds.
 */
export class WideAudiences {
  readonly #lists: WideList[] = [];
  #rows = 0;
  #deliveries = 0;

  constructor(private readonly known: KnownOrders) {}

  /**
   * The list of these endpoints, made here or for an equal audience before it. `asOf`: `Endpoints.changes`
   * before they were chosen. Throws 422 for the event `at` of the batch where all would be too many.
   */
  *share(endpoints: readonly Endpoint[], asOf: number, at: number): Pieces<WideList> {
    const isFirst = this.#lists.length === 0;
    const deliveries = this.#deliveries + endpoints.length;
    if (!isFirst && deliveries > limit("batchDeliveriesMax"))
      throw tooWide(at, "batchDeliveriesMax", "deliveries together");
    const known = this.#lists.find((list) => isSame(list.endpoints, endpoints));
    const rows = this.#rows + (known ? 0 : endpoints.length);
    if (!known && !isFirst && rows > limit("batchListRowsMax"))
      throw tooWide(at, "batchListRowsMax", "endpoints in their different audiences together");
    const list = known ?? { endpoints, followers: { ...(yield* this.#orderOf(endpoints)), asOf } };
    // Not before the last piece: the work may be begun anew.
    [this.#deliveries, this.#rows] = [deliveries, rows];
    if (!known) this.#lists.push(list);
    return list;
  }

  *#orderOf(endpoints: readonly Endpoint[]): Pieces<Omit<Followers, "asOf">> {
    const order = this.known.get(endpoints) ?? (yield* inOrderByPieces(endpoints));
    this.known.set(endpoints, order);
    return order;
  }
}

function isSame(one: readonly Endpoint[], other: readonly Endpoint[]): boolean {
  return one === other || (one.length === other.length && one.every(({ id }, at) => id === other[at]?.id));
}

/** The events of a batch, up to the one at `at`, have more of `what` than the limit `name` allows. */
function tooWide(at: number, name: Parameters<typeof limit>[0], what: string): Problem {
  const max = limit(name).toLocaleString("en-US");
  const detail = `Up to this event, those of the batch have more than ${max} ${what}. Publish fewer at once.`;
  return invalid(`/events/${at}`, detail);
}

function* inOrderByPieces(endpoints: readonly Endpoint[]): Pieces<Omit<Followers, "asOf">> {
  const first: Endpoint[] = [];
  const others: Endpoint[] = [];
  yield* piecewise(endpoints, (one) => (keepsOrder(one) ? first : others).push(one));
  const all = first.length === 0 ? endpoints : [...first, ...others];
  const ids: number[] = [];
  yield* piecewise(all, ({ id }) => ids.push(id));
  return { endpoints: all, ids, ordered: first.length };
}

/** Those that keep the order first. `asOf`: see FanoutList. */
export function inOrder(endpoints: readonly Endpoint[], asOf: number | null): Followers {
  return { ...atOnce(inOrderByPieces(endpoints)), asOf };
}

/** True where the deliveries are too many for the event's own transaction: they follow in slices. */
export function isWide(endpoints: readonly Endpoint[]): boolean {
  return endpoints.length > limit("eventRowsMax");
}
