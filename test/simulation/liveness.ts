import { waitsForPlan } from "../../src/core/delivery.ts";
import type { Delivery, WaitingFor } from "../../src/core/model.ts";
import { deliveryOf } from "../../src/http/deliveries/shape.ts";
import type { Simulation } from "./run.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
/** A commit may take two seconds, what it wrote is seen before that, and a few may stand in line. */
const SLOW_GRACE_MS = 10_000;
/** On a disk that is never slow: less than two attempts are apart at the rate limit of the scenario. */
const GRACE_MS = 450;
/** Instants of the clock are whole milliseconds, or nearly. */
const ROUNDED_MS = 5;
/** The releaser looks for places so often. */
const LOOK_MS = 60_000;
/** No endpoint is left alone for longer at once: the longest backoff, and more than any `retry-after`. */
const BREAK_MAX_MS = 5 * MINUTE_MS;

interface Known {
  attempts: number;
  generation: number;
  isAwaited: boolean;
  /** By the monotonic clock: when its time comes, as that was said first. */
  latest: number;
  /** By the monotonic clock: since when it is due and held by nothing that it names; null where it is. */
  since: number | null;
}

/**
 * At every step: what is open goes when it was said to go, or says what it waits for, and that is so,
 * whatever becomes of the wall clock.
 */
export class Liveness {
  readonly #known = new Map<number, Known>();
  /** By endpoint: how many were open at the last look, and when, by the monotonic clock, fewer were. */
  readonly #openOf = new Map<number, { count: number; fewerAt: number }>();
  #jumpedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly run: Simulation) {}

  /** The wall clock was set: timers look at it again within a minute. */
  jumped(): void {
    this.#jumpedAt = this.run.world.monotonic;
  }

  /** By the monotonic clock: from when on every timer knows the wall clock as it is. */
  get steadySince(): number {
    return this.#jumpedAt + MINUTE_MS;
  }

  /** The process died: what it holds is looked at anew. */
  forget(): void {
    for (const known of this.#known.values()) known.since = null;
  }

  /** The clock of the next process is so far behind: everything waits for so much longer. */
  lose(ms: number): void {
    for (const known of this.#known.values()) known.latest += ms;
  }

  /** A full disk kept nothing of the time: nobody knows after the next start how much of it passed. */
  forgetTold(): void {
    this.#known.clear();
  }

  look(): void {
    const { monotonic } = this.run.world;
    for (const [endpointId, { open }] of this.run.openRows.get()) {
      if (open.length === 0) continue;
      const before = this.#openOf.get(endpointId);
      const isFewer = open.length < (before?.count ?? 0);
      const fewerAt = isFewer ? monotonic : (before?.fewerAt ?? Number.NEGATIVE_INFINITY);
      this.#openOf.set(endpointId, { count: open.length, fewerAt });
      for (const delivery of open) this.#lookAt(delivery);
    }
  }

  /** Those of a closed endpoint are ended in slices of one, each of which may wait for a slow disk. */
  #endingSince({ endpointId }: Delivery): number {
    const endpoint = this.run.process.data.endpoints.getAnyway(endpointId);
    const isEnding = endpoint?.status === "disabled" || endpoint?.status === "deleted";
    return isEnding ? (this.#openOf.get(endpointId)?.fewerAt ?? 0) : Number.NEGATIVE_INFINITY;
  }

  #lookAt(delivery: Delivery): void {
    const { run } = this;
    const { monotonic } = run.world;
    const { actors, data } = run.process;
    const wall = data.store.now();
    const dueAt = delivery.due === null ? wall : actors.clock.toWall(delivery.due);
    const known = this.#knownOf(delivery, monotonic + Math.max(0, dueAt - wall));
    const shownAt = actors.nextAttemptAt(delivery.endpointId, delivery.due);
    if (shownAt !== null) this.#requireSoon(known, shownAt, dueAt, wall);
    const reason = this.#reasonOf(delivery);
    if (this.#isHeld(delivery, reason) || run.watch.isBusy(delivery.id)) known.since = null;
    else known.since ??= monotonic;
    if (known.since === null) return;
    const from = Math.max(known.since, this.steadySince, this.#endingSince(delivery));
    const grace = this.#grace() + (waitsForPlan(delivery) ? LOOK_MS : 0);
    if (monotonic - from <= grace) return;
    run.violate(
      reason === null
        ? "a delivery is due, does not go, and says of nothing that it holds it"
        : `a delivery says that ${reason} holds it, which is not so`,
    );
    known.since = Number.POSITIVE_INFINITY;
  }

  /** What is shown of when it goes, and when its time comes, by the wall clock. */
  #requireSoon(known: Known, shownAt: number, dueAt: number, wall: number): void {
    const { run } = this;
    const later = dueAt - wall - (known.latest - run.world.monotonic);
    if (dueAt > wall && later > MINUTE_MS)
      run.violate(`a delivery waits ${Math.round(later / 1000)} s longer than it was told`);
    if (shownAt < dueAt) run.violate("a delivery is said to go before its time");
    if (shownAt - Math.max(dueAt, wall) > BREAK_MAX_MS + MINUTE_MS)
      run.violate("a delivery waits for longer than any break");
  }

  #grace(): number {
    return this.run.faults.slowDisk ? SLOW_GRACE_MS : GRACE_MS;
  }

  #reasonOf(delivery: Delivery): WaitingFor | null {
    const { actors, data } = this.run.process;
    if (!waitsForPlan(delivery)) return actors.waitingFor(delivery);
    const { waiting_for: reason } = deliveryOf({ ids: data.ids, actors }, delivery, "");
    if (reason === null) this.run.violate("a delivery waits for its plan and does not say so");
    return reason;
  }

  /** True where its time has not come, it waits for a poller, or what it names holds it. */
  #isHeld(delivery: Delivery, reason: WaitingFor | null): boolean {
    const { data, actors } = this.run.process;
    if (reason !== null) return this.#isSo(reason, delivery);
    if (waitsForPlan(delivery)) return false;
    const endpoint = data.endpoints.get(delivery.endpointId);
    // Whether its poller gets it is looked at there.
    if (endpoint?.kind === "poll")
      return (
        endpoint.status === "active" && data.store.writable && !data.tenants.isSuspended(endpoint.projectId)
      );
    return (delivery.due ?? 0) > actors.clock.now();
  }

  /** Each reason against its facts, as the rows and the attempts that were seen tell them. */
  #isSo(reason: WaitingFor, delivery: Delivery): boolean {
    const { id, endpointId, projectId, due } = delivery;
    const { watch, process, accountId } = this.run;
    const { data, actors } = process;
    const endpoint = data.endpoints.getAnyway(endpointId);
    if (!endpoint) return false;
    const { status, ordering, maxConcurrency, rateLimitPerSecond: rate } = endpoint;
    const isFull = !data.store.writable;
    const own = watch.inFlightOf(endpointId);
    const isGated = () => {
      const { backoffLevel, backoffUntil, slowUntil } = data.health.get(endpointId);
      const isProbed = backoffLevel > 0 && own > 0;
      return isProbed || Math.max(backoffUntil, slowUntil) > actors.clock.now();
    };
    const isUsedUp = () => {
      const account = data.tenants.account(accountId);
      return account !== undefined && data.meter.placesFree(account) <= 0;
    };
    const facts: Record<WaitingFor, () => boolean> = {
      paused: () => status === "paused",
      disk: () => isFull,
      plan_limit: () => (due === null ? isFull || isUsedUp() : data.tenants.isSuspended(projectId)),
      // On a full disk its row does not say it yet.
      backoff: () => isFull || isGated() || watch.isShort(endpointId),
      order: () => ordering === "fifo" && (own > 0 || this.#hasEarlier(endpointId, id)),
      rate_limit: () => rate !== null && watch.sinceStart(endpointId) <= SECOND_MS / rate + ROUNDED_MS,
      concurrency: () => own >= maxConcurrency || !watch.hasFreeSlot(endpointId),
      replica: () => actors.unconfirmed.has(delivery),
    };
    return facts[reason]();
  }

  #hasEarlier(endpointId: number, id: number): boolean {
    const first = this.run.openRows.get().get(endpointId)?.open[0];
    return first !== undefined && first.id < id;
  }

  #knownOf({ id, attemptCount: attempts, generation, due }: Delivery, latest: number): Known {
    const known = this.#known.get(id);
    const isAwaited = due === null;
    if (known?.attempts === attempts && known.generation === generation && known.isAwaited === isAwaited)
      return known;
    const fresh = { attempts, generation, isAwaited, latest, since: null };
    this.#known.set(id, fresh);
    return fresh;
  }
}
