import type { SteadyClock } from "../platform/clock.ts";
import { isFree, isMetered } from "../core/delivery.ts";
import { limit } from "../core/limits.ts";
import { type Delivery, type Endpoint, envelopeOf, type WaitingFor } from "../core/model.ts";
import type { Data } from "../store/data.ts";
import { isBodyGone } from "../store/events.ts";
import { EndpointActor } from "./actor.ts";
import type { ActorParts, Load, Settlement, Waiting } from "./actor-parts.ts";
import { isPolled } from "../destinations/destinations.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Held } from "./queue.ts";
import { PollActor } from "./poll-actor.ts";
import type { Sent } from "./send.ts";

/** What an attempt tells the log and the metrics once it is on disk. */
export interface AttemptReport {
  settlement: Settlement<Sent>;
  number: number;
  /** By the wall clock; null where none is planned. */
  nextAttemptAt: number | null;
  /** By the wall clock: when the endpoint is tried again that is left alone; null where it is not. */
  leftAloneUntil: number | null;
  /** Milliseconds from acceptance to the first attempt; null for later ones. */
  lagMs: number | null;
}

export interface ActorsParts {
  clock: SteadyClock;
  random(): number;
  /** Never rejects. */
  send(endpoint: Endpoint, load: Load): Promise<Sent | null>;
  /** Attempts in flight over all endpoints, bounded by what the process may open. */
  attemptsMax: number;
  onAttempt(report: AttemptReport): void;
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
const TOUCHED_AGE_MS = 60_000;
const encoder = new TextEncoder();

type Actor = EndpointActor<Sent> | PollActor;

/** All actors, by endpoint; made when the first delivery comes. Writes what they find out. */
export class Actors {
  readonly #actors = new Map<number, Actor>();
  #stopped = false;
  #inFlight = 0;
  /** Endpoints that found no slot; not all of them have something left to send. */
  readonly #starved = new Set<number>();
  #isFeeding = false;
  /**
   * Deliveries that somebody replayed, cancelled or tried by hand, and when. A delivery can be seen before it is dispatched (a moment
   * after its commit): what the dispatch carries of it would be out of date.
   */
  readonly #touched = new Map<number, number>();
  readonly #held: Held = { deliveries: 0, bytes: 0 };
  /** Endpoints that are deleted and whose actors have something left to end. */
  readonly #leaving = new Set<number>();
  #lookedAt = 0;
  /** Brings what was committed to the actors. */
  readonly dispatcher: Dispatcher;
  /** The same for every actor, as there may be ten thousand. */
  readonly #pushedParts: ActorParts<Sent>;

  constructor(
    private readonly data: Data,
    private readonly parts: ActorsParts,
  ) {
    this.#pushedParts = this.#partsOfPushed();
    data.endpoints.onChange((endpoint) => {
      this.#actors.get(endpoint.id)?.update(endpoint);
      if (endpoint.status === "deleted") this.#leaving.add(endpoint.id);
    });
    this.dispatcher = new Dispatcher({
      schedule: (next) => data.store.schedule(next),
      beginShare: () => data.store.beginShare(),
      keepsOrder: this.keepsOrder,
      read: (id) => data.deliveries.get(id),
      enqueue: (endpointId, waiting, load) => this.enqueue(endpointId, waiting, load),
    });
    data.store.onRecovered(() => this.wakeAll());
    data.tenants.onAccountChange(() => this.wakeAll());
  }

  #partsOfPushed(): ActorParts<Sent> {
    return {
      held: this.#held,
      clock: this.parts.clock,
      random: () => this.parts.random(),
      load: (id) => this.load(id),
      parked: (id, count) => this.data.deliveries.parkedOf(id, count),
      firstParked: (id) => this.data.deliveries.firstParkedOf(id),
      perform: (to, load) => this.#perform(to, load),
      landed: () => this.#landed(),
      record: (settlement) => this.#record(settlement),
      dispose: (ids) => this.dispose(ids),
      hasSlot: (id, own) => this.#hasSlot(id, own),
      canRecord: () => this.data.store.writable,
      isRoomy: () => this.#held.deliveries < limit("queuedTotalMax"),
      isHeldBack: (projectId) => this.data.tenants.isSuspended(projectId),
      unattended: (work, running) => this.data.store.unattended(work, running),
    };
  }

  /** What is due is told by this clock, in the database too. */
  get clock(): SteadyClock {
    return this.parts.clock;
  }

  /** Takes up every open delivery that the database has. At start, after the digest was recovered and before anything is accepted. */
  recover(): void {
    for (const row of this.data.deliveries.held()) this.#of(row.endpointId)?.takeUp(row);
    for (const endpointId of this.data.deliveries.endpointsWithParked()) this.#of(endpointId);
    this.#wakeInTurn([...this.#actors.values()]);
  }

  /** In shares of turns of the loop: each may start as many attempts as its endpoint takes at once. */
  #wakeInTurn(actors: readonly Actor[], from = 0): void {
    const share = this.data.store.beginShare();
    let next = from;
    while (next < actors.length && (next === from || !share.isOver)) actors[next++]?.wake();
    if (next < actors.length) this.data.store.schedule(() => this.#wakeInTurn(actors, next));
  }

  /** Where a new delivery of an endpoint stands in the database's queue; null where the actor can hold it in memory. */
  placeFor(endpoint: Endpoint, id: number, due: number): number | null {
    // Inside the write, so that it stands behind all that was handed out before.
    if (isPolled(endpoint.kind)) return this.data.store.takeKey();
    const actor = this.#of(endpoint.id);
    const isFull = this.dispatcher.waiting >= limit("dispatchWaitingMax");
    if (!(actor instanceof EndpointActor) || (actor.hasRoom && !isFull)) return null;
    // A write of this very transaction may have changed the order in which the endpoint gets things.
    return this.data.endpoints.current(endpoint.id)?.ordering === "fifo" ? id : due;
  }

  /** True where nothing may reach the endpoint before what came earlier. */
  readonly keepsOrder = ({ ordering, kind }: Endpoint) => ordering === "fifo" || isPolled(kind);

  /** A delivery that is on disk; `load` where its body is at hand. */
  enqueue(endpointId: number, waiting: Waiting, load: Load | null): void {
    if (this.#leaving.size > 0) this.#dropGone();
    const actor = this.#of(endpointId);
    if (actor instanceof PollActor) return actor.enqueue();
    if (!load) this.#touch(waiting.id);
    const isKept =
      load !== null &&
      this.#held.bytes + load.body.length <= limit("bodyCacheBytesMax") &&
      !this.#touched.has(waiting.id);
    actor?.enqueue(waiting, isKept ? load : null);
  }

  forget(endpointId: number, deliveryId: number): void {
    this.#touch(deliveryId);
    this.#actors.get(endpointId)?.forget(deliveryId);
  }

  /** One attempt now, whatever the queue says; resolves once it is on disk. See EndpointActor.attemptNow. */
  attemptNow(
    deliveryId: number,
    trigger: "manual" | "test",
  ): Promise<Sent | null> | "busy" | "closed" | "stopping" | "polled" {
    this.#touch(deliveryId);
    const load = this.load(deliveryId);
    const actor = load && this.#of(load.delivery.endpointId);
    return load && actor ? actor.attemptNow(load, trigger) : "closed";
  }

  waitingFor(endpointId: number, deliveryId: number, due: number | null): WaitingFor | null {
    if (due === null) return null;
    return this.#of(endpointId)?.waitingFor(deliveryId, due) ?? null;
  }

  /** When an open delivery is tried next; null where that is up to a poller. */
  nextAttemptAt(endpointId: number, due: number | null): number | null {
    return due === null || this.#of(endpointId) instanceof PollActor ? null : this.clock.toWall(due);
  }

  /** The actor of a polled endpoint; null for others, and for what was not there when the process began to stop. */
  polled(endpointId: number): PollActor | null {
    const actor = this.#of(endpointId);
    return actor instanceof PollActor ? actor : null;
  }

  /**
   * Records what a poller is about to get, in one transaction: what it gets for the first time since its delivery was opened is an
   * attempt, what could not be rendered is dead. Answers those that are still open and rendered.
   */
  async recordHandOuts<Handed extends Settlement<Sent>>(handed: readonly Handed[]): Promise<Handed[]> {
    const isKnown = ({ load, performed }: Handed) =>
      load.delivery.step > 0 && performed.finding.outcome === "handed_out";
    if (handed.every(isKnown)) return handed.filter((one) => this.#openNow(one) !== null);
    const written = await this.data.store.write(() => {
      const reports: AttemptReport[] = [];
      return { open: handed.filter((one) => this.#writeHandOut(one, reports)), reports };
    });
    for (const report of written.reports) this.parts.onAttempt(report);
    return written.open;
  }

  /** The delivery as it stands now; null where it was acknowledged, ended or opened anew since it was read. */
  #openNow({ load }: Settlement<Sent>): Delivery | null {
    const now = this.data.deliveries.get(load.delivery.id);
    return now && now.due !== null && now.generation === load.delivery.generation ? now : null;
  }

  /** Inside a write. False where it is not to be handed out. */
  #writeHandOut(one: Settlement<Sent>, reports: AttemptReport[]): boolean {
    const delivery = this.#openNow(one);
    if (delivery === null) return false;
    const isRendered = one.performed.finding.outcome === "handed_out";
    if (isRendered && delivery.step > 0) return true;
    const settlement = { ...one, load: { ...one.load, delivery } };
    const number = delivery.attemptCount + 1;
    this.#write(settlement, number);
    reports.push({ settlement, number, nextAttemptAt: null, leftAloneUntil: null, lagMs: null });
    return isRendered;
  }

  wakeAll(): void {
    this.#wakeInTurn([...this.#actors.values()]);
  }

  /** True where nothing of the endpoint waits or is under way; one without an actor has had nothing since the start. */
  isIdle(endpointId: number): boolean {
    return this.#actors.get(endpointId)?.isQuiet ?? true;
  }

  /** Deliveries of an endpoint that are open: in its actor's hands, or waiting in the database. */
  openCount(endpointId: number): number {
    const actor = this.#actors.get(endpointId);
    // Most of many thousand have nothing: no look-up for those.
    if (!actor || (actor instanceof EndpointActor && actor.isQuiet)) return 0;
    const held = actor instanceof EndpointActor ? actor.ids() : [];
    const { deliveries } = this.data;
    // Some that are parked are in the actor's hands already.
    return deliveries.countParked(endpointId) + deliveries.countOpenUnparked(held);
  }

  /** By the wall clock. */
  failingSince(endpointId: number): number | null {
    const actor = this.#actors.get(endpointId);
    const { failingSince } = actor?.currentHealth ?? this.data.health.get(endpointId);
    return failingSince === null ? null : this.clock.toWall(failingSince);
  }

  /** True where it backs off, or is slowed down by an answer. */
  isLeftAlone(endpointId: number): boolean {
    const { backoffLevel, slowLevel, slowUntil } =
      this.#actors.get(endpointId)?.currentHealth ?? this.data.health.get(endpointId);
    return backoffLevel > 0 || slowLevel > 0 || slowUntil > 0;
  }

  /** Somebody says that an endpoint may be tried again at once; its row says so already. */
  clearWaits(endpointId: number): void {
    const actor = this.#actors.get(endpointId);
    if (actor instanceof EndpointActor) actor.clearWaits();
  }

  /** What the actors hold in memory, what is in flight, and how many endpoints have to wait. */
  counts(): ActorCounts {
    const { size } = this.#actors;
    const counts = { actors: size, queued: 0, inFlight: 0, pollers: 0, backingOff: 0, withoutSlot: 0 };
    const now = this.parts.clock.now();
    let oldest = now;
    for (const actor of this.#actors.values()) {
      counts.queued += actor.queued;
      counts.inFlight += actor.inFlight;
      if (actor instanceof PollActor) counts.pollers += actor.pollers;
      else if (actor.mode === "backing_off") counts.backingOff++;
      else oldest = Math.min(oldest, actor.nextDue ?? now);
    }
    for (const id of this.#starved) if ((this.#actors.get(id)?.queued ?? 0) > 0) counts.withoutSlot++;
    return { ...counts, oldestDueSeconds: (now - oldest) / 1000 };
  }

  /** Starts nothing any more; resolves when every attempt in flight is recorded or given up. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#actors.values()].map((actor) => actor.stop()));
  }

  /** A delivery with its message, from the database. */
  load(deliveryId: number): Load | null {
    const delivery = this.data.deliveries.get(deliveryId);
    const event = delivery && this.data.events.getWithData(delivery.eventId);
    if (!delivery || !event || isBodyGone(event)) return null;
    return {
      delivery,
      type: event.type,
      hops: event.hops,
      body: encoder.encode(envelopeOf(event.type, event.timestamp, event.data)),
    };
  }

  #of(endpointId: number): Actor | null {
    const known = this.#actors.get(endpointId);
    if (known || this.#stopped) return known ?? null;
    const endpoint = this.data.endpoints.getAnyway(endpointId);
    if (!endpoint) return null;
    const actor = isPolled(endpoint.kind) ? this.#makePolled(endpoint) : this.#makePushed(endpoint);
    this.#actors.set(endpointId, actor);
    if (endpoint.status === "deleted") this.#leaving.add(endpointId);
    return actor;
  }

  #makePolled(endpoint: Endpoint): PollActor {
    return new PollActor(endpoint, {
      timer: (at, wake) => this.parts.clock.timer(at, wake),
      parked: (id, count) => this.data.deliveries.parkedOf(id, count),
      dispose: (ids) => this.dispose(ids),
      canRecord: () => this.data.store.writable,
      isHeldBack: (projectId) => this.data.tenants.isSuspended(projectId),
      unattended: (work, running) => this.data.store.unattended(work, running),
    });
  }

  #makePushed(endpoint: Endpoint): EndpointActor<Sent> {
    return new EndpointActor<Sent>(endpoint, this.data.health.get(endpoint.id), this.#pushedParts);
  }

  #perform(endpoint: Endpoint, load: Load): Promise<Sent | null> {
    this.#inFlight++;
    return this.parts.send(endpoint, load);
  }

  #landed(): void {
    this.#inFlight--;
    this.#feedSoon();
  }

  /** Up to half of the slots each endpoint takes as many as it may; of the rest one, so that the slow leave room for the others. */
  #hasSlot(endpointId: number, own: number): boolean {
    const { attemptsMax } = this.parts;
    if (this.#inFlight < attemptsMax / 2 || (own === 0 && this.#inFlight < attemptsMax)) return true;
    this.#starved.add(endpointId);
    return false;
  }

  #feedSoon(): void {
    if (this.#isFeeding || this.#starved.size === 0) return;
    this.#isFeeding = true;
    this.data.store.schedule(() => this.#feed());
  }

  /** Wakes those that found no slot, in their order, while there are some and its share of the turn lasts. */
  #feed(): void {
    this.#isFeeding = false;
    const share = this.data.store.beginShare();
    let left = this.#starved.size;
    for (const endpointId of this.#starved) {
      if (left-- === 0 || this.#inFlight >= this.parts.attemptsMax) return;
      if (share.isOver) return this.#feedSoon();
      this.#starved.delete(endpointId);
      this.#actors.get(endpointId)?.wake();
    }
  }

  async #record(settlement: Settlement<Sent>): Promise<boolean> {
    const { load, performed } = settlement;
    const number = load.delivery.attemptCount + 1;
    try {
      const { applied, disabled, nextAttemptAt } = await this.data.store.write(
        () => this.#write(settlement, number),
        true,
      );
      if (disabled) this.data.endpoints.remember(disabled);
      const dueAt = this.clock.toWall(load.delivery.due ?? this.clock.fromWall(performed.startedAt));
      const lagMs = number === 1 ? performed.startedAt - dueAt : null;
      const until = Math.max(settlement.health.backoffUntil, settlement.health.slowUntil);
      const leftAloneUntil = until > 0 ? this.clock.toWall(until) : null;
      this.parts.onAttempt({ settlement, number, nextAttemptAt, leftAloneUntil, lagMs });
      return applied;
    } catch (error) {
      // Its row stays as it was: it is sent again after the next start, and the others go on.
      this.data.store.report("record of an attempt", error);
      return true;
    }
  }

  /** All that follows from an attempt, in one transaction. */
  #write(
    settlement: Settlement<Sent>,
    number: number,
  ): { applied: boolean; disabled: Endpoint | null; nextAttemptAt: number | null } {
    const { endpoint, load, trigger, performed, change, health } = settlement;
    const { delivery } = load;
    const { outcome } = performed.finding;
    const id = this.data.store.takeKey();
    const isHandedOut = outcome === "handed_out";
    const metered = delivery.metered || (isMetered(outcome) && !isFree(delivery));
    if (metered && !delivery.metered) this.data.meter.count(delivery.projectId, performed.startedAt);
    // Also where the delivery is gone: what its receiver said holds for the next one.
    const disabled = this.#disable(settlement);
    const at = { id, number };
    const settled = this.data.deliveries.settle(delivery, at, metered, change, settlement.queueOrder);
    if (settled === "gone") return { applied: false, disabled, nextAttemptAt: null };
    const isApplied = settled === "applied";
    const due = isHandedOut ? null : this.#dueAfter(settlement, isApplied);
    const nextAttemptAt = due === null ? null : this.clock.toWall(due);
    const place = { ...at, deliveryId: delivery.id, trigger, outcome, nextAttemptAt };
    this.data.attempts.insert(place, performed);
    if (settlement.healthChanged && this.data.endpoints.leadsTo(endpoint))
      this.data.health.set(endpoint.id, health);
    // What is handed out counts once it is acknowledged (src/delivery/poller.ts).
    if (!isHandedOut) {
      this.data.digest.addTally(id, {
        endpointId: endpoint.id,
        projectId: delivery.projectId,
        at: performed.startedAt,
        delivered: outcome === "delivered",
        dead: isApplied && change?.status === "dead",
        durationMs: performed.durationMs,
      });
    }
    return { applied: isApplied, disabled, nextAttemptAt };
  }

  /** Inside the write. Null where nothing is to be disabled, also as the endpoint leads somewhere else by now. */
  #disable({ endpoint, disable }: Settlement<Sent>): Endpoint | null {
    if (disable === null || !this.data.endpoints.leadsTo(endpoint)) return null;
    return this.data.endpoints.update(endpoint.id, () => ({ status: "disabled", disabledReason: disable }));
  }

  /** When the delivery is tried next; where it was reopened or ended while the attempt ran, its row says it. */
  #dueAfter({ load: { delivery }, change }: Settlement<Sent>, isApplied: boolean): number | null {
    if (!isApplied) return this.data.deliveries.get(delivery.id)?.due ?? null;
    return change ? change.due : delivery.due;
  }

  /**
   * Ends open deliveries of endpoints that are disabled (dead) or deleted (cancelled). Answers those whose endpoint is neither: it was
   * enabled before the write.
   */
  dispose(ids: readonly number[]): Promise<number[]> {
    return this.data.store.write(() => ids.filter((id) => !this.#disposeOne(id)), true);
  }

  /** Inside a write. False where it is still to be sent. */
  #disposeOne(id: number): boolean {
    const delivery = this.data.deliveries.get(id);
    if (!delivery) return true;
    const endpoint = this.data.endpoints.current(delivery.endpointId);
    if (endpoint && endpoint.status !== "disabled") return false;
    const as = endpoint ? "dead" : "cancelled";
    if (!this.data.deliveries.dispose(id, as)) return true;
    if (as === "dead") this.data.notes.add(delivery.eventId, id, "dead_lettered", "endpoint_disabled");
    else this.data.notes.add(delivery.eventId, id, "cancelled");
    return true;
  }

  /** Each forgets the two that were touched longest ago, where that is long enough: they stand in the order of their times. */
  #touch(deliveryId: number): void {
    const now = this.parts.clock.now();
    this.#touched.delete(deliveryId);
    this.#touched.set(deliveryId, now);
    let looked = 0;
    for (const [id, at] of this.#touched) {
      const isSurplus = this.#touched.size > limit("touchedMax");
      if (!isSurplus && (++looked > 2 || Math.abs(now - at) < TOUCHED_AGE_MS)) break;
      this.#touched.delete(id);
    }
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
