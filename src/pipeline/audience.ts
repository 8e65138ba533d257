import type { Evaluation } from "../core/filter/filter.ts";
import type { Json } from "../core/json/value.ts";
import { type Followers, isWide, type KnownOrders, WideAudiences, type WideList } from "./followers.ts";
import { limit } from "../core/limits.ts";
import { type Endpoint, envelopeOf } from "../core/model.ts";
import { AnswerMemory, isSubscribed, Routes } from "../core/routes.ts";
import type { Subscribers } from "../core/subscribers.ts";
import { type Pieces, piecewise, type Turns } from "../core/structures/turn-queue.ts";
import type { Data } from "../store/data.ts";
import { filteredText } from "../store/log/filtered.ts";
import { turnsOf } from "../store/project-turns.ts";

/** What decides who gets an event. */
export interface RoutedEvent {
  type: string;
  timestamp: number;
  consumerId: string | null;
  /** JSON text. */
  data: string;
}

/** Who gets an event. */
export interface Audience {
  endpoints: readonly Endpoint[];
  /**
   * The endpoints that subscribe to the type and whose filter said no, as the event's row keeps them. The
   * text is made before the write, where other work of the loop can come between.
   */
  filtered: string | null;
  /** Of a wide event, made before the write for the same reason; equal ones of a batch are one. */
  followers: Followers | null;
}

/** Filters that an event was too much for: they count as having said no. */
export interface Exhaustion {
  projectId: number;
  type: string;
  /** The first of them. */
  endpointId: number;
  count: number;
}

export interface AudienceListeners {
  /** Hears of filters that an event was too much for. */
  onExhausted: (exhaustion: Exhaustion) => void;
  /** Hears of an endpoint whose stored filter this version refuses: what it gets fails. */
  onRefusedFilter: (endpoint: Endpoint) => void;
}

/** Chooses who gets an event, project by project: types and consumer by an index, then each filter. */
export class Audiences {
  readonly #routes = new Map<number, Routes>();
  readonly #memory = new AnswerMemory();
  readonly #orders: KnownOrders = new WeakMap();

  constructor(
    private readonly data: Pick<Data, "store" | "tenants" | "endpoints">,
    private readonly tell: AudienceListeners,
  ) {
    for (const endpoint of data.endpoints.all()) this.#set(endpoint);
    data.endpoints.onChange((endpoint) => this.#set(endpoint));
  }

  #set(endpoint: Endpoint): void {
    if (!this.#routesOf(endpoint.projectId).set(endpoint)) this.tell.onRefusedFilter(endpoint);
  }

  /**
   * Who gets each of these events, as the project's endpoints are now: at once for a single narrow event that
   * no filter is asked about; otherwise others go first where it takes long.
   */
  of(projectId: number, events: readonly RoutedEvent[]): Audience[] | Promise<Audience[]> {
    const [first] = events;
    if (first === undefined || events.length > 1) return this.#ofAll(projectId, events);
    const known = this.#routesOf(projectId).match(first.type, first.consumerId);
    if (known === null || known.hasFilters || isWide(known.endpoints)) return this.#ofAll(projectId, events);
    return [everybody(known.endpoints)];
  }

  async #ofAll(projectId: number, events: readonly RoutedEvent[]): Promise<Audience[]> {
    const audiences: Audience[] = [];
    const wide = new WideAudiences(this.#orders);
    const turns = turnsOf(this.data, projectId);
    for (const [at, event] of events.entries()) {
      const asOf = this.data.endpoints.changes;
      const listOf: ListOf = (endpoints) => wide.share(endpoints, asOf, at);
      audiences.push(await this.#ofOne(projectId, event, listOf, turns));
    }
    // What follows a wide one is work too.
    if (audiences.some(({ endpoints }) => isWide(endpoints))) await turns.next();
    return audiences;
  }

  /** What is made of a wide event is one of the works that an account does one by one, up to its list. */
  async #ofOne(projectId: number, event: RoutedEvent, listOf: ListOf, turns: Turns): Promise<Audience> {
    if (turns.isOver) await turns.next();
    const routes = this.#routesOf(projectId);
    const { hasFilters, endpoints } =
      routes.match(event.type, event.consumerId) ??
      (await turns.inPieces(0, () => routes.find(event.type, event.consumerId)));
    if (hasFilters) return turns.inPieces(event.data.length, () => this.#askAll(projectId, event, listOf));
    return isWide(endpoints)
      ? turns.inPieces(0, () => widened(everybody(endpoints), listOf))
      : everybody(endpoints);
  }

  *#askAll(projectId: number, event: RoutedEvent, listOf: ListOf): Pieces<Audience> {
    const routes = this.#routesOf(projectId);
    // As they are now: the event may have waited for others.
    let subscribers = routes.match(event.type, event.consumerId);
    if (subscribers === null) {
      subscribers = yield* routes.find(event.type, event.consumerId);
      // The parse is a piece of its own.
      yield;
    }
    const matched = yield* this.#ask(projectId, subscribers, event);
    const isAll = matched.size === subscribers.all.length;
    const audience = isAll ? everybody(subscribers.endpoints) : yield* divide(subscribers, matched);
    return yield* widened(audience, listOf);
  }

  /**
   * Keys of the endpoints whose filter says yes. Once the filters of an event have taken very much together,
   * each further one may take little: what people write is not touched by that, and what is counts as
   * exhausted, as one filter alone may be.
   */
  *#ask(projectId: number, subscribers: Subscribers, event: RoutedEvent): Pieces<ReadonlySet<number>> {
    const envelope = read(event);
    const matched = new Set<number>();
    const exhausted: number[] = [];
    let stepsLeft = EVENT_STEPS_MAX;
    const candidates = yield* subscribers.candidates(envelope);
    for (const [at, { endpoint, filter }] of candidates.entries()) {
      // The first is asked in the turn of the parse: what was parsed does not wait for nothing.
      if (at > 0) yield 0;
      const { judgement, steps } =
        filter?.evaluate(envelope, stepsLeft > 0 ? STEPS_MAX : LATE_STEPS_MAX) ?? UNFILTERED;
      stepsLeft -= steps;
      if (judgement === "matched") matched.add(endpoint.id);
      if (judgement === "exhausted") exhausted.push(endpoint.id);
    }
    if (matched.size < subscribers.all.length) yield 0;
    this.#reportExhausted(projectId, event.type, exhausted);
    return matched;
  }

  /** True where the endpoint's types, consumer and filter admit the event. */
  matches(endpoint: Endpoint, event: RoutedEvent): boolean {
    if (!isSubscribed(endpoint, event)) return false;
    const filter = this.#routesOf(endpoint.projectId).subscriber(endpoint.id)?.filter ?? null;
    return filter === null || filter.matches(read(event));
  }

  #reportExhausted(projectId: number, type: string, [endpointId, ...others]: readonly number[]): void {
    if (endpointId !== undefined)
      this.tell.onExhausted({ projectId, type, endpointId, count: 1 + others.length });
  }

  #routesOf(projectId: number): Routes {
    const routes = this.#routes.get(projectId) ?? new Routes(this.#memory);
    this.#routes.set(projectId, routes);
    return routes;
  }
}

const UNFILTERED: Evaluation = { judgement: "matched", steps: 0 };
const STEPS_MAX = limit("filterStepsMax");
const LATE_STEPS_MAX = limit("lateFilterStepsMax");
const EVENT_STEPS_MAX = limit("eventFilterStepsMax");

/** Makes the list of a wide audience. */
type ListOf = (endpoints: readonly Endpoint[]) => Pieces<WideList>;

function* widened(audience: Audience, listOf: ListOf): Pieces<Audience> {
  if (!isWide(audience.endpoints)) return audience;
  yield 0;
  return { ...audience, ...(yield* listOf(audience.endpoints)) };
}

/** The audience of an event to which no filter says no. */
export function everybody(endpoints: readonly Endpoint[]): Audience {
  return { endpoints, filtered: null, followers: null };
}

/**
 * Parts the subscribers into those that get the event and those whose filter said no. Of the latter only some
 * are named: a consumer's own endpoints first, as its portal links see no others.
 */
function* divide({ all }: Subscribers, matched: ReadonlySet<number>): Pieces<Audience> {
  const endpoints: Endpoint[] = [];
  const own: number[] = [];
  const shared: number[] = [];
  const max = limit("filteredNamedMax");
  yield* piecewise(all, ({ endpoint }) => {
    if (matched.has(endpoint.id)) endpoints.push(endpoint);
    else if (endpoint.consumerId !== null) own.push(endpoint.id);
    else if (shared.length < max) shared.push(endpoint.id);
  });
  const named = [...own, ...shared].slice(0, max);
  const others = all.length - endpoints.length - named.length;
  return { endpoints, filtered: filteredText({ named, others }), followers: null };
}

function read({ type, timestamp, data }: RoutedEvent): Json {
  return JSON.parse(envelopeOf(type, timestamp, data)) as Json;
}
