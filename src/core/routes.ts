import { matchesPattern, patternsFor } from "./event-type.ts";
import { compileFilter, type Filter } from "./filter.ts";
import type { Endpoint } from "./model.ts";
import { type Subscriber, Subscribers } from "./subscribers.ts";

/** Subscribers by key, in each pattern's place. */
type Patterns = Map<string, Map<number, Subscriber>>;

/** The project's own endpoints: those without a consumer. */
const PROJECT = "";
/** Subscribers that the answers kept together hold at most: some 30 bytes each. */
const KEPT_MAX = 500_000;

/**
 * Who subscribes to what, for one project: endpoints by consumer and pattern, so that an event looks at those that may match and
 * not at all ten thousand. A type with n dots is looked up under n + 2 patterns; the answer is kept until an endpoint changes.
 */
export class Routes {
  readonly #byConsumer = new Map<string, Patterns>();
  readonly #all = new Map<number, Subscriber>();
  readonly #answers = new Map<string, Subscribers>();
  #kept = 0;

  /** Adds an endpoint or replaces what stood under its key; a deleted one is taken out. Throws where its filter was refused. */
  set(endpoint: Endpoint): void {
    const old = this.#all.get(endpoint.id);
    if (old) this.#take(old.endpoint);
    if (endpoint.status !== "deleted") this.#put({ endpoint, filter: filterOf(endpoint) });
    this.#forgetAnswers();
  }

  subscriber(endpointId: number): Subscriber | null {
    return this.#all.get(endpointId) ?? null;
  }

  /** Those whose types and consumer admit the event, in the order of their creation. Filters are not asked here. */
  match(type: string, consumerId: string | null): Subscribers {
    const key = consumerId === null ? type : `${type} ${consumerId}`;
    const known = this.#answers.get(key);
    if (known) return known;
    const found = this.#find(type, consumerId);
    if (this.#kept + found.length + 1 > KEPT_MAX) this.#forgetAnswers();
    this.#kept += found.length + 1;
    const answer = new Subscribers(found);
    this.#answers.set(key, answer);
    return answer;
  }

  #find(type: string, consumerId: string | null): Subscriber[] {
    const found = new Map<number, Subscriber>();
    const consumers = consumerId === null ? [PROJECT] : [PROJECT, consumerKey(consumerId)];
    for (const pattern of patternsFor(type)) {
      const places = consumers.map((consumer) => this.#byConsumer.get(consumer)?.get(pattern));
      for (const subscribers of places) subscribers?.forEach((one, id) => found.set(id, one));
    }
    return [...found.values()].sort((a, b) => a.endpoint.id - b.endpoint.id);
  }

  #forgetAnswers(): void {
    this.#answers.clear();
    this.#kept = 0;
  }

  #put(subscriber: Subscriber): void {
    const { endpoint } = subscriber;
    this.#all.set(endpoint.id, subscriber);
    const byPattern = getOrMake<string, Map<number, Subscriber>>(this.#byConsumer, keyOf(endpoint));
    for (const pattern of endpoint.eventTypes ?? ["*"])
      getOrMake(byPattern, pattern).set(endpoint.id, subscriber);
  }

  #take(endpoint: Endpoint): void {
    this.#all.delete(endpoint.id);
    const byPattern = this.#byConsumer.get(keyOf(endpoint));
    for (const pattern of endpoint.eventTypes ?? ["*"]) {
      const subscribers = byPattern?.get(pattern);
      subscribers?.delete(endpoint.id);
      if (subscribers?.size === 0) byPattern?.delete(pattern);
    }
    if (byPattern?.size === 0) this.#byConsumer.delete(keyOf(endpoint));
  }
}

/** True where the endpoint's types and consumer admit the event. */
export function isSubscribed(
  { eventTypes, consumerId }: Pick<Endpoint, "eventTypes" | "consumerId">,
  event: { type: string; consumerId: string | null },
): boolean {
  if (consumerId !== null && consumerId !== event.consumerId) return false;
  return eventTypes === null || eventTypes.some((pattern) => matchesPattern(pattern, event.type));
}

function filterOf(endpoint: Endpoint): Filter | null {
  if (endpoint.filter === null) return null;
  const compiled = compileFilter(endpoint.filter);
  if (!compiled.ok) throw new Error("an endpoint has a filter that was refused");
  return compiled.filter;
}

function consumerKey(consumerId: string): string {
  return `=${consumerId}`;
}

function keyOf(endpoint: Endpoint): string {
  return endpoint.consumerId === null ? PROJECT : consumerKey(endpoint.consumerId);
}

function getOrMake<K, V>(map: Map<string, Map<K, V>>, key: string): Map<K, V> {
  const made = map.get(key) ?? new Map<K, V>();
  map.set(key, made);
  return made;
}
