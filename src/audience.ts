import type { Evaluation } from "./core/filter.ts";
import type { Json } from "./core/json-value.ts";
import { type Endpoint, envelopeOf } from "./core/model.ts";
import { isSubscribed, Routes } from "./core/routes.ts";
import type { Subscribers } from "./core/subscribers.ts";
import type { Data } from "./store/data.ts";
import { heavyTurn, isHeavy } from "./turns.ts";

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
  /** Keys of endpoints that subscribe to the type and whose filter said no. */
  filtered: readonly number[];
}

/** Filters that an event was too much for: they count as having said no. */
export interface Exhaustion {
  projectId: number;
  type: string;
  /** The first of them. */
  endpointId: number;
  count: number;
}

/** Steps of some 10 ns after which the others have their turn. */
const TURN_STEPS = 250_000;
/** What asking an endpoint costs beside the steps of its filter: with ten thousand of them, each is fetched from memory. */
const ASK_STEPS = 30;

/** Counts the steps of long work, so that the event loop comes round in between. */
class Turn {
  #steps = 0;

  constructor(private readonly schedule: (next: () => void) => void) {}

  spend(steps: number): void {
    this.#steps += steps;
  }

  get isOver(): boolean {
    return this.#steps > TURN_STEPS;
  }

  /** Resolves in the next turn of the loop. */
  next(): Promise<void> {
    this.#steps = 0;
    return new Promise((resolve) => this.schedule(resolve));
  }
}

/** Chooses who gets an event, project by project: types and consumer by an index, then each filter. */
export class Audiences {
  readonly #routes = new Map<number, Routes>();

  constructor(
    private readonly data: Data,
    private readonly onExhausted: (exhaustion: Exhaustion) => void,
  ) {
    for (const endpoint of data.endpoints.all()) this.#routesOf(endpoint.projectId).set(endpoint);
    data.endpoints.onChange((endpoint) => this.#routesOf(endpoint.projectId).set(endpoint));
  }

  /**
   * Who gets each of these events, as the project's endpoints are now: at once for a single event that no filter is asked about;
   * otherwise others go first where filters take long.
   */
  of(projectId: number, events: readonly RoutedEvent[]): Audience[] | Promise<Audience[]> {
    const [first] = events;
    if (first === undefined || events.length > 1) return this.#ofAll(projectId, events);
    const { hasFilters, endpoints } = this.#routesOf(projectId).match(first.type, first.consumerId);
    return hasFilters ? this.#ofAll(projectId, events) : [{ endpoints, filtered: NOBODY }];
  }

  async #ofAll(projectId: number, events: readonly RoutedEvent[]): Promise<Audience[]> {
    const turn = new Turn((next) => this.data.store.schedule(next));
    const audiences: Audience[] = [];
    for (const event of events) audiences.push(await this.#ofOne(projectId, event, turn));
    return audiences;
  }

  async #ofOne(projectId: number, event: RoutedEvent, turn: Turn): Promise<Audience> {
    if (turn.isOver) await turn.next();
    if (isHeavy(event.data.length)) await heavyTurn();
    const subscribers = this.#routesOf(projectId).match(event.type, event.consumerId);
    turn.spend(subscribers.all.length);
    if (!subscribers.hasFilters) return { endpoints: subscribers.endpoints, filtered: NOBODY };
    const matched = await this.#ask(projectId, subscribers, event, turn);
    const endpoints: Endpoint[] = [];
    const filtered: number[] = [];
    for (const { endpoint } of subscribers.all) {
      if (matched.has(endpoint.id)) endpoints.push(endpoint);
      else filtered.push(endpoint.id);
    }
    return { endpoints, filtered };
  }

  /** Keys of the endpoints whose filter says yes. */
  async #ask(
    projectId: number,
    subscribers: Subscribers,
    event: RoutedEvent,
    turn: Turn,
  ): Promise<ReadonlySet<number>> {
    const envelope = read(event);
    turn.spend(event.data.length); // Reading JSON takes up to 10 ns a character.
    const matched = new Set<number>();
    const exhausted: number[] = [];
    for (const { endpoint, filter } of subscribers.candidates(envelope)) {
      if (turn.isOver) await turn.next();
      const { judgement, steps } = filter === null ? UNFILTERED : filter.evaluate(envelope);
      turn.spend(ASK_STEPS + steps);
      if (judgement === "matched") matched.add(endpoint.id);
      if (judgement === "exhausted") exhausted.push(endpoint.id);
    }
    this.#tellExhausted(projectId, event.type, exhausted);
    return matched;
  }

  /** True where the endpoint's types, consumer and filter admit the event. */
  admits(endpoint: Endpoint, event: RoutedEvent): boolean {
    if (!isSubscribed(endpoint, event)) return false;
    const filter = this.#routesOf(endpoint.projectId).subscriber(endpoint.id)?.filter ?? null;
    return filter === null || filter.matches(read(event));
  }

  #tellExhausted(projectId: number, type: string, [endpointId, ...others]: readonly number[]): void {
    if (endpointId !== undefined) this.onExhausted({ projectId, type, endpointId, count: 1 + others.length });
  }

  #routesOf(projectId: number): Routes {
    const routes = this.#routes.get(projectId) ?? new Routes();
    this.#routes.set(projectId, routes);
    return routes;
  }
}

const NOBODY: readonly number[] = [];
const UNFILTERED: Evaluation = { judgement: "matched", steps: 0 };

function read({ type, timestamp, data }: RoutedEvent): Json {
  return JSON.parse(envelopeOf(type, timestamp, data)) as Json;
}
