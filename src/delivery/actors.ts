import { gateOf, hasFailedTooLong, isTest } from "../core/delivery.ts";
import type { Load, Waiting } from "../core/waiting.ts";
import { limit } from "../core/limits.ts";
import { type Pieces, piecewise } from "../core/structures/turn-queue.ts";
import type { Delivery, Endpoint, Health, WaitingFor } from "../core/model.ts";
import { textOf } from "../destinations/requests.ts";
import { isPolled, isStrayTest, keepsOrder, STRAY_TEST } from "../destinations/destinations.ts";
import type { Data } from "../store/data.ts";
import { dispose } from "../store/log/disposal.ts";
import { turnsOf } from "../store/project-turns.ts";
import { EndpointActor } from "./actor.ts";
import type { ActorParts, AttemptRefusal, InMemory, Starts } from "./actor-parts.ts";
import { Dispatcher } from "./dispatcher.ts";
import { loadDelivery } from "./load.ts";
import { PollActor } from "./polling/poll-actor.ts";
import type { QueueTotals } from "./queue.ts";
import type { Recorder } from "./recorder.ts";
import { sentMalformed, type Sent } from "./send.ts";
import { Slots } from "./slots.ts";
import type { KeptClock } from "./steady.ts";
import { type Wake, wakingByTurns, wakingTimer, type WakingTimer } from "./waking.ts";
import { Touched } from "./touched.ts";
import { Unconfirmed } from "./unconfirmed.ts";
import type { NameAnswer } from "../transport/guard.ts";
import type { TransportResult } from "../transport/types.ts";

export interface ActorsParts {
  clock: KeptClock;
  random(): number;
  /** `send` of send.ts, with what src/app.ts gives it. Never rejects. */
  send(endpoint: Endpoint, load: Load): Promise<Sent | null>;
  /** Attempts in flight over all endpoints, bounded by what the process may open. */
  attemptsMax: number;
  recorder: Pick<Recorder, "record">;
}

export interface ActorCounts {
  actors: number;
  queued: number;
  inFlight: number;
  pollers: number;
  /** How long the oldest is due that its endpoint would take. */
  oldestDueSeconds: number;
  /** Endpoints that are left alone for a while. */
  backingOff: number;
  /** Endpoints that hold something, while all endpoints together have too many attempts in flight. */
  withoutSlot: number;
}

const GONE_LOOK_MS = 1000;
const NONE: ReadonlySet<number> = new Set();

type Actor = EndpointActor<Sent> | PollActor;

/** All actors, by endpoint; made when the first delivery comes. */
export class Actors {
  readonly #actors = new Map<number, Actor>();
  #stopped = false;
  readonly #slots: Slots;
  readonly #touched: Touched;
  readonly #totals: QueueTotals = { deliveries: 0, bytes: 0 };
  /** Endpoints that are deleted and whose actors have something left to end. */
  readonly #leaving = new Set<number>();
  #lookedAt = 0;
  /** Brings what is on disk to the actors. */
  readonly dispatcher: Dispatcher;
  readonly unconfirmed = new Unconfirmed();
  /** The same for every actor, as there may be ten thousand. */
  readonly #pushedParts: ActorParts<Sent>;
  readonly #wake: Wake;
  readonly #timer: WakingTimer;

  constructor(
    private readonly data: Pick<
      Data,
      | "store"
      | "tenants"
      | "endpoints"
      | "eventTypes"
      | "health"
      | "events"
      | "deliveries"
      | "notes"
      | "meter"
    >,
    private readonly parts: ActorsParts,
  ) {
    const turns = {
      schedule: (next: () => void) => data.store.schedule(next),
      beginShare: () => data.store.beginShare(),
    };
    this.#touched = new Touched(() => parts.clock.now());
    this.#slots = new Slots({
      ...turns,
      max: parts.attemptsMax,
      bytesMax: limit("attemptsInFlightBytesMax"),
      wake: (endpointId) => this.#actors.get(endpointId)?.wake(),
    });
    this.#wake = wakingByTurns(turns);
    this.#timer = wakingTimer(parts.clock, this.#wake);
    this.#pushedParts = this.#partsOfPushed();
    data.endpoints.onChange((endpoint) => {
      if (keepsOrder(endpoint)) this.dispatcher.bringAllOf(endpoint);
      this.#update(endpoint);
      if (endpoint.status === "deleted") this.#leaving.add(endpoint.id);
      if (endpoint.status === "deleted") this.#endUnconfirmed(endpoint);
    });
    this.dispatcher = new Dispatcher({
      ...turns,
      read: (id) => data.deliveries.get(id),
      endpoint: (id) => data.endpoints.getAnyway(id),
      accountOf: (projectId) => data.tenants.accountIdOf(projectId),
      enqueue: (waiting, starts) => this.enqueue(waiting, starts),
    });
    data.store.onWritable(() => void this.#wakeAll());
    data.tenants.onAccountChange(({ id }) => void this.#wakeAll(id));
  }

  #partsOfPushed(): ActorParts<Sent> {
    return {
      clock: this.parts.clock,
      timer: (endpoint, at, wake) => this.timer(endpoint, at, wake),
      random: () => this.parts.random(),
      totals: this.#totals,
      rows: {
        load: (id) => loadDelivery(this.data, id),
        parked: ({ id, ordering }, count) => this.parked(id, ordering, count),
        firstParked: ({ id, ordering }) => this.data.deliveries.firstParkedOf(id, ordering),
        dispose: (of, take) => dispose(this.data, of, take),
      },
      slots: {
        take: (endpoint, load) => this.#slots.take(this.#accountOf(endpoint), bytesOf(endpoint, load)),
        giveBack: (endpoint, load, sent) =>
          this.#slots.giveBack(this.#accountOf(endpoint), bytesOf(endpoint, load), sent?.socketGone),
        isFree: (endpoint, own) => this.#slots.isFree(this.#accountOf(endpoint), own),
        ask: (endpoint, own) => this.#slots.ask(endpoint.id, this.#accountOf(endpoint), own),
      },
      meter: this.data.meter,
      send: (endpoint, load) => this.#send(endpoint, load),
      record: (settlement) => this.parts.recorder.record(settlement),
      isTurnOver: () => this.data.store.turns.isOver,
      canRecord: () => this.data.store.writable,
      isSuspended: (projectId) => this.data.tenants.isSuspended(projectId),
      hasFailedTooLong: (endpoint, health) => this.hasFailedTooLong(endpoint, health),
      unattended: (work, running) => this.data.store.unattended(work, running),
    };
  }

  /** What was asked for, and whatever has waited since, is held to the settings of now. */
  #send(endpoint: Endpoint, load: Load): Promise<Sent | null> {
    const { eventTypes, store } = this.data;
    const isHeld = isTest(load.delivery) && !load.isTypeChosen;
    if (!isHeld || !isStrayTest(eventTypes, endpoint, load.type)) return this.parts.send(endpoint, load);
    return Promise.resolve(sentMalformed(store.now(), { code: "message_refused", detail: STRAY_TEST }));
  }

  /**
   * Sends, or asks a name for, what no endpoint's queue holds: in a slot of the account, as the socket or the
   * question may outlive it. Null where the account has none left. `own`: as of an endpoint with so many in
   * flight.
   */
  async inSlot<Result extends Sent | TransportResult | NameAnswer>(
    projectId: number,
    run: () => Promise<Result | null>,
    own = 0,
  ): Promise<Result | null> {
    const accountId = this.data.tenants.accountIdOf(projectId);
    if (!this.#slots.isFree(accountId, own)) return null;
    this.#slots.take(accountId, 0);
    let result: Result | null = null;
    try {
      result = await run();
      return result;
    } finally {
      this.#slots.giveBack(accountId, 0, result && "socketGone" in result ? result.socketGone : undefined);
    }
  }

  #accountOf({ projectId }: Pick<Endpoint, "projectId">): number {
    return this.data.tenants.accountIdOf(projectId);
  }

  /** Runs `wake` at `at` or in a turn a little later, as actors wake; answers how to call it off. */
  timer(endpoint: Pick<Endpoint, "projectId">, at: number, wake: () => void): () => void {
    return this.#timer(this.#accountOf(endpoint), at, wake);
  }

  /** What is due is told by this clock, in the database too. */
  get clock(): KeptClock {
    return this.parts.clock;
  }

  /**
   * Takes up every open delivery that the database has. At start, after the index was recovered and before
   * anything is accepted.
   */
  recover(): void {
    for (const row of this.data.deliveries.unparked()) this.#of(row.endpointId)?.recover(row);
    for (const endpointId of this.data.deliveries.endpointsWithParked()) this.#of(endpointId);
    void this.#wakeAll();
  }

  /**
   * Keys of those whose next deliveries have to be parked. Looks at queues in memory: to be asked before
   * a write.
   */
  endpointsToPark(endpoints: readonly Pick<Endpoint, "id">[]): ReadonlySet<number> {
    const isDispatcherFull = this.dispatcher.waiting >= limit("dispatchWaitingMax");
    let toPark: Set<number> | null = null;
    for (const { id } of endpoints) {
      const actor = this.#actors.get(id);
      const hasRoom = !(actor instanceof EndpointActor) || actor.hasRoom;
      if (isDispatcherFull || !hasRoom) (toPark ??= new Set()).add(id);
    }
    return toPark ?? NONE;
  }

  /** The first of those that wait in the database and may be sent. */
  parked(endpointId: number, ordering: Endpoint["ordering"], count: number): Waiting[] {
    const read = (most: number) => this.data.deliveries.parkedOf(endpointId, ordering, most);
    return this.unconfirmed.leftOut(endpointId, count, read);
  }

  /** A delivery that is on disk. */
  enqueue(waiting: Waiting, starts: Starts = "now"): void {
    if (this.#leaving.size > 0) this.#dropGone();
    const actor = this.#of(waiting.endpointId);
    if (actor instanceof PollActor) return actor.enqueue();
    const { load } = waiting;
    // As a replay: what an earlier dispatch may still bring of this delivery, with its body, is out of date.
    if (!load) this.#touched.add(waiting.id);
    const isKept =
      load !== null &&
      this.#totals.bytes + load.body.length <= limit("bodyCacheBytesMax") &&
      !this.#touched.has(waiting.id);
    actor?.enqueue(isKept ? waiting : { ...waiting, load: null }, starts);
  }

  forget(endpointId: number, deliveryId: number): void {
    this.#touched.add(deliveryId);
    this.#actors.get(endpointId)?.forget(deliveryId);
  }

  /**
   * One attempt now, whatever the queue says; resolves once it is on disk. See EndpointActor.attemptNow, and
   * Load for `isTypeChosen`.
   */
  attemptNow(
    deliveryId: number,
    trigger: "manual" | "test",
    isTypeChosen = false,
  ): Promise<Sent | null> | AttemptRefusal | "polled" {
    this.#touched.add(deliveryId);
    const load = loadDelivery(this.data, deliveryId);
    const actor = load && this.#of(load.delivery.endpointId);
    return load && actor ? actor.attemptNow({ ...load, isTypeChosen }, trigger) : "closed";
  }

  /** See EndpointActor.reserveByHand. */
  reserveByHand(endpointId: number): (() => void) | AttemptRefusal {
    const actor = this.#of(endpointId);
    return actor instanceof EndpointActor ? actor.reserveByHand() : "stopping";
  }

  /** What the replica holds back is at no actor yet: none of what an actor says is known of it. */
  waitingFor(delivery: Pick<Delivery, "id" | "eventId" | "endpointId" | "due">): WaitingFor | null {
    const { id, endpointId, due } = delivery;
    if (due === null) return null;
    return this.unconfirmed.has(delivery) ? "replica" : (this.#of(endpointId)?.waitingFor(id, due) ?? null);
  }

  /**
   * When an open delivery is tried next: its time has come, and its endpoint is not left alone. Null where
   * that is up to a poller.
   */
  nextAttemptAt(endpointId: number, due: number | null): number | null {
    if (due === null || this.#of(endpointId) instanceof PollActor) return null;
    return this.clock.toWall(Math.max(due, gateOf(this.#healthOf(endpointId))));
  }

  /** The actor of a polled endpoint; null for others. */
  polled(endpointId: number): PollActor | null {
    const actor = this.#of(endpointId);
    return actor instanceof PollActor ? actor : null;
  }

  /**
   * All, or those of one account: the walk over them has its share of each turn, as what is woken has. Nobody
   * catches what an actor throws: the process ends by it, as those behind it would sleep on.
   */
  async #wakeAll(accountId?: number): Promise<void> {
    const { turns } = this.data.store;
    for (const actor of this.#actors.values()) {
      if (turns.isOver) await turns.next();
      const own = this.#accountOf(actor);
      if (accountId === undefined || own === accountId) this.#wake(own, () => actor.wake());
    }
  }

  /**
   * True where nothing of the endpoint waits, for its account's plan neither, or is under way; one without an
   * actor has had nothing else since the start.
   */
  isIdle(endpointId: number): boolean {
    if (this.dispatcher.waitingOf(endpointId) > 0) return false;
    const isQuiet = this.#actors.get(endpointId)?.isQuiet ?? true;
    return isQuiet && this.data.deliveries.awaitingAt(endpointId, 1).length === 0;
  }

  /**
   * The instant from which the time since `at` counts for an endpoint: not what passed while the service held
   * back all that is its own, or was down. Each hour down makes it an hour later.
   */
  countsFrom({ projectId, openedAt }: Endpoint, at: number): number {
    const from = Math.max(at, openedAt, this.data.tenants.openedAt(projectId));
    return from + this.clock.downSince(from);
  }

  /** Whether it has failed for five days without a success, in which something could be sent to it. */
  hasFailedTooLong(endpoint: Endpoint, health = this.#healthOf(endpoint.id)): boolean {
    return hasFailedTooLong(health, this.clock.now(), (at) => {
      const roomSince = this.clock.fromWall(this.data.meter.roomSince(endpoint.projectId));
      return this.countsFrom(endpoint, Math.max(at, roomSince));
    });
  }

  /** True where an attempt of one of these accounts is under way, or on its way to the disk. */
  isBusy(accountIds: readonly number[]): boolean {
    return accountIds.some((id) => this.#slots.hasAttemptOf(id));
  }

  /** Deliveries that the endpoint's actor has in memory; none of a polled one. */
  inMemory(endpointId: number): InMemory {
    const actor = this.#actors.get(endpointId);
    return actor instanceof EndpointActor ? actor.inMemory : { held: [], busy: [] };
  }

  /** By the wall clock. */
  failingSince(endpointId: number): number | null {
    const { failingSince } = this.#healthOf(endpointId);
    return failingSince === null ? null : this.clock.toWall(failingSince);
  }

  /** True where it backs off, or is slowed down by an answer. */
  isLeftAlone(endpointId: number): boolean {
    const { backoffLevel, slowLevel, slowUntil } = this.#healthOf(endpointId);
    return backoffLevel > 0 || slowLevel > 0 || slowUntil > 0;
  }

  /**
   * Its actor ends what waits at a deleted endpoint, and has none of what waits for the replica. What a full
   * disk leaves open is ended once the replica has it.
   */
  #endUnconfirmed(endpoint: Endpoint): void {
    const held = this.unconfirmed.of(endpoint.id);
    if (held.length > 0) this.data.store.unattended("disposal", this.#disposeOf(endpoint, held));
  }

  async #disposeOf(endpoint: Endpoint, ids: readonly number[]): Promise<void> {
    const slice = limit("sliceRows");
    const isWritable = () => this.data.store.writable;
    for (let at = 0; at < ids.length && isWritable(); at += slice)
      await dispose(this.data, endpoint, () => (isWritable() ? ids.slice(at, at + slice) : []));
  }

  /** What its actor knows is newer than what is on disk. */
  #healthOf(endpointId: number): Health {
    return this.#actors.get(endpointId)?.currentHealth ?? this.data.health.get(endpointId);
  }

  /**
   * Somebody says that an endpoint may be tried again at once; its row says so already. An answer that came
   * since that was written is on its way to the disk too, and its break must not come back with a restart.
   */
  clearWaits(endpointId: number): void {
    const actor = this.#actors.get(endpointId);
    if (!(actor instanceof EndpointActor) || !this.isLeftAlone(endpointId)) return;
    actor.clearWaits();
    this.#writeHealth(endpointId);
  }

  /** A move ends what was thought of the endpoint. An outcome on its way to the disk may say otherwise. */
  #update(endpoint: Endpoint): void {
    const actor = this.#actors.get(endpoint.id);
    const before = actor?.currentHealth;
    actor?.update(endpoint);
    if (actor?.currentHealth !== before) this.#writeHealth(endpoint.id);
  }

  /**
   * What its actor thinks of an endpoint, in the line of its project: behind outcomes that are in it. Of one
   * that is deleted by then nothing is kept, as an erasure may have removed all of it.
   */
  #writeHealth(endpointId: number): void {
    const { store, endpoints, health } = this.data;
    const projectId = endpoints.getAnyway(endpointId)?.projectId ?? null;
    const write = () => {
      if (endpoints.current(endpointId)) health.set(endpointId, this.#healthOf(endpointId));
    };
    store.unattended("health of an endpoint", store.writeFor(projectId, write, true));
  }

  /**
   * What the actors hold in memory, what is in flight, and how many endpoints have to wait: each actor as it
   * is in its piece, as all that have been there since the start are asked.
   */
  *counts(): Pieces<ActorCounts> {
    const { size } = this.#actors;
    const counts = { actors: size, queued: 0, inFlight: 0, pollers: 0, backingOff: 0, withoutSlot: 0 };
    const now = this.parts.clock.now();
    let oldest = now;
    yield* piecewise(this.#actors.values(), (actor) => {
      counts.queued += actor.queued;
      counts.inFlight += actor.inFlight;
      if (actor instanceof PollActor) counts.pollers += actor.pollers;
      else if (actor.isBackingOff) counts.backingOff++;
      else oldest = Math.min(oldest, actor.nextDue ?? now);
    });
    // A copy: one that is woken and asks in vain again stands at the end of them.
    yield* piecewise([...this.#slots.starved], (id) => {
      if ((this.#actors.get(id)?.queued ?? 0) > 0) counts.withoutSlot++;
    });
    return { ...counts, oldestDueSeconds: (now - oldest) / 1000 };
  }

  /** Starts nothing any more; resolves when every attempt in flight is recorded or given up. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#actors.values()].map((actor) => actor.stop()));
  }

  #of(endpointId: number): Actor | null {
    const known = this.#actors.get(endpointId);
    if (known) return known;
    const endpoint = this.data.endpoints.getAnyway(endpointId);
    if (!endpoint) return null;
    const actor = isPolled(endpoint.kind) ? this.#makePolled(endpoint) : this.#makePushed(endpoint);
    this.#actors.set(endpointId, actor);
    if (this.#stopped) void actor.stop();
    if (endpoint.status === "deleted") this.#leaving.add(endpointId);
    return actor;
  }

  #makePolled(endpoint: Endpoint): PollActor {
    return new PollActor(endpoint, {
      giveWay: (projectId) => turnsOf(this.data, projectId, "deliveries").giveWay(),
      parked: (id, count) => this.parked(id, "none", count),
      dispose: (of, take) => dispose(this.data, of, take),
      canRecord: () => this.data.store.writable,
      isSuspended: (projectId) => this.data.tenants.isSuspended(projectId),
      unattended: (work, running) => this.data.store.unattended(work, running),
    });
  }

  #makePushed(endpoint: Endpoint): EndpointActor<Sent> {
    return new EndpointActor<Sent>(endpoint, this.data.health.get(endpoint.id), this.#pushedParts);
  }

  /** Actors of deleted endpoints that have nothing left to do. */
  #dropGone(): void {
    const now = this.parts.clock.now();
    if (Math.abs(now - this.#lookedAt) < GONE_LOOK_MS) return;
    this.#lookedAt = now;
    for (const id of this.#leaving) {
      const actor = this.#actors.get(id);
      if (actor && !actor.isGone) continue;
      this.#actors.delete(id);
      this.#leaving.delete(id);
    }
  }
}

/** Of an attempt in flight: its body, the headers that its endpoint adds, up to some 80 KB, and its TLS. */
function bytesOf({ config, headers }: Endpoint, { body }: Load): number {
  const tls = /^http:/i.test(textOf(config, "url") ?? "") ? 0 : limit("tlsAttemptBytes");
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length, body.length + tls);
}
