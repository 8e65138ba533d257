import { matchesPattern, patternsFor } from "./event-type.ts";
import { compileFilter } from "./filter/filter.ts";
import type { Endpoint } from "./model.ts";
import { type Subscriber, Subscribers } from "./subscribers.ts";

/** Subscribers by key, in each pattern's place. */
type Patterns = Map<string, Map<number, Subscriber>>;

/** The project's own endpoints: those without a consumer. */
const PROJECT = "";
/** What an answer takes beside its subscribers, and each of these, about. */
const ANSWER_BYTES = 350;
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
 * that may match and not at all ten thousand. A type with n dots is looked up under n + 2 patterns; the
 * answer is kept until an endpoint changes.
 */
export class Routes {
  readonly #byConsumer = new Map<string, Patterns>();
  readonly #all = new Map<number, Subscriber>();
  readonly #answers = new Map<string, Subscribers>();
  /** Bytes of `#answers`. */
  #kept = 0;

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
    if (endpoint.status === "deleted") return true;
    const compiled = endpoint.filter === null ? null : compileFilter(endpoint.filter);
    this.#put({ endpoint, filter: compiled?.ok ? compiled.filter : null });
    return compiled === null || compiled.ok;
  }

  subscriber(endpointId: number): Subscriber | null {
    return this.#all.get(endpointId) ?? null;
  }

  /**
   * Endpoints whose types and consumer admit the event, in the order of their creation. Filters are not
   * asked here.
   */
  match(type: string, consumerId: string | null): Subscribers {
    // A consumer without endpoints is as good as none: there may be very many.
    const hasOwn = consumerId !== null && this.#byConsumer.has(consumerKey(consumerId));
    const key = hasOwn ? `${type} ${consumerId}` : type;
    const known = this.#answers.get(key);
    if (known) return known;
    const found = this.#find(type, consumerId);
    const bytes = ANSWER_BYTES + found.length * SUBSCRIBER_BYTES;
    this.memory.take(bytes, this.#forget);
    this.#kept += bytes;
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

  readonly #forget = () => {
    this.#answers.clear();
    this.#kept = 0;
  };

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
