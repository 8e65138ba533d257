import { patternsFor } from "./event-type.ts";
import type { Endpoint } from "./model.ts";

/** The project's own endpoints: those without a consumer. */
const PROJECT = "";

/**
 * Who subscribes to what, for one project: endpoints by consumer and pattern, so that an event looks at those that may match and
 * not at all ten thousand. A type with n dots is looked up under n + 2 patterns.
 */
export class Routes {
  readonly #byConsumer = new Map<string, Map<string, Map<number, Endpoint>>>();
  readonly #all = new Map<number, Endpoint>();

  /** Adds an endpoint or replaces what stood under its key; a deleted one is taken out. */
  set(endpoint: Endpoint): void {
    const old = this.#all.get(endpoint.id);
    if (old) this.#take(old);
    if (endpoint.status !== "deleted") this.#put(endpoint);
  }

  /** Endpoints whose types and consumer admit the event, in the order of their creation. Filters are not asked here. */
  match(type: string, consumerId: string | null): Endpoint[] {
    const found = this.#find(PROJECT, type);
    if (consumerId !== null) found.push(...this.#find(consumerKey(consumerId), type));
    return found.length > 1 ? found.sort((a, b) => a.id - b.id) : found;
  }

  #find(consumer: string, type: string): Endpoint[] {
    const byPattern = this.#byConsumer.get(consumer);
    if (!byPattern) return [];
    const found = new Map<number, Endpoint>();
    for (const pattern of patternsFor(type)) {
      const endpoints = byPattern.get(pattern);
      if (endpoints) for (const [id, endpoint] of endpoints) found.set(id, endpoint);
    }
    return [...found.values()];
  }

  #put(endpoint: Endpoint): void {
    this.#all.set(endpoint.id, endpoint);
    const byPattern = getOrMake(this.#byConsumer, keyOf(endpoint));
    for (const pattern of endpoint.eventTypes ?? ["*"])
      getOrMake(byPattern, pattern).set(endpoint.id, endpoint);
  }

  #take(endpoint: Endpoint): void {
    this.#all.delete(endpoint.id);
    const byPattern = this.#byConsumer.get(keyOf(endpoint));
    for (const pattern of endpoint.eventTypes ?? ["*"]) {
      const endpoints = byPattern?.get(pattern);
      endpoints?.delete(endpoint.id);
      if (endpoints?.size === 0) byPattern?.delete(pattern);
    }
    if (byPattern?.size === 0) this.#byConsumer.delete(keyOf(endpoint));
  }
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
