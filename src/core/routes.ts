import { matchesPattern, patternsFor } from "./event-type.ts";
import { compileFilter, type Filter } from "./filter/filter.ts";
import { limit } from "./limits.ts";
import type { Endpoint } from "./model.ts";
import { atOnce, type Pieces, piecewise } from "./structures/turn-queue.ts";
import { type Subscriber, Subscribers } from "./subscribers.ts";

/** Those who subscribe to one pattern: often one alone, for which a map would be most of what it takes. */
class Place {
  #one: Subscriber | null = null;
  /** By key of their endpoint; from the second one on. */
  #all: Map<number, Subscriber> | null = null;

  /** `id`: no other place of the project has it, nor had it. */
  constructor(readonly id: number) {}

  get size(): number {
    return this.#all?.size ?? (this.#one ? 1 : 0);
  }

  /** A walk goes on where it is, whatever comes and goes meanwhile. */
  values(): Iterable<Subscriber> {
    return this.#all?.values() ?? (this.#one ? [this.#one] : []);
  }

  set(subscriber: Subscriber): void {
    const { id } = subscriber.endpoint;
    if (this.#all === null && this.#one !== null && this.#one.endpoint.id !== id) {
      this.#all = new Map([[this.#one.endpoint.id, this.#one]]);
      this.#one = null;
    }
    if (this.#all) this.#all.set(id, subscriber);
    else this.#one = subscriber;
  }

  delete(endpointId: number): void {
    this.#all?.delete(endpointId);
    if (this.#one?.endpoint.id === endpointId) this.#one = null;
  }
}

/** A change of an endpoint. It leads to all that came after it. */
interface Change {
  endpointId: number;
  next: Change | null;
}

/** The project's own endpoints: those without a consumer. */
const PROJECT = "";
/** What an answer takes beside its list, a list beside its subscribers, and each of these, about. */
const ANSWER_BYTES = 350;
const LIST_BYTES = 350;
const SUBSCRIBER_BYTES = 30;
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** What the answers of all projects take together: where that would be too much, all are forgotten. */
export class AnswerMemory {
  #bytes = 0;
  readonly #holders = new Set<() => void>();

  constructor(private readonly bytesMax = KEPT_BYTES_MAX) {}

  /** `forget` forgets all that its holder has taken. */
  take(bytes: number, forget: () => void): void {
    if (this.#bytes + bytes > this.bytesMax) {
      for (const forgetAll of this.#holders) forgetAll();
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    this.#holders.add(forget);
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/**
 * Who subscribes to what, for one project: endpoints by consumer and pattern, so that an event looks at those
 * that may match and not at all ten thousand. A type with n dots is looked up under n + 2 patterns; types
 * that lead to the same places have one list, which is kept until an endpoint changes.
 */
export class Routes {
  /** By consumer and pattern. */
  readonly #byConsumer = new Map<string, Map<string, Place>>();
  readonly #all = new Map<number, Subscriber>();
  /** By type, and by consumer where it has endpoints of its own. */
  readonly #answers = new Map<string, Subscribers>();
  /** The lists of `#answers`, by the places that they come from. */
  readonly #lists = new Map<string, Subscribers>();
  /** Bytes of `#answers` and `#lists`. */
  #kept = 0;
  #placesMade = 0;
  #latest: Change = { endpointId: 0, next: null };

  constructor(private readonly memory = new AnswerMemory()) {}

  /**
   * Adds an endpoint or replaces what stood under its key; a deleted one is taken out. False where its filter
   * is refused, as that of another version may be: then it subscribes without one, and each of its deliveries
   * fails, visibly (delivery/compiled-endpoint.ts).
   */
  set(endpoint: Endpoint): boolean {
    const old = this.#all.get(endpoint.id);
    if (old) this.#take(old.endpoint);
    this.memory.giveBack(this.#kept);
    this.#forget();
    const change = { endpointId: endpoint.id, next: null };
    this.#latest.next = change;
    this.#latest = change;
    if (endpoint.status === "deleted") return true;
    const filter = filterOf(endpoint, old ?? null);
    this.#put({ endpoint, filter });
    return endpoint.filter === null || filter !== null;
  }

  subscriber(endpointId: number): Subscriber | null {
    return this.#all.get(endpointId) ?? null;
  }

  /**
   * Endpoints whose types and consumer admit the event, in the order of their creation. Filters are not
   * asked here. Null where they are to be found first, and many.
   */
  match(type: string, consumerId: string | null): Subscribers | null {
    const known = this.#answers.get(this.#keyOf(type, consumerId));
    if (known) return known;
    const places = this.#placesFor(type, consumerId);
    const list = this.#lists.get(placesKey(places));
    if (list) this.#keep(type, consumerId, list);
    return list ?? (isShort(places) ? atOnce(this.#gather(type, consumerId, places)) : null);
  }

  /** The same, however many they are: as they were at one moment since the first piece. */
  *find(type: string, consumerId: string | null): Pieces<Subscribers> {
    const known = this.match(type, consumerId);
    return known ?? (yield* this.#gather(type, consumerId, this.#placesFor(type, consumerId)));
  }

  *#gather(type: string, consumerId: string | null, places: readonly Place[]): Pieces<Subscribers> {
    let seen = this.#latest;
    const found = new Map<number, Subscriber>();
    for (const place of places) yield* piecewise(place.values(), (one) => found.set(one.endpoint.id, one));
    // What changed meanwhile may stand in a place that was gone through already.
    while (seen.next !== null) {
      seen = seen.next;
      const now = this.#all.get(seen.endpointId);
      if (now && isSubscribed(now.endpoint, { type, consumerId })) found.set(seen.endpointId, now);
      else found.delete(seen.endpointId);
    }
    const list = yield* Subscribers.of(yield* inOrder(found));
    if (seen === this.#latest) this.#keep(type, consumerId, list);
    return list;
  }

  /** An answer is kept beside its list only: to make room for it, that may have just been forgotten. */
  #keep(type: string, consumerId: string | null, list: Subscribers): void {
    const key = placesKey(this.#placesFor(type, consumerId));
    const isNew = !this.#lists.has(key);
    const bytes = ANSWER_BYTES + (isNew ? LIST_BYTES + list.all.length * SUBSCRIBER_BYTES : 0);
    this.memory.take(bytes, this.#forget);
    this.#kept += bytes;
    if (isNew) this.#lists.set(key, list);
    if (this.#lists.has(key)) this.#answers.set(this.#keyOf(type, consumerId), list);
  }

  /** A consumer without endpoints is as good as none: there may be very many. */
  #keyOf(type: string, consumerId: string | null): string {
    const hasOwn = consumerId !== null && this.#byConsumer.has(consumerKey(consumerId));
    return hasOwn ? `${type} ${consumerId}` : type;
  }

  #placesFor(type: string, consumerId: string | null): Place[] {
    const consumers = consumerId === null ? [PROJECT] : [PROJECT, consumerKey(consumerId)];
    const patterns = patternsFor(type);
    return consumers.flatMap((consumer) => {
      const places = this.#byConsumer.get(consumer);
      return places ? patterns.flatMap((pattern) => places.get(pattern) ?? []) : [];
    });
  }

  readonly #forget = () => {
    this.#answers.clear();
    this.#lists.clear();
    this.#kept = 0;
  };

  #put(subscriber: Subscriber): void {
    const { endpoint } = subscriber;
    this.#all.set(endpoint.id, subscriber);
    const byPattern = this.#byConsumer.get(ownerOf(endpoint)) ?? new Map<string, Place>();
    this.#byConsumer.set(ownerOf(endpoint), byPattern);
    for (const pattern of endpoint.eventTypes ?? ["*"]) {
      const place = byPattern.get(pattern) ?? new Place(++this.#placesMade);
      byPattern.set(pattern, place);
      place.set(subscriber);
    }
  }

  #take(endpoint: Endpoint): void {
    this.#all.delete(endpoint.id);
    const byPattern = this.#byConsumer.get(ownerOf(endpoint));
    for (const pattern of endpoint.eventTypes ?? ["*"]) {
      const place = byPattern?.get(pattern);
      place?.delete(endpoint.id);
      if (place?.size === 0) byPattern?.delete(pattern);
    }
    if (byPattern?.size === 0) this.#byConsumer.delete(ownerOf(endpoint));
  }
}

/**
 * The endpoint's filter, ready to be asked; null where it has none, or it is refused. To compile one takes
 * milliseconds, and most changes leave it as it was. Its keys count in their order, in which they are asked.
 */
function filterOf({ filter }: Endpoint, old: Subscriber | null): Filter | null {
  if (filter === null) return null;
  if (old && JSON.stringify(old.endpoint.filter) === JSON.stringify(filter)) return old.filter;
  const compiled = compileFilter(filter);
  return compiled.ok ? compiled.filter : null;
}

/** True where the endpoint's types and consumer admit the event. */
export function isSubscribed(
  { eventTypes, consumerId }: Pick<Endpoint, "eventTypes" | "consumerId">,
  event: { type: string; consumerId: string | null },
): boolean {
  if (consumerId !== null && consumerId !== event.consumerId) return false;
  return eventTypes === null || eventTypes.some((pattern) => matchesPattern(pattern, event.type));
}

function consumerKey(consumerId: string): string {
  return `=${consumerId}`;
}

function ownerOf(endpoint: Endpoint): string {
  return endpoint.consumerId === null ? PROJECT : consumerKey(endpoint.consumerId);
}

function placesKey(places: readonly Place[]): string {
  return places.map(({ id }) => id).join();
}

/** True where all of them are few enough for a turn: as many as an event may write to at once. */
function isShort(places: readonly Place[]): boolean {
  return places.reduce((sum, { size }) => sum + size, 0) <= limit("eventRowsMax");
}

/** In the order of their creation. */
function* inOrder(found: ReadonlyMap<number, Subscriber>): Pieces<Subscriber[]> {
  const ids = new Float64Array(found.size);
  let at = 0;
  yield* piecewise(found.keys(), (id) => (ids[at++] = id));
  const all: Subscriber[] = [];
  yield* piecewise(ids.sort(), (id) => {
    const one = found.get(id);
    if (one) all.push(one);
  });
  return all;
}
