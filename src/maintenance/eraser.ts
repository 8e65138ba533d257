import { limit } from "../core/limits.ts";
import { OneByOne } from "../core/structures/one-by-one.ts";
import type { Actors } from "../delivery/actors.ts";
import { inTurns, type JobControl } from "../platform/job-control.ts";
import { removeRest } from "./retention.ts";
import type { Data } from "../store/data.ts";
import type { Endpoint } from "../core/model.ts";
import type { Consumer, Erasure, Owned } from "../store/cleanup/erasures.ts";
import { LABELS } from "../store/index/index.ts";
import { overwriting } from "../store/secure-delete.ts";
import type { DeletedSource } from "../store/resources/sources.ts";
import type { HeldDelivery } from "../store/cleanup/removal.ts";
import { lastWalked, NOT_WALKED, type Walked } from "../store/log/children.ts";

type EraserData = Pick<
  Data,
  | "store"
  | "ids"
  | "endpoints"
  | "sources"
  | "tenants"
  | "events"
  | "index"
  | "stats"
  | "keptAnswers"
  | "audit"
  | "removal"
  | "orphans"
  | "erasures"
>;

export interface EraserParts {
  data: EraserData;
  actors: Actors;
}

/** No project has such a key. */
const BEFORE_ALL = -1;

/** What was deleted, and is still to be remembered so. */
interface Closed {
  endpoints: (Endpoint | null)[];
  sources: (DeletedSource | null)[];
}

/**
 * Forgets events and consumers for good. A consumer is forgotten step by step, each step slice by slice, and
 * each slice finds by itself what is left: cut short at any moment, it goes on at the next start. SQLite
 * overwrites what is erased here.
 */
export class Eraser {
  #remembering: Promise<unknown> = Promise.resolve();
  /** Slices of an account that close what consumers have: however many it erases, a transaction has one. */
  readonly #closing = new OneByOne<number>();
  readonly #onWake: (() => void)[] = [];

  constructor(private readonly parts: EraserParts) {}

  /** Calls `listener` when there is something to erase. */
  onWake(listener: () => void): void {
    this.#onWake.push(listener);
  }

  /** Something of a project was asked for, or follows an event that is gone. */
  wake(projectId: number): void {
    this.parts.data.keptAnswers.forgetUnchanging(projectId);
    for (const listener of this.#onWake) listener();
  }

  /**
   * Begins to forget a consumer: `commit` writes its erasure, in the transaction of the answer. From that
   * answer on nothing that the consumer had does anything: its endpoints and sources are deleted, and then
   * the answers kept for its links, slice by slice before and the rest with the erasure; its links are
   * refused while that runs. Where one has begun already, this one comes behind it, as what has come since is
   * none of that one's.
   */
  async begin<T>(consumer: Consumer, commit: (write: () => Erasure) => Promise<T>): Promise<T> {
    const { erasures, keptAnswers, store } = this.parts.data;
    const before = { ...consumer, last: store.keys.last };
    const accountId = this.parts.data.tenants.accountIdOf(consumer.projectId);
    while (erasures.hasOpen(before)) await this.#closing.run(accountId, () => this.#closeSome(before));
    // A slice that is not full was the last: links that go on with their changes hold nobody up.
    for (let dropped = limit("sliceRows"); dropped >= limit("sliceRows"); )
      await this.#closing.run(accountId, async () => (dropped = await this.#dropSomeAnswers(consumer)));
    let rest: Closed[] = [];
    const answer = await commit(() => {
      rest = [];
      const erasure = erasures.begin(consumer);
      while (erasures.hasOpen(erasure)) rest.push(this.#closeSlice(erasure));
      while (keptAnswers.hasChangesOf(consumer)) this.#dropAnswers(consumer);
      return erasure;
    });
    await this.#rememberClosed(rest);
    this.wake(consumer.projectId);
    return answer;
  }

  /** A slice of what is open, in the project's line of writes. */
  async #closeSome(of: Owned): Promise<void> {
    const { store } = this.parts.data;
    await this.#rememberClosed([await store.writeFor(of.projectId, () => this.#closeSlice(of))]);
  }

  #dropSomeAnswers(consumer: Consumer): Promise<number> {
    return this.parts.data.store.writeFor(consumer.projectId, () => this.#dropAnswers(consumer));
  }

  /** Inside a write: a slice, and how many. They tell of what is closed by then; who comes next asks anew. */
  #dropAnswers(consumer: Consumer): number {
    const { keptAnswers, store } = this.parts.data;
    return overwriting(store.sqlite, () => keptAnswers.dropChangesOf(consumer));
  }

  /** Inside a write: their actors cancel what waits, once it is remembered. */
  #closeSlice(of: Owned): Closed {
    const { endpoints, erasures, sources } = this.parts.data;
    const first = erasures.openEndpoints(of);
    const next = first.length > 0 ? [] : erasures.openSources(of);
    return {
      endpoints: first.map((id) => endpoints.delete(id)),
      sources: next.map((id) => sources.delete(id)),
    };
  }

  /** Resolves once all that is closed is remembered so: of one consumer, erasures may close at once. */
  async #rememberClosed(slices: readonly Closed[]): Promise<void> {
    this.#remembering = Promise.all([this.#remembering, this.#rememberLater(slices)]);
    await this.#remembering;
  }

  /**
   * In a later turn: what the same transaction wrote of them before is remembered first. Nothing is written
   * of them afterwards.
   */
  async #rememberLater(slices: readonly Closed[]): Promise<void> {
    const { endpoints, sources, store } = this.parts.data;
    if (slices.length > 0) await new Promise<void>((resolve) => store.schedule(resolve));
    for (const closed of slices) {
      for (const endpoint of closed.endpoints) if (endpoint !== null) endpoints.announce(endpoint);
      for (const source of closed.sources) if (source !== null) sources.remember(source);
    }
  }

  /** Ends the open deliveries of an event, so that it can be removed; nothing of it is sent any more. */
  async close(projectId: number, eventId: number): Promise<void> {
    const { index, removal, store } = this.parts.data;
    // Else entries that are still in memory would be written of an event that is gone.
    await index.settle();
    for (let after: number | undefined = eventId; after !== undefined; ) {
      const from: number = after;
      const open: HeldDelivery[] = await store.writeFor(projectId, () => removal.close(eventId, from));
      this.forget(open);
      after = open.at(-1)?.id;
    }
  }

  /**
   * Inside a write, after `close`: the event is gone, with what a replay has opened again since. Answers the
   * deliveries that actors have to forget; null where it was gone already.
   */
  remove(eventId: number): HeldDelivery[] | null {
    const { events, removal } = this.parts.data;
    if (events.get(eventId) === null) return null;
    const held: HeldDelivery[] = [];
    for (let open = removal.close(eventId); open.length > 0; open = removal.close(eventId, open.at(-1)?.id))
      held.push(...open);
    removal.securely(() => removal.remove(eventId));
    return held;
  }

  /** After the fsync: actors hold these in memory. */
  forget(held: readonly HeldDelivery[]): void {
    for (const { endpointId, id } of held) this.parts.actors.forget(endpointId, id);
  }

  /**
   * Does all that was asked for, and what follows events that are gone. Accounts take turns, and in them
   * their projects, a slice each: one's erasures, however large, do not hold up another's. Answers how many
   * events are gone.
   */
  run(control: JobControl): Promise<number> {
    const { tenants } = this.parts.data;
    const begun = new Map<number, AsyncGenerator<number, void>>();
    let projects = new Map<number, number[]>();
    const accounts = () => {
      projects = Map.groupBy(this.#projects(), (id) => tenants.accountIdOf(id));
      return projects.keys();
    };
    const of = (accountId: number) => projects.get(accountId) ?? [];
    return inTurns({ accounts, of }, control, (projectId) => this.#takeSlice(projectId, begun));
  }

  /** Those of which something is to be removed. */
  *#projects(): Generator<number> {
    const { erasures, removal } = this.parts.data;
    for (let after = BEFORE_ALL; ; ) {
      const next = [erasures.nextRunning(after), removal.nextWithRest(after)].filter((id) => id !== null);
      if (next.length === 0) return;
      yield (after = Math.min(...next));
    }
  }

  /** Answers how many events a slice of a project removed; null where nothing is left to do. */
  async #takeSlice(projectId: number, begun: Map<number, AsyncGenerator<number, void>>) {
    const { data } = this.parts;
    const erasure = data.erasures.firstRunning(projectId);
    if (erasure === null) return (await removeRest(data, projectId)) ? 0 : null;
    const slices = begun.get(erasure.id) ?? this.#erase(erasure);
    begun.set(erasure.id, slices);
    const { done, value } = await slices.next();
    if (done !== true) return value;
    // As many may come while this runs as are done.
    begun.delete(erasure.id);
    return 0;
  }

  /** Slice by slice: how many events each has removed. */
  async *#erase(erasure: Erasure): AsyncGenerator<number, void> {
    const { keptAnswers, index } = this.parts.data;
    let events = 0;
    let walked = NOT_WALKED;
    const steps: (() => Promise<boolean>)[] = [
      () => this.#dropPortalLinks(erasure),
      async () => {
        const slice = await this.#eraseEvents(erasure, walked);
        if (slice === null) return false;
        ({ events, walked } = slice);
        return true;
      },
      () => this.#dropReplays(erasure),
      () => this.#dropEndpoints(erasure),
      () => this.#dropSources(erasure),
      () => this.#forgetChanges(erasure),
      () => removeRest(this.parts.data, erasure.projectId),
    ];
    for (const step of steps) {
      await index.settle();
      for (; await step(); events = 0) yield events;
    }
    await this.#complete(erasure);
    keptAnswers.forgetUnchanging(erasure.projectId);
  }

  #dropPortalLinks(erasure: Erasure): Promise<boolean> {
    const { audit, erasures, ids } = this.parts.data;
    return this.#dropSlice(
      () => erasures.portalLinks(erasure),
      (links) => {
        for (const id of links) {
          erasures.dropPortalLink(id);
          audit.blank(erasure.projectId, ids.encode("plk", id));
        }
      },
    );
  }

  /** False where there is nothing to drop, which needs no write: of most kinds a consumer has none. */
  async #dropSlice(keysOf: () => number[], drop: (keys: readonly number[]) => void): Promise<boolean> {
    if (keysOf().length === 0) return false;
    await this.#write(() => drop(keysOf()));
    return true;
  }

  /** How many events a slice removed, and how far it came; null when none were left. */
  async #eraseEvents(erasure: Erasure, before: Walked): Promise<{ events: number; walked: Walked } | null> {
    const { erasures, index } = this.parts.data;
    const list = index.labels.find(erasure.projectId, LABELS.consumer, erasure.consumerId);
    if (list === null) return null;
    const keys = index.above([list], 0, limit("sliceRows")).filter((key) => key <= erasure.last);
    if (keys.length === 0) return null;
    const { events, held, walked } = await this.#write(() => {
      const erased = this.#eraseSome(keys, list, before);
      erasures.advance(erasure.id, erased.events, erased.deliveries);
      return erased;
    });
    this.forget(held);
    return { events, walked };
  }

  /**
   * Inside a write: as many of these events as one transaction should hold; those with open deliveries are
   * closed first.
   */
  #eraseSome(keys: readonly number[], list: number, before: Walked) {
    const { index, removal } = this.parts.data;
    const erased = { events: 0, deliveries: 0, held: [] as HeldDelivery[], walked: before };
    let looked = 0;
    for (let cost = 0, at = 0; at < keys.length && cost < limit("sliceRows"); at++) {
      if (looked >= limit("deliveriesLookedAtMax")) break;
      const key = keys[at] ?? 0;
      looked += removal.widthOf(key);
      const open = removal.close(key, lastWalked(before, key));
      cost += 1 + open.length;
      erased.held.push(...open);
      const last = open.at(-1)?.id;
      if (last !== undefined) {
        erased.walked = { eventId: key, last };
        continue;
      }
      const removed = removal.remove(key);
      index.remove(list, key);
      cost += removed.cost;
      erased.events++;
      erased.deliveries += removed.deliveries;
    }
    return erased;
  }

  #dropReplays(erasure: Erasure): Promise<boolean> {
    const { audit, erasures, ids } = this.parts.data;
    return this.#dropSlice(
      () => erasures.replaysOf(erasure),
      (replays) => {
        for (const id of replays) {
          // Its filter may hold a text that was searched for.
          audit.blank(erasure.projectId, ids.encode("rpl", id));
          erasures.dropReplay(id);
        }
      },
    );
  }

  /**
   * With what they still got of events that stay: those came after the erasure was asked for, and before the
   * endpoints were closed.
   */
  async #dropEndpoints(erasure: Erasure): Promise<boolean> {
    const { index, erasures } = this.parts.data;
    await index.settle();
    let held: HeldDelivery[] = [];
    const isAny = await this.#dropSlice(
      () => erasures.deletedEndpoints(erasure),
      (keys) => {
        held = [];
        let rows = 0;
        for (const id of keys)
          if (rows < limit("sliceRows")) rows += this.#dropEndpoint(id, erasure.projectId, held);
      },
    );
    this.forget(held);
    return isAny;
  }

  /**
   * Inside a write: as much of an endpoint as a slice holds; it goes once nothing of it is left, or about to
   * be written.
   */
  #dropEndpoint(id: number, projectId: number, held: HeldDelivery[]): number {
    const { audit, index, ids, orphans, removal, stats } = this.parts.data;
    const keys = index.above([id], 0, limit("sliceRows"));
    const removed = removal.removeDeliveries(keys, limit("sliceRows"));
    held.push(...removed.held);
    let rows = removed.cost;
    if (rows >= limit("sliceRows")) return rows;
    // Also those that were gone before.
    for (const key of keys) index.remove(id, key);
    rows += stats.takeAway(id, projectId) + keys.length;
    if (rows >= limit("sliceRows") || index.holds(id) || index.counts(id)) return rows;
    rows += audit.blank(projectId, ids.encode("ep", id));
    if (rows >= limit("sliceRows")) return rows;
    orphans.dropEndpoint(id);
    return rows + 1;
  }

  #dropSources(erasure: Erasure): Promise<boolean> {
    const { audit, index, erasures, ids, orphans } = this.parts.data;
    return this.#dropSlice(
      () => erasures.deletedSources(erasure),
      (keys) => {
        let rows = 0;
        for (const id of keys) {
          rows += orphans.dropDedup(id) + index.clear(id, limit("sliceRows"));
          rows += orphans.dropSourceStats(id, Number.MAX_SAFE_INTEGER);
          if (rows >= limit("sliceRows")) return;
          rows += audit.blank(erasure.projectId, ids.encode("src", id));
          if (rows >= limit("sliceRows")) return;
          orphans.dropSource(id);
          rows++;
        }
      },
    );
  }

  /** What a slice of the audit log shows of the consumer; that something was changed stays. */
  #forgetChanges(erasure: Erasure): Promise<boolean> {
    return this.#write(() => this.parts.data.audit.blankOf(erasure) >= limit("sliceRows"));
  }

  #complete({ id, projectId, consumerId }: Erasure): Promise<void> {
    const { erasures, index } = this.parts.data;
    return this.#write(() => {
      const label = index.labels.find(projectId, LABELS.consumer, consumerId);
      // Events that came since are the consumer's new story.
      if (label !== null && index.isEmpty(label))
        index.labels.drop({ id: label, projectId, kind: LABELS.consumer, name: consumerId });
      erasures.complete(id);
    });
  }

  #write<T>(run: () => T): Promise<T> {
    const { removal, store } = this.parts.data;
    return store.write(() => removal.securely(run));
  }
}
