import { invalid, type Problem } from "../core/errors.ts";
import { limit } from "../core/limits.ts";
import type { Endpoint } from "../core/model.ts";
import type { Turns } from "../core/structures/turn-queue.ts";
import { keepsOrder } from "../destinations/destinations.ts";
import type { FanoutList } from "../store/log/fanouts.ts";

/** Endpoints whose deliveries follow their event, in the order in which they are written. */
export interface Followers extends Omit<FanoutList, "id" | "endpoints"> {
  /** Those that keep the order stand first. */
  endpoints: readonly Endpoint[];
  ids: readonly number[];
}

/** A wide audience, and the order in which it is written. */
interface WideList {
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

  /**
   * The list of these endpoints, made here or for an equal audience before it. `asOf`: `Endpoints.changes`
   * before they were chosen. Throws 422 for the event `at` of the batch where all would be too many.
   */
  async share(endpoints: readonly Endpoint[], asOf: number, at: number, turns: Turns): Promise<WideList> {
    const isFirst = this.#lists.length === 0;
    this.#deliveries += endpoints.length;
    if (!isFirst && this.#deliveries > limit("batchDeliveriesMax"))
      throw tooWide(at, "batchDeliveriesMax", "deliveries together");
    const known = this.#lists.find((list) => isSame(list.endpoints, endpoints));
    if (known) return known;
    this.#rows += endpoints.length;
    if (!isFirst && this.#rows > limit("batchListRowsMax"))
      throw tooWide(at, "batchListRowsMax", "endpoints in their different audiences together");
    const list = { endpoints, followers: await inOrderByTurns(endpoints, asOf, turns) };
    this.#lists.push(list);
    return list;
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

const LOOKED_AT_ONCE = 500;

async function inOrderByTurns(
  endpoints: readonly Endpoint[],
  asOf: number,
  turns: Turns,
): Promise<Followers> {
  const parts: Followers[] = [];
  for (let from = 0; from < endpoints.length; from += LOOKED_AT_ONCE) {
    if (turns.isOver) await turns.next();
    parts.push(inOrder(endpoints.slice(from, from + LOOKED_AT_ONCE), asOf));
  }
  const join = <T>(read: (part: Followers) => readonly T[]): T[] => [
    ...parts.flatMap((part) => read(part).slice(0, part.ordered)),
    ...parts.flatMap((part) => read(part).slice(part.ordered)),
  ];
  const ordered = parts.reduce((sum, part) => sum + part.ordered, 0);
  return { endpoints: join((part) => part.endpoints), ids: join(({ ids }) => ids), ordered, asOf };
}

/** Those that keep the order first. `asOf`: see FanoutList. */
export function inOrder(endpoints: readonly Endpoint[], asOf: number | null): Followers {
  const first = endpoints.filter(keepsOrder);
  const all = first.length === 0 ? endpoints : [...first, ...endpoints.filter((one) => !keepsOrder(one))];
  return { endpoints: all, ids: all.map(({ id }) => id), ordered: first.length, asOf };
}

/** True where the deliveries are too many for the event's own transaction: they follow in slices. */
export function isWide(endpoints: readonly Endpoint[]): boolean {
  return endpoints.length > limit("eventRowsMax");
}
