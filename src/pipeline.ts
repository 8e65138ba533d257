import { compileFilter, type Filter } from "./core/filter.ts";
import type { Json } from "./core/json-value.ts";
import { keyTime } from "./core/ids.ts";
import { limit } from "./core/limits.ts";
import { type Delivery, type Endpoint, type Event, envelopeOf, type Origin } from "./core/model.ts";
import { Routes } from "./core/routes.ts";
import type { Load, Waiting } from "./outbound/actor.ts";
import type { Actors } from "./outbound/actors.ts";
import type { Data } from "./store/data.ts";
import type { Fanout } from "./store/fanouts.ts";

/**
 * The one door: whatever becomes an event, published or verified at ingest, comes in by `plan`. Replay stands beside it. Nothing else creates
 * a delivery.
 *
 * A plan is made before the write (who gets it), writes itself inside the caller's transaction, and is dispatched to the
 * actors after the commit.
 */

/** An event on its way in; `data` is minified JSON text of an object. */
export interface Incoming {
  type: string;
  timestamp: number;
  data: string;
  consumerId: string | null;
  externalId: string | null;
  sourceId: number | null;
  isTest: boolean;
}

/** How a provider's delivery is recognised when it comes again. */
export interface Identity {
  deliveryId: string;
  keptSeconds: number;
}

export interface Accepted {
  event: Event;
  /** True where the event was there before. */
  duplicate: boolean;
}

interface Audience {
  endpoints: readonly Endpoint[];
  /** Keys of endpoints that subscribe to the type and whose filter said no. */
  filtered: readonly number[];
}

interface Dispatch {
  endpoint: Endpoint;
  waiting: Waiting;
  load: Load | null;
}

/** Attempts that one turn of the loop starts: each is rendered and signed, some 30 µs. */
const DISPATCHED_AT_ONCE = 100;

const encoder = new TextEncoder();
const filters = new WeakMap<Endpoint, Filter>();

export interface PipelineParts {
  data: Data;
  actors: Actors;
  /** Hears of every event that came in, once it is on disk. */
  onAccepted: (accepted: Accepted) => void;
}

export class Pipeline {
  readonly #routes = new Map<number, Routes>();

  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    const { data } = parts;
    for (const endpoint of data.endpoints.all()) this.#routesOf(endpoint.projectId).set(endpoint);
    data.endpoints.onChange((endpoint) => this.#routesOf(endpoint.projectId).set(endpoint));
  }

  /** Plans events of one project; `identity` belongs to a single inbound one. */
  plan(projectId: number, incoming: readonly Incoming[], identity: Identity | null = null): Plan {
    const audiences = incoming.map((event) => this.#audienceOf(projectId, event));
    return new Plan(this.#parts, projectId, incoming, audiences, identity);
  }

  /** A test event for one endpoint, whatever it subscribes to. The caller makes the one attempt. */
  planTest(endpoint: Endpoint, incoming: Incoming): Plan {
    return new Plan(
      this.#parts,
      endpoint.projectId,
      [incoming],
      [{ endpoints: [endpoint], filtered: [] }],
      null,
    );
  }

  /** True where the endpoint's types, consumer and filter admit the event. */
  admits(
    endpoint: Endpoint,
    event: { type: string; timestamp: number; consumerId: string | null; data: string },
  ): boolean {
    const routes = new Routes();
    routes.set({ ...endpoint, status: "active" });
    if (routes.match(event.type, event.consumerId).length === 0) return false;
    const filter = filterOf(endpoint);
    return (
      filter === null ||
      filter.matches(JSON.parse(envelopeOf(event.type, event.timestamp, event.data)) as Json)
    );
  }

  /** Takes up the fan-outs that a crash cut short. */
  recover(): void {
    const { data, actors } = this.#parts;
    for (const fanout of data.fanouts.unfinished()) void spread(data, actors, fanout);
  }

  #audienceOf(projectId: number, event: Incoming): Audience {
    const subscribed = this.#routesOf(projectId).match(event.type, event.consumerId);
    if (!subscribed.some((endpoint) => endpoint.filter !== null))
      return { endpoints: subscribed, filtered: [] };
    const envelope = JSON.parse(envelopeOf(event.type, event.timestamp, event.data)) as Json;
    const endpoints: Endpoint[] = [];
    const filtered: number[] = [];
    for (const endpoint of subscribed) {
      if (filterOf(endpoint)?.matches(envelope) ?? true) endpoints.push(endpoint);
      else filtered.push(endpoint.id);
    }
    return { endpoints, filtered };
  }

  #routesOf(projectId: number): Routes {
    const routes = this.#routes.get(projectId) ?? new Routes();
    this.#routes.set(projectId, routes);
    return routes;
  }
}

function filterOf(endpoint: Endpoint): Filter | null {
  if (endpoint.filter === null) return null;
  const known = filters.get(endpoint);
  if (known) return known;
  const compiled = compileFilter(endpoint.filter);
  if (!compiled.ok) throw new Error("an endpoint has a filter that was refused");
  filters.set(endpoint, compiled.filter);
  return compiled.filter;
}

/** Events of one project with their audiences: written in the caller's transaction, then dispatched. */
export class Plan {
  #dispatches: Dispatch[] = [];
  #fanouts: Fanout[] = [];

  #accepted: Accepted[] = [];
  readonly #data: Data;
  readonly #actors: Actors;

  constructor(
    private readonly parts: PipelineParts,
    private readonly projectId: number,
    private readonly incoming: readonly Incoming[],
    private readonly audiences: readonly Audience[],
    private readonly identity: Identity | null,
  ) {
    this.#data = parts.data;
    this.#actors = parts.actors;
  }

  /** Inside a write; may run again after a rollback. Answers in the order of the events. */
  write(): Accepted[] {
    this.#dispatches = [];
    this.#fanouts = [];
    this.#accepted = this.incoming.map((event, at) =>
      this.#writeOne(event, this.audiences[at] ?? { endpoints: [], filtered: [] }),
    );
    return this.#accepted;
  }

  /** After the commit: the deliveries go to their actors, a slice a turn of the loop, so that nobody waits for a wide fan-out. */
  dispatch(): void {
    for (const accepted of this.#accepted) this.parts.onAccepted(accepted);
    for (const fanout of this.#fanouts) void spread(this.#data, this.#actors, fanout);
    this.#dispatchFrom(0);
  }

  #dispatchFrom(from: number): void {
    const until = Math.min(from + DISPATCHED_AT_ONCE, this.#dispatches.length);
    for (const { endpoint, waiting, load } of this.#dispatches.slice(from, until)) {
      // Whoever waited a turn may have been cancelled meanwhile: such a delivery is read anew when it is sent.
      this.#actors.enqueue(endpoint.id, waiting, from === 0 ? load : null);
    }
    if (until < this.#dispatches.length) this.#data.store.schedule(() => this.#dispatchFrom(until));
  }

  /** The delivery of a test event; after the commit, in place of `dispatch`. */
  get testDelivery(): number | null {
    return this.#dispatches[0]?.waiting.id ?? null;
  }

  #writeOne(incoming: Incoming, audience: Audience): Accepted {
    const known = this.#findKnown(incoming);
    if (known) return { event: known, duplicate: true };
    const { endpoints, filtered } = audience;
    const id = this.#data.store.takeKey(1 + endpoints.length);
    const event: Event = {
      ...incoming,
      id,
      projectId: this.projectId,
      deliveryCount: endpoints.length,
      filtered,
    };
    this.#data.events.insert({ ...event, data: incoming.data });
    if (this.identity && incoming.sourceId !== null) {
      this.#data.dedup.save(incoming.sourceId, this.identity.deliveryId, id, this.identity.keptSeconds);
    }
    if (endpoints.length > limit("fanoutAtOnceMax")) this.#intend(event, endpoints);
    else this.#deliver(event, incoming, endpoints);
    return { event, duplicate: false };
  }

  #findKnown({ externalId, sourceId }: Incoming): Event | null {
    const { dedup, events } = this.#data;
    const id =
      this.identity && sourceId !== null
        ? dedup.find(sourceId, this.identity.deliveryId)
        : externalId === null
          ? null
          : events.findExternal(this.projectId, externalId);
    if (id === null) return null;
    return events.get(id) ?? forgotten(id, this.projectId, sourceId);
  }

  /** A wide fan-out: the event with the list of its endpoints; the deliveries follow in slices. */
  #intend(event: Event, endpoints: readonly Endpoint[]): void {
    const keys = endpoints.map((endpoint) => endpoint.id);
    this.#data.fanouts.insert(event.id, event.id + 1, keys);
    this.#fanouts.push({ eventId: event.id, firstKey: event.id + 1, written: 0, endpoints: keys });
  }

  #deliver(event: Event, incoming: Incoming, endpoints: readonly Endpoint[]): void {
    if (endpoints.length === 0) return;
    const body = encoder.encode(envelopeOf(event.type, event.timestamp, incoming.data));
    const origin: Origin = event.isTest ? "test" : "publish";
    endpoints.forEach((endpoint, at) => {
      const written = writeDelivery(
        this.#data,
        this.#actors,
        event,
        endpoint,
        event.id + 1 + at,
        origin,
        "with its event",
      );
      if (written)
        this.#dispatches.push({
          endpoint,
          waiting: written.waiting,
          load: { ...written, type: event.type, body },
        });
    });
  }
}

/** An event that was seen before and has left the log since: only its id is known. */
function forgotten(id: number, projectId: number, sourceId: number | null): Event {
  const at = keyTime(id);
  return {
    id,
    projectId,
    type: "",
    timestamp: at,
    consumerId: null,
    externalId: null,
    sourceId,
    isTest: false,
    deliveryCount: 0,
    filtered: [],
  };
}

/** Writes one delivery; null where it is dead at birth because its endpoint is disabled. */
function writeDelivery(
  data: Data,
  actors: Actors,
  event: Event,
  endpoint: Endpoint,
  id: number,
  origin: Origin,
  written: "with its event" | "later",
): { waiting: Waiting; delivery: Delivery } | null {
  const dead = endpoint.status === "disabled";
  const due = dead ? null : origin === "publish" ? keyTime(event.id) : data.store.now();
  const queueOrder = due === null ? null : actors.placeFor(endpoint, id, due);
  const { projectId } = event;
  data.deliveries.insert(
    { id, eventId: event.id, endpointId: endpoint.id, projectId, origin, due, queueOrder },
    written,
  );
  if (due === null) {
    data.notes.add(event.id, id, "dead_lettered", "endpoint_disabled");
    return null;
  }
  const delivery: Delivery = {
    id,
    eventId: event.id,
    endpointId: endpoint.id,
    projectId,
    status: "pending",
    attemptCount: 0,
    step: 0,
    origin,
    metered: false,
    generation: 0,
    due,
    deadReason: null,
    completedAt: null,
  };
  return { waiting: { id, due, queueOrder }, delivery };
}

/** Writes the deliveries of a wide fan-out, one slice a transaction, and hands each slice to the actors. */
async function spread(data: Data, actors: Actors, fanout: Fanout): Promise<void> {
  const event = data.events.get(fanout.eventId);
  if (!event) return;
  for (let from = fanout.written; from < fanout.endpoints.length; from += limit("sliceRows")) {
    const slice = fanout.endpoints.slice(from, from + limit("sliceRows"));
    const waiting = await data.store.write(() => {
      data.fanouts.advance(fanout, from + slice.length);
      return slice.flatMap((endpointId, at) =>
        writeSliceOne(data, actors, event, endpointId, fanout.firstKey + from + at),
      );
    }, true);
    for (const { endpointId, ...one } of waiting) actors.enqueue(endpointId, one, null);
  }
}

function writeSliceOne(
  data: Data,
  actors: Actors,
  event: Event,
  endpointId: number,
  id: number,
): (Waiting & { endpointId: number })[] {
  const endpoint = data.endpoints.getAnyway(endpointId);
  const written = endpoint && writeDelivery(data, actors, event, endpoint, id, "publish", "later");
  return written ? [{ ...written.waiting, endpointId }] : [];
}

/** What a replay did to one endpoint. */
export interface Replayed {
  delivery: Delivery;
  waiting: Waiting;
}

/**
 * Replays an event to one endpoint, inside a write: the delivery `known` is opened afresh, or, where it is null, a new one is
 * made with a `webhook-id` of its own. `enqueueReplayed` after the commit.
 */
export function replayOne(
  data: Data,
  actors: Actors,
  event: Event,
  endpoint: Endpoint,
  known: Delivery | null,
): Replayed {
  const due = data.store.now();
  const id = known?.id ?? data.store.takeKey();
  const queueOrder = actors.placeFor(endpoint, id, due);
  if (known) data.deliveries.reopen(id, due, queueOrder);
  else addDelivery(data, event, endpoint, id, due, queueOrder);
  data.notes.add(event.id, id, "replayed");
  const delivery = data.deliveries.get(id);
  if (!delivery) throw new Error("a delivery is gone that was just written");
  return { delivery, waiting: { id, due, queueOrder } };
}

function addDelivery(
  data: Data,
  event: Event,
  endpoint: Endpoint,
  id: number,
  due: number,
  queueOrder: number | null,
): void {
  const { projectId } = event;
  data.deliveries.insert(
    { id, eventId: event.id, endpointId: endpoint.id, projectId, origin: "replay", due, queueOrder },
    "later",
  );
  data.events.countDelivery(event.id);
}

export function enqueueReplayed(actors: Actors, { delivery, waiting }: Replayed): void {
  actors.enqueue(delivery.endpointId, waiting, null);
}
