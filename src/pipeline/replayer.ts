import { isTest } from "../core/delivery.ts";
import { matchesPattern } from "../core/event-type.ts";
import { firstKeyAt } from "../core/ids.ts";
import { limit } from "../core/limits.ts";
import type { Endpoint } from "../core/model.ts";
import { OneByOne } from "../core/structures/one-by-one.ts";
import type { Turns } from "../core/structures/turn-queue.ts";
import { isTheirs } from "./new-delivery.ts";
import type { Outlet } from "./outlet.ts";
import type { Pipeline } from "./pipeline.ts";
import { enqueueReplayed, type Replayed, replayOne } from "./replay.ts";
import type { Data } from "../store/data.ts";
import { type DeliveryFilter, DeliveryList } from "../store/log/delivery-list.ts";
import { isBodyGone } from "../store/log/events.ts";
import { LABELS } from "../store/index/index.ts";
import { turnsOf } from "../store/project-turns.ts";
import { Merge, OLDEST_FIRST, type ReadList } from "../store/merge.ts";
import type { Replay, ReplayFilter, ReplayList, RunningReplay } from "../store/log/replays.ts";
import { holdsText } from "../store/log/body-search.ts";

/** Whose deliveries a replay may take: a project's, or only those of one consumer's endpoints. */
export interface ReplayScope {
  projectId: number;
  visible: ReadonlySet<number> | null;
}

/**
 * Something to replay: an event to an endpoint, by opening this delivery afresh or, where it is null, by a
 * new one.
 */
interface Target {
  eventId: number;
  endpoint: Endpoint;
  deliveryId: number | null;
  /** The key that a new one has, where it was set aside. */
  newKey?: number;
}

const SECOND_MS = 1000;

/** What a replay would take, as it is at one moment. */
export interface Matched {
  matched: number;
  /** The latest key of that moment (Store.latestKey). */
  asOf: number;
}

/**
 * Bulk replays: a job walks the matching deliveries (or, with `missing`, events) from the oldest to the
 * newest in slices. Each slice replays and moves the job's position in one transaction, so that a crash
 * repeats nothing and forgets nothing.
 *
 * It takes what matches when it is asked for, and of that what is still as it was when its turn comes. A
 * delivery whose status has changed since, that was opened again, or that was written later, has a later key
 * for that (STATUS_KEY) than `last`, which is the latest of the moment in which the counting began: it is
 * neither counted nor taken. So a replay takes fewer than matched where some go on by themselves, and never
 * more: as what else its filter asks may come true later (an endpoint is enabled), it also ends with that
 * number, for which it has its places of the plan from the start.
 *
 * One event that goes to very many endpoints again is such a job too (src/http/events/wide-replay.ts). What
 * it takes is settled by its key, whatever becomes of its deliveries until their turn.
 *
 * | state     | leaves when                                                       |
 * |-----------|-------------------------------------------------------------------|
 * | running   | the walk reaches `last`, or all that matched is replayed (completed), cancel (cancelled), the process ends (goes on at the next start) |
 * | completed | never                                                             |
 * | cancelled | never                                                             |
 */
export class Replayer {
  readonly #list: DeliveryList;
  readonly #walking = new Set<number>();
  /**
   * Slices of a project: those of many jobs together would hold up whoever else writes, and what one of them
   * has read none of the others changes before it is written.
   */
  readonly #slices = new OneByOne<number>();
  #isRecovered = false;

  constructor(
    private readonly data: Pick<
      Data,
      | "store"
      | "endpoints"
      | "events"
      | "fanouts"
      | "deliveries"
      | "eventDeliveries"
      | "notes"
      | "index"
      | "bodyRetention"
      | "replays"
      | "tenants"
    >,
    private readonly outlet: Outlet,
    private readonly pipeline: Pipeline,
  ) {
    this.#list = new DeliveryList(data);
    // Before the start has taken up the rest, a replay would overtake what the queues do not know yet.
    data.store.onWritable(() => this.#isRecovered && this.recover());
  }

  /** How many a replay would take that is asked for now. */
  async count(scope: ReplayScope, filter: ReplayFilter, turns: Turns): Promise<Matched> {
    const asOf = this.data.store.latestKey;
    const walk = this.#walkOf(() => scope, filter, 0, asOf);
    let matched = 0;
    for (;;) {
      await turns.giveWay();
      const { targets, reached } = await walk.next(turns);
      matched += targets.length;
      if (reached === null) return { matched, asOf };
    }
  }

  /** Starts a job whose row is on disk, or takes up one that a restart interrupted. */
  run(replay: RunningReplay): void {
    if (this.#walking.has(replay.id)) return;
    this.#walking.add(replay.id);
    const walk = this.#walk(replay).finally(() => this.#walking.delete(replay.id));
    this.data.store.unattended("replay", walk);
  }

  recover(): void {
    this.#isRecovered = true;
    for (const replay of this.data.replays.running()) this.run(replay);
  }

  /** The endpoints that count for a job: those of its consumer as they are now. */
  scopeOf(replay: Replay): ReplayScope {
    return {
      projectId: replay.projectId,
      visible: this.data.endpoints.visibleTo(replay.projectId, replay.consumerId),
    };
  }

  async #walk({ id, projectId }: RunningReplay): Promise<void> {
    // The jobs of a project share its turns, whoever started them.
    const turns = turnsOf(this.data, projectId, "replays");
    // Of a list that is long this is a turn of its own.
    await turns.giveWay(this.data.replays.listBytes(id));
    const replay = this.data.replays.get(id);
    if (replay?.status !== "running") return;
    let { replayed } = replay;
    const { ratePerSecond } = replay.filter;
    const walk = this.#begin(replay);
    while (this.data.store.writable) {
      const { done, reached } = await this.#slices.run(projectId, async () => {
        await turns.giveWay();
        const asOf = this.data.store.latestKey;
        const slice = await walk.next(turns, ratePerSecond ?? undefined);
        return { done: await this.#writeSlice(replay, slice, replayed, asOf), reached: slice.reached };
      });
      if (done === null || reached === null) return;
      replayed += done;
      if (replayed >= replay.matched) return;
      if (ratePerSecond !== null && done > 0) await this.#wait((done * SECOND_MS) / ratePerSecond);
    }
  }

  /** Goes on from where the job came. */
  #begin(replay: Replay): Walk {
    const { id, filter, position, last } = replay;
    const { event } = filter;
    const list = event ? this.data.replays.listOf(id) : null;
    const scopeOf = () => this.scopeOf(replay);
    return event && list
      ? this.#walkOver(scopeOf, event.id, list, position)
      : this.#walkOf(scopeOf, filter, position, last);
  }

  /**
   * How many were replayed; null where the job was cancelled meanwhile. A slice without targets is not worth
   * a write. `asOf`: the latest key before the slice was read.
   */
  async #writeSlice(
    replay: Replay,
    { targets, reached }: Slice,
    before: number,
    asOf: number,
  ): Promise<number | null> {
    if (targets.length === 0 && reached !== null && before < replay.matched)
      return this.data.replays.isRunning(replay.id) ? 0 : null;
    const position = reached ?? replay.last;
    const toPark = this.outlet.endpointsToPark(targets.map(({ endpoint }) => endpoint));
    const written = await this.data.store.write(() => {
      if (!this.data.replays.isRunning(replay.id)) return null;
      const done: Replayed[] = [];
      for (const target of targets)
        if (before + done.length < replay.matched)
          done.push(...this.#replayTarget(replay, target, toPark, asOf));
      const replayed = before + done.length;
      const isDone = reached === null || replayed >= replay.matched;
      const ended = isDone && { status: "completed" as const, completedAt: this.data.store.now() };
      this.data.replays.update(replay.id, { position, replayed, ...ended });
      return done;
    }, true);
    enqueueReplayed(this.outlet, written ?? []);
    return written && written.length;
  }

  /**
   * Looks once more: since the slice was read, the delivery may have gone on by itself, or a replay by hand
   * may have made it.
   */
  #replayTarget(
    { last, filter }: Replay,
    target: Target,
    toPark: ReadonlySet<number>,
    asOf: number,
  ): Replayed[] {
    const { eventId, deliveryId, newKey } = target;
    const event = this.data.events.get(eventId);
    const endpoint = this.data.endpoints.current(target.endpoint.id);
    if (!event || !endpoint || endpoint.status === "disabled") return [];
    const { deliveries } = this.data;
    const isNew = deliveryId === null;
    if ((isNew || filter.event) && !isTheirs(endpoint, event)) return [];
    if (isNew && newKey === undefined && deliveries.hasAdded(eventId, endpoint.id, asOf)) return [];
    const delivery = isNew ? null : deliveries.get(deliveryId);
    if (!isNew && (!delivery || !(filter.event || deliveries.isAsItWas(deliveryId, last)))) return [];
    return [replayOne(this.data, this.outlet.clock, event, endpoint, delivery, toPark, newKey) ?? []].flat();
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.outlet.clock.timer(this.outlet.clock.now() + ms, resolve));
  }

  /**
   * The targets above `position` and up to `last`, slice by slice; whose deliveries count is looked up for
   * each slice.
   */
  #walkOf(scopeOf: () => ReplayScope, filter: ReplayFilter, position: number, last: number): Walk {
    const from = Math.max(position, firstKeyOf(filter));
    const nextKeys = this.#keysAbove(scopeOf(), filter, from);
    const most = limit("sliceRows");
    const targetsOf = filter.missing ? this.#missing(filter) : this.#deliveries(scopeOf, filter, last);
    return {
      next: async (turns, count = most) => {
        const keys = nextKeys(Math.min(count, most)).filter((key) => key <= last);
        return { targets: await targetsOf(keys, turns), reached: keys.at(-1) ?? null };
      },
    };
  }

  /** The endpoints of one event, from the n-th on. */
  #walkOver(
    scopeOf: () => ReplayScope,
    eventId: number,
    { endpoints, deliveries }: ReplayList,
    position: number,
  ): Walk {
    const targetOf = ({ visible }: ReplayScope, at: number): Target | null => {
      const endpoint = this.data.endpoints.get(endpoints[at] ?? 0);
      const key = deliveries[at] ?? 0;
      if (!endpoint || !(visible?.has(endpoint.id) ?? true)) return null;
      const isThere = this.data.deliveries.get(key) !== null;
      return { eventId, endpoint, ...(isThere ? { deliveryId: key } : { deliveryId: null, newKey: key }) };
    };
    let reached = position;
    return {
      next: (_turns, count = limit("sliceRows")) => {
        const from = reached;
        reached = Math.min(from + count, endpoints.length);
        const scope = scopeOf();
        const targets = endpoints.slice(from, reached).flatMap((_, n) => targetOf(scope, from + n) ?? []);
        return Promise.resolve({ targets, reached: reached < endpoints.length ? reached : null });
      },
    };
  }

  /**
   * Keys of the deliveries, or with `missing` of the events, that the filter may mean, oldest first: each
   * call gives the next.
   */
  #keysAbove(scope: ReplayScope, filter: ReplayFilter, from: number): (count: number) => readonly number[] {
    const { deliveries, index } = this.data;
    const { deliveryIds } = filter;
    if (filter.missing) return walking(index.walkUp(this.#eventsFor(scope, filter), from));
    if (deliveryIds)
      return goingOn(from, (after, count) => deliveryIds.filter((key) => key > after).slice(0, count));
    const endpoints = endpointsOf(scope, filter);
    const onlyDead = filter.status.length === 1 && filter.status[0] === "dead";
    if (!onlyDead) return walking(index.walkUp(this.#listsOf(scope, endpoints), from));
    if (endpoints === null)
      return goingOn(from, (after, count) => deliveries.deadOfProject(scope.projectId, after, count));
    const read: ReadList = (id, after, most) => deliveries.deadOfEndpoint(id, after, most);
    return walking(new Merge(endpoints, from, OLDEST_FIRST, read));
  }

  #deliveries(scopeOf: () => ReplayScope, filter: ReplayFilter, asOf: number): TargetsOf {
    const { q = null } = filter;
    return async (keys, turns) => {
      const wanted = deliveryFilterOf(scopeOf(), filter, asOf);
      const targets = keys.flatMap((key) => this.#deliveryTarget(wanted, filter, key) ?? []);
      if (q === null) return targets;
      const found: Target[] = [];
      for (const target of targets) if (await this.#holds(target.eventId, q, turns)) found.push(target);
      return found;
    };
  }

  /** Reads the event's body in a turn of its own. */
  async #holds(eventId: number, text: string, turns: Turns): Promise<boolean> {
    const { events } = this.data;
    await turns.giveWay(events.bytesOf(eventId));
    return holdsText(events.getWithData(eventId)?.data ?? "", text);
  }

  /** Whether its event holds the text that is looked for is asked apart. */
  #deliveryTarget(wanted: DeliveryFilter, filter: ReplayFilter, key: number): Target | null {
    const delivery = this.#list.getIf(key, wanted);
    const endpoint = delivery && this.data.endpoints.get(delivery.endpointId);
    // A disabled endpoint would only turn it into a dead letter again: it is replayable once the endpoint
    // is enabled.
    if (!delivery || !endpoint || endpoint.status === "disabled" || !inWindow(filter, delivery.eventId))
      return null;
    // Nothing counts them: their event is replayed, or another test sent.
    if (isTest(delivery) && !filter.event) return null;
    if (!this.data.bodyRetention.has("bodies", delivery.eventId)) return null;
    return { eventId: delivery.eventId, endpoint, deliveryId: key };
  }

  #listsOf({ projectId }: ReplayScope, endpoints: number[] | null): number[] {
    return endpoints ?? [this.data.index.labels.find(projectId, LABELS.deliveries, "") ?? []].flat();
  }

  /** Of one consumer alone where the endpoint is that one's: the time of a walk tells nothing of others. */
  #eventsFor({ projectId }: ReplayScope, { consumerId, endpointId }: ReplayFilter): number[] {
    const endpoint = endpointId === null ? undefined : this.data.endpoints.get(endpointId);
    const consumer = consumerId ?? endpoint?.consumerId ?? null;
    if (consumer === null) return [projectId];
    return [this.data.index.labels.find(projectId, LABELS.consumer, consumer) ?? []].flat();
  }

  /** Events that the endpoint would get today, and has no delivery of. */
  #missing(filter: ReplayFilter): TargetsOf {
    return async (keys, turns) => {
      const targets: Target[] = [];
      for (const key of keys) {
        await turns.giveWay();
        const endpoint = filter.endpointId === null ? undefined : this.data.endpoints.get(filter.endpointId);
        if (!endpoint || !this.#mayMiss(endpoint, filter, key)) continue;
        if (await this.#hasDelivery(key, endpoint, turns)) continue;
        await turns.giveWay(this.data.events.bytesOf(key));
        const event = this.data.events.getWithData(key);
        if (event && !isBodyGone(event) && this.pipeline.matches(endpoint, event))
          targets.push({ eventId: key, endpoint, deliveryId: null });
      }
      return targets;
    };
  }

  /** All that can be told without the event's deliveries and its body. */
  #mayMiss(endpoint: Endpoint, filter: ReplayFilter, key: number): boolean {
    const event = this.data.events.get(key);
    if (endpoint.status === "disabled" || !event || event.isTest) return false;
    if (!inWindow(filter, key) || !isWantedType(filter, event.type)) return false;
    return filter.consumerId === null || event.consumerId === filter.consumerId;
  }

  /**
   * A wide event's fan-out may not have come to the endpoint yet: asked first, as what it no longer names is
   * written. After a no only a replay makes such a delivery.
   */
  async #hasDelivery(eventId: number, { id }: Endpoint, turns: Turns): Promise<boolean> {
    const { fanouts, eventDeliveries } = this.data;
    if (fanouts.endpointsOf(eventId).includes(id)) return true;
    return eventDeliveries.some(eventId, turns, { visible: null, endpointId: id });
  }
}

/** `reached`: the last key that was looked at, or null at the end. */
interface Slice {
  targets: Target[];
  reached: number | null;
}

interface Walk {
  next(turns: Turns, count?: number): Promise<Slice>;
}

type TargetsOf = (keys: readonly number[], turns: Turns) => Promise<Target[]>;

/** The endpoints whose own lists are walked; null: the whole project's. */
function endpointsOf({ visible }: ReplayScope, { endpointId }: ReplayFilter): number[] | null {
  return endpointId === null ? visible && [...visible] : [endpointId];
}

function walking(walk: Merge): (count: number) => readonly number[] {
  return (count) => walk.next(count);
}

/** What `above` gives, each time above the last that it gave before. */
function goingOn(
  from: number,
  above: (after: number, count: number) => readonly number[],
): (count: number) => readonly number[] {
  let reached = from;
  return (count) => {
    const keys = above(reached, count);
    reached = keys.at(-1) ?? reached;
    return keys;
  };
}

/** The key just before the first event that `since` admits. */
function firstKeyOf({ since }: ReplayFilter): number {
  return since === null ? 0 : Math.max(0, firstKeyAt(since) - 1);
}

/** Without the filter's times: those are the events' and are asked by `inWindow`. */
function deliveryFilterOf(scope: ReplayScope, filter: ReplayFilter, asOf: number): DeliveryFilter {
  const { status, endpointId, eventTypes, consumerId, statusCode = null } = filter;
  const narrowed = { status, endpointId, eventTypes, consumerId, statusCode, q: null };
  return { ...scope, ...narrowed, eventId: null, since: null, until: null, asOf };
}

function inWindow({ since, until }: ReplayFilter, eventId: number): boolean {
  return (since === null || eventId >= firstKeyAt(since)) && (until === null || eventId < firstKeyAt(until));
}

function isWantedType({ eventTypes }: ReplayFilter, type: string): boolean {
  return eventTypes === null || eventTypes.some((pattern) => matchesPattern(pattern, type));
}
