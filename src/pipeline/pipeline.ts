import { requirePlaces, requireWaitingRoom } from "./admission.ts";
import {
  type Audience,
  type AudienceListeners,
  Audiences,
  type Followers,
  inOrder,
  isWide,
  type RoutedEvent,
} from "./audience.ts";
import { keyTime } from "../core/ids.ts";
import { limit } from "../core/limits.ts";
import { type Endpoint, envelopeBytesOf, type Event } from "../core/model.ts";
import { Spreader } from "./fanout.ts";
import { isTheirs, writeDelivery } from "./new-delivery.ts";
import type { Waiting } from "../core/waiting.ts";
import { keepsOrder } from "../destinations/destinations.ts";
import type { Outlet } from "./outlet.ts";
import type { Data } from "../store/data.ts";
import type { EventWithData } from "../store/log/events.ts";
import type { Fanout, FanoutList } from "../store/log/fanouts.ts";

/**
 * The one door: whatever becomes an event, published or verified at ingest, comes in by `prepare`. Replay
 * stands beside it. Nothing else creates a delivery.
 *
 * Events are prepared before the write (who gets them: audience.ts), written inside the caller's transaction,
 * and dispatched to the actors after the commit. Deliveries for very many endpoints follow (fanout.ts).
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
  /** Deliveries that led to it (core/hops.ts). */
  hops: number;
}

/** How a provider's delivery is recognised when it comes again. */
export interface Identity {
  /** null: it is an event of its own. */
  deliveryId: string | null;
  keptSeconds: number;
  /**
   * What proved the request and makes one event only; null where it may make several. `cut`: which part of a
   * body the event is; the same proof then makes other events only of the body cut in the same way.
   */
  proof: { id: string; cut?: string; keptSeconds: number } | null;
}

/** Thrown where an event came with a proof that has made another one. */
export class ProofSpent extends Error {}

export interface Accepted {
  event: Event;
  /** True where the event was there before. */
  duplicate: boolean;
}

type PipelineData = Pick<
  Data,
  | "store"
  | "tenants"
  | "endpoints"
  | "events"
  | "fanouts"
  | "deliveries"
  | "notes"
  | "meter"
  | "waitingEvents"
  | "dedup"
>;

export interface PipelineParts extends AudienceListeners {
  data: PipelineData;
  outlet: Outlet;
  /** Hears of every event that came in, once it is on disk. */
  onAccepted: (accepted: Accepted) => void;
}

export class Pipeline {
  readonly #audiences: Audiences;
  readonly #spreader: Spreader;

  constructor(private readonly parts: PipelineParts) {
    const { data, outlet } = parts;
    this.#audiences = new Audiences(data, parts);
    this.#spreader = new Spreader(data, outlet);
  }

  /**
   * Prepares events of one project, at once where it is a single narrow one that no filter is asked about;
   * `identity` belongs to a single inbound one. Throws where the account's plan takes no more.
   */
  prepare(
    projectId: number,
    incoming: readonly Incoming[],
    identity: Identity | null = null,
  ): Prepared | Promise<Prepared> {
    const audiences = this.#audiences.of(projectId, incoming);
    if (audiences instanceof Promise)
      return audiences.then((found) => this.#prepareFor(projectId, incoming, found, identity));
    return this.#prepareFor(projectId, incoming, audiences, identity);
  }

  #prepareFor(
    projectId: number,
    incoming: readonly Incoming[],
    audiences: readonly Audience[],
    identity: Identity | null,
  ): Prepared {
    const prepared = new Prepared(this.parts, this.#spreader, projectId, incoming, audiences, identity);
    prepared.requireFreshProofs();
    prepared.requirePlaces();
    return prepared;
  }

  /** A test event for one endpoint, whatever it subscribes to. The caller makes the one attempt. */
  prepareTest(endpoint: Endpoint, incoming: Incoming): Prepared {
    const audience = { endpoints: [endpoint], filtered: null, followers: null };
    return new Prepared(this.parts, this.#spreader, endpoint.projectId, [incoming], [audience], null);
  }

  /** True where the endpoint's types, consumer and filter admit the event. */
  admits(endpoint: Endpoint, event: RoutedEvent): boolean {
    return this.#audiences.admits(endpoint, event);
  }

  /** Takes up the fan-outs that a crash cut short. */
  recover(): void {
    this.#spreader.recover();
  }
}

/** An event's endpoints: those whose deliveries come with it, and those whose follow. */
interface Split {
  atOnce: readonly Endpoint[];
  later: Followers;
}

const NOBODY: readonly Endpoint[] = [];
const NO_FOLLOWERS = inOrder(NOBODY, null);

/** True where the event has to wait for the account's plan at this endpoint. */
type AwaitsPlan = (endpoint: Endpoint) => boolean;

/** Events of one project with their audiences: written in the caller's transaction, then dispatched. */
export class Prepared {
  /** What was written and may be sent. */
  #written: Waiting[] = [];
  #fanouts: Fanout[] = [];
  /** The lists that were written: one for all events that go to the same endpoints. */
  readonly #lists = new Map<Followers, FanoutList>();
  /** How many deliveries may still be written with their events. */
  #room = 0;
  #accepted: Accepted[] = [];
  readonly #data: PipelineData;
  /** Endpoints whose deliveries are parked, as they were when this was prepared. */
  readonly #full: ReadonlySet<number>;

  constructor(
    private readonly parts: PipelineParts,
    private readonly spreader: Spreader,
    private readonly projectId: number,
    private readonly incoming: readonly Incoming[],
    private readonly audiences: readonly Audience[],
    private readonly identity: Identity | null,
  ) {
    this.#data = parts.data;
    this.#full = parts.outlet.full(
      audiences.flatMap(({ endpoints }) => (isWide(endpoints) ? [] : endpoints)),
    );
  }

  /** Asked before the write too: a throw inside costs all that share its transaction a second try. */
  requirePlaces(): void {
    if (this.#data.meter.remaining(this.projectId) !== 0) return;
    for (const event of this.incoming) if (!this.#findKnown(event)) this.#mustWait(event);
  }

  /** Asked before the write too, for the same reason. */
  requireFreshProofs(): void {
    if (!this.identity?.proof) return;
    for (const event of this.incoming) this.#requireFreshProof(event, this.#findKnown(event));
  }

  /**
   * The one way of events to the disk and on: `inTransaction` (`Store.write`, at a publish with the kept
   * answer) writes them with what `answerFor` makes of them; after it they go to their actors. Where
   * deliveries are still to be written, and not too many to wait for, it resolves when they are.
   */
  async commit<Made>(
    answerFor: (accepted: readonly Accepted[]) => Made,
    inTransaction: (run: () => Made) => Promise<Made>,
  ): Promise<Made> {
    const rows = rowsOf(this.audiences);
    // A wide event waits until the project has room for its deliveries.
    const mayFollow = rows > limit("fanoutAtOnceMax");
    const takenUp = mayFollow ? await this.spreader.admit(this.projectId, rows) : null;
    let rest: Promise<unknown> | null;
    let made: Made;
    try {
      made = await inTransaction(() => answerFor(this.write()));
      rest = this.dispatch();
    } finally {
      takenUp?.();
    }
    if (rest !== null) await rest;
    return made;
  }

  /** Inside a write; may run again after a rollback. Answers in the order of the events. */
  write(): Accepted[] {
    this.#written = [];
    this.#fanouts = [];
    this.#lists.clear();
    this.#room = limit("fanoutAtOnceMax");
    this.#accepted = [];
    for (const [at, event] of this.incoming.entries()) {
      const audience = this.audiences[at];
      if (audience === undefined) throw new Error("an event was prepared without its audience");
      this.#accepted.push(this.#writeOne(event, audience));
    }
    return this.#accepted;
  }

  /**
   * After the commit. Where deliveries are still to be written, and not too many to wait for: resolves when
   * they are.
   */
  dispatch(): Promise<unknown> | null {
    for (const accepted of this.#accepted) this.parts.onAccepted(accepted);
    this.parts.outlet.dispatcher.dispatch(this.#written);
    if (this.#fanouts.length === 0) return null;
    const isAwaited = rowsOf(this.#fanouts) <= limit("fanoutAtOnceMax");
    return Promise.all(this.#fanouts.map((fanout) => this.spreader.add(fanout, isAwaited)));
  }

  /** Of a test event, after the commit and in place of `dispatch`: its delivery, which whoever asks sends. */
  takeTest(): number | null {
    for (const accepted of this.#accepted) this.parts.onAccepted(accepted);
    return this.#written[0]?.id ?? null;
  }

  #writeOne(incoming: Incoming, audience: Audience): Accepted {
    const known = this.#findKnown(incoming);
    this.#requireFreshProof(incoming, known);
    if (known) {
      // What comes again may come with a proof of its own: that one makes no other event either.
      if (this.identity && incoming.sourceId !== null)
        this.#rememberProof(this.identity, incoming.sourceId, known.id);
      return { event: known, duplicate: true };
    }
    const mustWait = this.#mustWait(incoming);
    const endpoints = this.#asTheyAre(audience.endpoints, incoming);
    const id = this.#data.store.takeKey(1 + endpoints.length);
    const event: EventWithData = {
      id,
      projectId: this.projectId,
      type: incoming.type,
      timestamp: incoming.timestamp,
      consumerId: incoming.consumerId,
      externalId: incoming.externalId,
      sourceId: incoming.sourceId,
      isTest: incoming.isTest,
      hops: incoming.hops,
      deliveryCount: endpoints.length,
      data: incoming.data,
    };
    const split = this.#split(event, endpoints, audience.followers);
    this.#data.events.insert(event, audience.filtered);
    if (this.identity && incoming.sourceId !== null) this.#remember(this.identity, incoming.sourceId, id);
    this.#deliver(event, split, mustWait);
    return { event, duplicate: false };
  }

  /**
   * As they are now, without those that were deleted, or given to another consumer, since the event
   * was prepared.
   */
  #asTheyAre(endpoints: readonly Endpoint[], event: Incoming): readonly Endpoint[] {
    // The endpoints of a wide event are looked at when their turn comes (fanout.ts).
    if (isWide(endpoints)) return endpoints;
    const all = this.#data.endpoints;
    if (endpoints.every((endpoint) => all.current(endpoint.id) === endpoint)) return endpoints;
    return endpoints
      .flatMap(({ id }) => all.current(id) ?? [])
      .filter((endpoint) => isTheirs(endpoint, event));
  }

  #remember(identity: Identity, sourceId: number, eventId: number): void {
    const { deliveryId, keptSeconds } = identity;
    if (deliveryId !== null) this.#data.dedup.save(sourceId, deliveryId, eventId, keptSeconds);
    this.#rememberProof(identity, sourceId, eventId);
  }

  #rememberProof({ proof }: Identity, sourceId: number, eventId: number): void {
    if (proof === null) return;
    const { id, cut, keptSeconds } = proof;
    this.#data.dedup.save(sourceId, keyOfProof(id), eventId, keptSeconds);
    if (cut !== undefined) this.#data.dedup.save(sourceId, keyOfProof(id, cut), eventId, keptSeconds);
  }

  /**
   * Throws ProofSpent where the proof has made an event already, unless this is that event again, or the body
   * is cut as it was then. The same event in another cut is refused too: it would let that cut's others in.
   */
  #requireFreshProof({ sourceId }: Incoming, known: Event | null): void {
    if (!this.identity?.proof || sourceId === null) return;
    const { dedup } = this.#data;
    const { id, cut } = this.identity.proof;
    const made = dedup.find(sourceId, keyOfProof(id));
    if (made === null) return;
    const isSame =
      cut === undefined ? made === known?.id : dedup.find(sourceId, keyOfProof(id, cut)) !== null;
    if (!isSame) throw new ProofSpent();
  }

  #findKnown({ externalId, sourceId }: Incoming): Event | null {
    const { dedup, events } = this.#data;
    const deliveryId = this.identity?.deliveryId ?? null;
    const id =
      deliveryId !== null && sourceId !== null
        ? dedup.find(sourceId, deliveryId)
        : externalId === null
          ? null
          : events.findExternal(this.projectId, externalId);
    if (id === null) return null;
    return events.get(id) ?? forgotten(id, this.projectId, sourceId);
  }

  /**
   * Where the plan takes no more: true for an event of a provider, which would not send it again;
   * else throws.
   */
  #mustWait({ isTest, sourceId }: Incoming): boolean {
    if (isTest || this.#data.meter.remaining(this.projectId) !== 0) return false;
    if (sourceId === null) requirePlaces(this.#data, this.projectId);
    else requireWaitingRoom(this.#data, this.projectId);
    return true;
  }

  /** A narrow event's deliveries come with it; those of a wide one follow. */
  #split({ isTest }: Event, endpoints: readonly Endpoint[], followers: Followers | null): Split {
    const isNarrow = endpoints.length <= Math.min(this.#room, limit("eventRowsMax"));
    if (isTest || (isNarrow && !this.#followsFanout(endpoints)))
      return { atOnce: endpoints, later: NO_FOLLOWERS };
    if (!isNarrow) return { atOnce: NOBODY, later: followers ?? inOrder(endpoints, null) };
    const atOnce = endpoints.filter((endpoint) => !keepsOrder(endpoint));
    return { atOnce, later: inOrder(endpoints.filter(keepsOrder), null) };
  }

  #listOf(followers: Followers, eventId: number): FanoutList {
    const known = this.#lists.get(followers);
    if (known) return known;
    const { ids, ordered, asOf } = followers;
    const list = { id: eventId, endpoints: ids, ordered, asOf };
    this.#data.fanouts.insertList(list);
    this.#lists.set(followers, list);
    return list;
  }

  #deliver(event: EventWithData, split: Split, mustWait: boolean): void {
    const { atOnce, later } = split;
    const following = later.endpoints;
    if (atOnce.length + following.length === 0) return;
    const waits = this.#whoWaits(event, mustWait);
    if (waits !== null && (hasAwaiting(atOnce, waits) || hasAwaiting(following, waits)))
      this.#data.waitingEvents.insert(this.projectId, event.id);
    this.#deliverNow(event, atOnce, waits);
    if (following.length === 0) return;
    const firstKey = event.id + 1 + atOnce.length;
    const list = this.#listOf(later, event.id);
    this.#fanouts.push(this.#data.fanouts.insert(this.projectId, event.id, firstKey, list));
  }

  /**
   * The endpoints at which the event waits for the account's plan: all, or those that keep the order where
   * earlier events wait for it. Null: none.
   */
  #whoWaits({ isTest }: Event, mustWait: boolean): AwaitsPlan | null {
    if (mustWait) return () => true;
    const isQueued = !isTest && this.#data.meter.waitingEvents(this.projectId) > 0;
    return isQueued ? keepsOrder : null;
  }

  /** True where an endpoint keeps the order and a wide event is still being written: this one follows it. */
  #followsFanout(endpoints: readonly Endpoint[]): boolean {
    return endpoints.some(keepsOrder) && this.#data.fanouts.isPending(this.projectId);
  }

  #deliverNow(event: EventWithData, endpoints: readonly Endpoint[], waits: AwaitsPlan | null): void {
    if (endpoints.length === 0) return;
    this.#room -= endpoints.length;
    const body = envelopeBytesOf(event);
    let id = event.id;
    for (const endpoint of endpoints) {
      id++;
      const waitsForPlan = waits?.(endpoint) ?? false;
      const row = { id, isKeyOlder: false, waitsForPlan, full: this.#full, body };
      const waiting = writeDelivery(this.parts, event, endpoint, row);
      if (waiting) this.#written.push(waiting);
    }
  }
}

function hasAwaiting(endpoints: readonly Endpoint[], waits: AwaitsPlan): boolean {
  return endpoints.some((endpoint) => endpoint.status !== "disabled" && waits(endpoint));
}

function rowsOf(all: readonly { endpoints: readonly unknown[] }[]): number {
  return all.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
}

/** Beside the ids of deliveries, none of which begins so. */
function keyOfProof(id: string, cut?: string): string {
  return cut === undefined ? `proof\n${id}` : `proof\n${id}\n${cut}`;
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
    hops: 0,
    deliveryCount: 0,
  };
}
