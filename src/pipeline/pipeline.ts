import { noPlace, requirePlaces, requireWaitingRoom } from "./admission.ts";
import type { Confirmations } from "./confirmations.ts";
import { type Audience, type AudienceListeners, Audiences, everybody, type RoutedEvent } from "./audience.ts";
import { Spreader } from "./fanout.ts";
import { type Followers, inOrder, isWide } from "./followers.ts";
import { type Identity, KnownEvents } from "./known.ts";
import { isTheirs, writeDelivery } from "./new-delivery.ts";
import type { Held, Outlet } from "./outlet.ts";
import { limit } from "../core/limits.ts";
import { type Durability, type Endpoint, envelopeBytesOf, type Event } from "../core/model.ts";
import type { Waiting } from "../core/waiting.ts";
import { isPolled, keepsOrder } from "../destinations/destinations.ts";
import type { Data } from "../store/data.ts";
import type { EventWithData } from "../store/log/events.ts";
import type { Fanout, FanoutList } from "../store/log/fanouts.ts";

/**
 * The one door: whatever becomes an event, published or verified at ingest, comes in by `prepare`, and a test
 * event by `commitTest`. Deliveries are made in three places: here, in fanout.ts, and in replay.ts of events
 * that are there already.
 *
 * Events are prepared before the write (who gets them: audience.ts), written inside the caller's transaction,
 * and dispatched to the actors after the fsync. Deliveries for very many endpoints follow (fanout.ts).
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
  /** What it keeps of the trace that it belongs to (core/trace-context.ts). */
  trace: string | null;
}

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
  confirmations: Pick<Confirmations, "requireReached" | "answering" | "confirm">;
  unconfirmed: Held;
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
    const { moves } = this.parts.data.endpoints;
    const audiences = this.#audiences.of(projectId, incoming);
    if (audiences instanceof Promise)
      return audiences.then((found) => this.#prepareFor(projectId, incoming, found, identity, moves));
    return this.#prepareFor(projectId, incoming, audiences, identity, moves);
  }

  #prepareFor(
    projectId: number,
    incoming: readonly Incoming[],
    audiences: readonly Audience[],
    identity: Identity | null,
    moves: number,
  ): Prepared {
    const { parts } = this;
    const prepared = new Prepared(parts, this.#spreader, projectId, incoming, audiences, identity, moves);
    prepared.requireRoomInPlan();
    return prepared;
  }

  /**
   * A test event for one endpoint, whatever it subscribes to, on disk. Answers the key of its delivery, which
   * the caller sends; null where none is to be sent, as the endpoint has changed meanwhile.
   */
  commitTest(endpoint: Endpoint, incoming: Incoming): Promise<number | null> {
    const audiences = [everybody([endpoint])];
    return new Prepared(
      this.parts,
      this.#spreader,
      endpoint.projectId,
      [incoming],
      audiences,
      null,
    ).commitTest(endpoint.projectId);
  }

  /** True where the endpoint's types, consumer and filter admit the event. */
  matches(endpoint: Endpoint, event: RoutedEvent): boolean {
    return this.#audiences.matches(endpoint, event);
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

/** Opens a transaction, calls `write` in it, and resolves with what it made of that after the fsync. */
type InTransaction<Made> = (write: () => readonly Accepted[]) => Promise<Made>;

/** True where the event has to wait for the account's plan at this endpoint. */
type AwaitsPlan = (endpoint: Endpoint) => boolean;

/** What one run of the transaction has written; after a rollback another run begins with nothing. */
class WrittenEvents {
  readonly accepted: Accepted[] = [];
  /** Deliveries that may be sent. */
  readonly waiting: Waiting[] = [];
  readonly fanouts: Fanout[] = [];
  /** One for all events that go to the same endpoints. */
  readonly lists = new Map<Followers, FanoutList>();
  /** How many deliveries may still be written with their events. */
  room = limit("fanoutAtOnceMax");

  get newEvents(): number[] {
    return this.accepted.flatMap(({ event, duplicate }) => (duplicate ? [] : event.id));
  }
}

/** Events of one project with their audiences: written in the caller's transaction, then dispatched. */
export class Prepared {
  readonly #data: PipelineData;
  readonly #known: KnownEvents;
  /** Endpoints whose deliveries are parked, as they were when this was prepared. */
  readonly #toPark: ReadonlySet<number>;

  constructor(
    private readonly parts: PipelineParts,
    private readonly spreader: Spreader,
    private readonly projectId: number,
    private incoming: readonly Incoming[],
    private audiences: readonly Audience[],
    identity: Identity | null,
    /** `Endpoints.moves` before the audiences were chosen. */
    private readonly moves = parts.data.endpoints.moves,
  ) {
    this.#data = parts.data;
    this.#known = new KnownEvents(parts.data, projectId, identity);
    this.#toPark = parts.outlet.endpointsToPark(
      audiences.flatMap(({ endpoints }) => (isWide(endpoints) ? [] : endpoints)),
    );
  }

  /**
   * Throws where the write would refuse an event. Asked before the write too: a throw inside costs all that
   * share its transaction a second try.
   */
  requireRoomInPlan(): void {
    if (!this.#known.hasProof && this.#data.meter.remaining(this.projectId) !== 0) return;
    for (const event of this.incoming)
      if (this.#known.find(event) === null && this.#isPlanUsedUp(event)) this.#requireMayWait(event);
  }

  /**
   * The one way of events to the disk and on. `inTransaction` opens the transaction (`Store.writeFor`), calls
   * `write` in it, which is `#write`, then makes what is answered, and resolves after the fsync. Then
   * `#dispatch` brings the deliveries to their actors. Where deliveries are still to be written, and not too
   * many to wait for, it resolves when they are. With `replica` the dispatch, and what is answered, come once
   * the replica has the events: throws 503 where that is not to be, or takes too long.
   */
  async commitAndDispatch<Made>(
    inTransaction: InTransaction<Made>,
    durability: Durability = "disk",
  ): Promise<Made> {
    if (durability === "disk") return this.#commit(inTransaction, durability);
    const { confirmations } = this.parts;
    confirmations.requireReached();
    return confirmations.answering(() => this.#commit(inTransaction, durability));
  }

  async #commit<Made>(inTransaction: InTransaction<Made>, durability: Durability): Promise<Made> {
    const freed = this.#known.freeNames(this.incoming);
    if (freed !== null) await freed;
    const rows = rowsOf(this.audiences);
    const leaveRoom = this.#mayFollow(rows) ? await this.spreader.waitForRoom(this.projectId, rows) : null;
    if (durability === "replica") return this.#commitToReplica(inTransaction, leaveRoom);
    // Set in the transaction, which TypeScript does not see: after a success it is never null.
    let written = null as WrittenEvents | null;
    let rest: Promise<unknown> | null;
    let made: Made;
    try {
      made = await inTransaction(() => {
        written = this.#write();
        return written.accepted;
      });
      rest = written && this.#dispatch(written);
    } finally {
      leaveRoom?.();
    }
    if (rest !== null) await rest;
    return made;
  }

  /**
   * The same, with the replica between the fsync and the dispatch. Until it has the events, nothing of theirs
   * is sent, by whatever way: what waits in the database is held there too. That goes on where the answer was
   * 503 meanwhile.
   */
  async #commitToReplica<Made>(
    inTransaction: InTransaction<Made>,
    leaveRoom: (() => void) | null,
  ): Promise<Made> {
    const { unconfirmed, confirmations } = this.parts;
    let written = new WrittenEvents();
    const letGo = () => unconfirmed.letGo(written.newEvents, written.waiting);
    let made: Made;
    try {
      made = await inTransaction(() => {
        letGo();
        written = this.#write();
        unconfirmed.hold(written.newEvents, written.waiting);
        return written.accepted;
      });
    } catch (error) {
      letGo();
      leaveRoom?.();
      throw error;
    }
    let isDispatched = false;
    const confirming = confirmations.confirm(written.newEvents.length, async () => {
      isDispatched = true;
      return this.#dispatchConfirmed(written);
    });
    const { rest } = await confirming.finally(() => {
      leaveRoom?.();
      if (!isDispatched) this.#lighten(written);
    });
    if (rest !== null) await rest;
    return made;
  }

  /** Nobody knows for how long they are held: only what the dispatch needs is kept. Bodies are read again. */
  #lighten({ waiting }: WrittenEvents): void {
    this.incoming = [];
    this.audiences = [];
    for (const one of waiting) one.load = null;
  }

  /**
   * Whatever keeps the order is dispatched in this very turn, as the replica confirms in the order of the
   * commits; what pollers fetch once it has its new place.
   */
  async #dispatchConfirmed(written: WrittenEvents): Promise<{ rest: Promise<unknown> | null }> {
    const { endpoints } = this.#data;
    const [pushed, polled] = [[] as Waiting[], [] as Waiting[]];
    for (const one of written.waiting)
      (isPolled(endpoints.getAnyway(one.endpointId)?.kind ?? "") ? polled : pushed).push(one);
    this.parts.unconfirmed.letGo(written.newEvents, pushed);
    try {
      return { rest: this.#dispatch(written, pushed) };
    } finally {
      await this.#dispatchPolled(polled);
    }
  }

  /**
   * Pollers were handed what came meanwhile, and acknowledge it by its position: these stand behind that.
   * They are let go in the move itself: what stands behind them is not handed out before them.
   */
  async #dispatchPolled(polled: readonly Waiting[]): Promise<void> {
    if (polled.length === 0) return;
    const { store, deliveries } = this.#data;
    const move = () => {
      for (const { id } of polled) deliveries.moveToEnd(id);
      this.parts.unconfirmed.letGo([], polled);
    };
    try {
      await store.writeFor(this.projectId, move, true);
    } finally {
      this.parts.unconfirmed.letGo([], polled);
      this.parts.outlet.dispatcher.dispatch(polled);
    }
  }

  /** True where deliveries may follow their events: none of them is written until the project has room. */
  #mayFollow(rows: number): boolean {
    if (rows > limit("fanoutAtOnceMax")) return true;
    return this.audiences.some(({ endpoints }) => isWide(endpoints) || this.#followsFanout(endpoints));
  }

  /** The same of a test event: its delivery is not dispatched. */
  async commitTest(projectId: number): Promise<number | null> {
    const { accepted, waiting } = await this.#data.store.writeFor(projectId, () => this.#write());
    this.#tellAccepted(accepted);
    return waiting[0]?.id ?? null;
  }

  /** Inside a write; runs again after a rollback. Its `accepted` are in the order of the events. */
  #write(): WrittenEvents {
    const written = new WrittenEvents();
    for (const [at, event] of this.incoming.entries()) {
      const audience = this.audiences[at];
      if (audience === undefined) throw new Error("an event was prepared without its audience");
      written.accepted.push(this.#writeOne(event, audience, written));
    }
    return written;
  }

  /**
   * After the fsync. Where deliveries are still to be written, and not too many to wait for: resolves when
   * they are.
   */
  #dispatch({ accepted, waiting, fanouts }: WrittenEvents, pushed = waiting): Promise<unknown> | null {
    this.#tellAccepted(accepted);
    this.parts.outlet.dispatcher.dispatch(pushed);
    if (fanouts.length === 0) return null;
    const areAwaited = isAwaited(rowsOf(fanouts));
    return Promise.all(fanouts.map((fanout) => this.spreader.add(fanout, areAwaited)));
  }

  #tellAccepted(accepted: readonly Accepted[]): void {
    for (const one of accepted) this.parts.onAccepted(one);
  }

  #writeOne(incoming: Incoming, audience: Audience, written: WrittenEvents): Accepted {
    const known = this.#known.find(incoming);
    if (known !== null) {
      this.#known.rememberRepeat(incoming, known.id);
      return { event: known, duplicate: true };
    }
    const waitsForPlan = this.#isPlanUsedUp(incoming);
    if (waitsForPlan) this.#requireMayWait(incoming, written.accepted.length > 0);
    const endpoints = this.#asTheyAre(audience.endpoints, incoming);
    const id = this.#data.store.takeKey(1 + endpoints.length);
    const event: Event = {
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
    };
    const whole = { ...event, data: incoming.data, trace: incoming.trace };
    this.#data.events.insert(whole, audience.filtered);
    this.#known.remember(incoming, id);
    const followers = endpoints === audience.endpoints ? audience.followers : null;
    const split = this.#split(event, endpoints, followers, written.room);
    this.#deliver(whole, split, waitsForPlan, written);
    return { event, duplicate: false };
  }

  /**
   * As they are now, without those that were deleted, or given to another consumer, since the event
   * was prepared.
   */
  #asTheyAre(endpoints: readonly Endpoint[], event: Incoming): readonly Endpoint[] {
    const all = this.#data.endpoints;
    // The endpoints of a wide event are looked at when their turn comes (fanout.ts). But one that is another
    // consumer's by now may not be counted; later than this none is given away (http/endpoints/change.ts).
    const isUnmoved = () => endpoints.every((one) => isTheirs(all.current(one.id) ?? one, event));
    if (isWide(endpoints) && (this.moves === all.moves || isUnmoved())) return endpoints;
    if (endpoints.every((endpoint) => all.current(endpoint.id) === endpoint)) return endpoints;
    return endpoints
      .flatMap(({ id }) => all.current(id) ?? [])
      .filter((endpoint) => isTheirs(endpoint, event));
  }

  #isPlanUsedUp({ isTest }: Incoming): boolean {
    return !isTest && this.#data.meter.remaining(this.projectId) === 0;
  }

  /**
   * An inbound event waits for the plan, as its provider would not send it again: throws 429 where too many
   * wait already. A published one does not: throws 402. `isBehindOthers`: those before it in
   * the batch may have taken what remained.
   */
  #requireMayWait({ sourceId }: Incoming, isBehindOthers = false): void {
    const publisher = { projectId: this.projectId, consumerId: null };
    if (sourceId === null && isBehindOthers)
      throw noPlace(this.#data, publisher, "fewer remain than this batch takes");
    if (sourceId === null) requirePlaces(this.#data, publisher);
    else requireWaitingRoom(this.#data, this.projectId);
  }

  /** Deliveries come with their event where they fit; else they follow it. `room`: see WrittenEvents. */
  #split(event: Event, endpoints: readonly Endpoint[], followers: Followers | null, room: number): Split {
    if (event.isTest) return { atOnce: endpoints, later: NO_FOLLOWERS };
    const fitHere = endpoints.length <= Math.min(room, limit("eventRowsMax"));
    if (!fitHere) return { atOnce: NOBODY, later: followers ?? inOrder(endpoints, null) };
    if (!this.#followsFanout(endpoints)) return { atOnce: endpoints, later: NO_FOLLOWERS };
    const atOnce = endpoints.filter((endpoint) => !keepsOrder(endpoint));
    return { atOnce, later: inOrder(endpoints.filter(keepsOrder), null) };
  }

  #deliver(
    event: EventWithData,
    { atOnce, later }: Split,
    waitsForPlan: boolean,
    written: WrittenEvents,
  ): void {
    const following = later.endpoints;
    if (atOnce.length + following.length === 0) return;
    const waits = this.#whoWaits(event, waitsForPlan);
    if (waits !== null && (hasAwaiting(atOnce, waits) || hasAwaiting(following, waits)))
      this.#data.waitingEvents.insert(this.projectId, event.id);
    this.#deliverAtOnce(event, atOnce, waits, written);
    if (following.length === 0) return;
    const firstKey = event.id + 1 + atOnce.length;
    const list = this.#listOf(later, event.id, written);
    written.fanouts.push(this.#data.fanouts.insert(this.projectId, event.id, firstKey, list));
  }

  #listOf(followers: Followers, eventId: number, { lists }: WrittenEvents): FanoutList {
    const known = lists.get(followers);
    if (known) return known;
    const { ids, ordered, asOf } = followers;
    const list = { id: eventId, endpoints: ids, ordered, asOf };
    this.#data.fanouts.insertList(list);
    lists.set(followers, list);
    return list;
  }

  /**
   * The endpoints at which the event waits for the account's plan: all, or those that keep the order where
   * earlier events wait for it. Null: none.
   */
  #whoWaits({ isTest }: Event, waitsForPlan: boolean): AwaitsPlan | null {
    if (waitsForPlan) return () => true;
    const isQueued = !isTest && this.#data.meter.waitingEvents(this.projectId) > 0;
    return isQueued ? keepsOrder : null;
  }

  /** True where an endpoint keeps the order and a wide event is still being written: this one follows it. */
  #followsFanout(endpoints: readonly Endpoint[]): boolean {
    return endpoints.some(keepsOrder) && this.#data.fanouts.isPending(this.projectId);
  }

  #deliverAtOnce(
    event: EventWithData,
    endpoints: readonly Endpoint[],
    waits: AwaitsPlan | null,
    written: WrittenEvents,
  ): void {
    if (endpoints.length === 0) return;
    written.room -= endpoints.length;
    const { data, outlet } = this.parts;
    const body = envelopeBytesOf(event);
    let id = event.id;
    for (const endpoint of endpoints) {
      id++;
      const waitsForPlan = waits?.(endpoint) ?? false;
      const row = { id, isKeyOlder: false, waitsForPlan, toPark: this.#toPark, body };
      const waiting = writeDelivery(data, outlet.clock, event, endpoint, row);
      if (waiting) written.waiting.push(waiting);
    }
  }
}

function hasAwaiting(endpoints: readonly Endpoint[], waits: AwaitsPlan): boolean {
  return endpoints.some((endpoint) => endpoint.status !== "disabled" && waits(endpoint));
}

function rowsOf(all: readonly { endpoints: readonly unknown[] }[]): number {
  return all.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
}

/** True where whoever publishes so many deliveries waits until all of them are written. */
function isAwaited(rows: number): boolean {
  return rows <= limit("fanoutAtOnceMax");
}
