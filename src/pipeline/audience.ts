import type { Evaluation } from "../core/filter/filter.ts";
import type { Json } from "../core/json/value.ts";
import { invalid, type Problem } from "../core/errors.ts";
import { limit } from "../core/limits.ts";
import { type Endpoint, envelopeOf } from "../core/model.ts";
import { AnswerMemory, isSubscribed, Routes } from "../core/routes.ts";
import type { Subscribers } from "../core/subscribers.ts";
import { isHeavy, type Turns } from "../core/structures/turn-queue.ts";
import { keepsOrder } from "../destinations/destinations.ts";
import type { Data } from "../store/data.ts";
import type { FanoutList } from "../store/log/fanouts.ts";
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

/** Endpoints whose deliveries follow their event, in the order in which they are written. */
export interface Followers extends Omit<FanoutList, "id" | "endpoints"> {
  /** Those that keep the order stand first. */
  endpoints: readonly Endpoint[];
  ids: readonly number[];
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
    const { hasFilters, endpoints } = this.#routesOf(projectId).match(first.type, first.consumerId);
    if (hasFilters || isWide(endpoints)) return this.#ofAll(projectId, events);
    return [{ endpoints, filtered: null, followers: null }];
  }

  async #ofAll(projectId: number, events: readonly RoutedEvent[]): Promise<Audience[]> {
    const audiences: Audience[] = [];
    const wide = new WideAudiences();
    const turns = turnsOf(this.data, projectId);
    for (const [at, event] of events.entries()) {
      const bytes = event.data.length;
      const asOf = this.data.endpoints.changes;
      const audience = await turns.oneByOne(bytes, () => this.#ofOne(projectId, event, turns));
      audiences.push(isWide(audience.endpoints) ? await wide.share(audience, asOf, at, turns) : audience);
    }
    // What follows a wide one is work too.
    if (audiences.some(({ endpoints }) => isWide(endpoints))) await turns.next();
    return audiences;
  }

  async #ofOne(projectId: number, event: RoutedEvent, turns: Turns): Promise<Audience> {
    if (turns.isOver) await turns.next();
    const subscribers = this.#routesOf(projectId).match(event.type, event.consumerId);
    if (!subscribers.hasFilters) return everybody(subscribers);
    if (isHeavy(event.data.length)) await turns.ownTurn();
    // To look them up the first time is work too.
    else if (turns.isOver || isWide(subscribers.endpoints)) await turns.next();
    const matched = await this.#ask(projectId, subscribers, event, turns);
    if (matched.size === subscribers.all.length) return everybody(subscribers);
    if (turns.isOver) await turns.next();
    return divide(subscribers, matched);
  }

  /**
   * Keys of the endpoints whose filter says yes. Once the filters of an event have taken very much together,
   * each further one may take little: what people write is not touched by that, and what is counts as
   * exhausted, as one filter alone may be.
   */
  async #ask(
    projectId: number,
    subscribers: Subscribers,
    event: RoutedEvent,
    turns: Turns,
  ): Promise<ReadonlySet<number>> {
    const envelope = read(event);
    const matched = new Set<number>();
    const exhausted: number[] = [];
    let stepsLeft = EVENT_STEPS_MAX;
    for (const [at, { endpoint, filter }] of subscribers.candidates(envelope).entries()) {
      // The first is asked in the turn of the parse: what was parsed does not wait for nothing.
      if (at > 0 && turns.isOver) await turns.next();
      const { judgement, steps } =
        filter?.evaluate(envelope, stepsLeft > 0 ? STEPS_MAX : LATE_STEPS_MAX) ?? UNFILTERED;
      stepsLeft -= steps;
      if (judgement === "matched") matched.add(endpoint.id);
      if (judgement === "exhausted") exhausted.push(endpoint.id);
    }
    this.#reportExhausted(projectId, event.type, exhausted);
    return matched;
  }

  /** True where the endpoint's types, consumer and filter admit the event. */
  admits(endpoint: Endpoint, event: RoutedEvent): boolean {
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

function everybody({ endpoints }: Subscribers): Audience {
  return { endpoints, filtered: null, followers: null };
}

/**
 * Parts the subscribers into those that get the event and those whose filter said no. Of the latter only some
 * are named: a consumer's own endpoints first, as its portal links see no others.
 */
function divide({ all }: Subscribers, matched: ReadonlySet<number>): Audience {
  const endpoints: Endpoint[] = [];
  const own: number[] = [];
  const shared: number[] = [];
  const max = limit("filteredNamedMax");
  for (const { endpoint } of all) {
    if (matched.has(endpoint.id)) endpoints.push(endpoint);
    else if (endpoint.consumerId !== null) own.push(endpoint.id);
    else if (shared.length < max) shared.push(endpoint.id);
  }
  const named = [...own, ...shared].slice(0, max);
  const others = all.length - endpoints.length - named.length;
  return { endpoints, filtered: filteredText({ named, others }), followers: null };
}

/** The wide audiences of one batch: equal ones are one list. What they are together has bounds. */
class WideAudiences {
  readonly #lists: { endpoints: readonly Endpoint[]; followers: Followers }[] = [];
  #rows = 0;
  #deliveries = 0;

  /**
   * The audience with its followers, or with those of an equal one before it. `asOf`: `Endpoints.changes`
   * before it was chosen. Throws 422 where all would be too many.
   */
  async share(audience: Audience, asOf: number, at: number, turns: Turns): Promise<Audience> {
    const { endpoints } = audience;
    const isFirst = this.#lists.length === 0;
    this.#deliveries += endpoints.length;
    if (!isFirst && this.#deliveries > limit("batchDeliveriesMax"))
      throw tooWide(at, "batchDeliveriesMax", "deliveries together");
    const known = this.#lists.find((list) => isSame(list.endpoints, endpoints));
    if (known) return { ...audience, ...known };
    this.#rows += endpoints.length;
    if (!isFirst && this.#rows > limit("batchListRowsMax"))
      throw tooWide(at, "batchListRowsMax", "endpoints in their different audiences together");
    const list = { endpoints, followers: await inOrderByTurns(endpoints, asOf, turns) };
    this.#lists.push(list);
    return { ...audience, ...list };
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

function read({ type, timestamp, data }: RoutedEvent): Json {
  return JSON.parse(envelopeOf(type, timestamp, data)) as Json;
}
