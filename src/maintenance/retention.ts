import { firstKeyAt } from "../core/ids.ts";
import { limit } from "../core/limits.ts";
import type { Endpoint, Project } from "../core/model.ts";
import type { Plan } from "../core/plans.ts";
import type { Actors } from "../delivery/actors.ts";
import { inTurns, type JobControl } from "../platform/job-control.ts";
import type { EventAge } from "../store/cleanup/ages.ts";
import type { Data } from "../store/data.ts";
import type { Walked } from "../store/cleanup/orphans.ts";
import type { HeldDelivery, OpenDelivery } from "../store/cleanup/removal.ts";
import type { KeptPart } from "../store/cleanup/body-retention.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Events that one turn looks at: with deliveries and attempts, as many as a transaction should remove. */
const EVENTS_A_TURN = 100;

const PARTS: readonly KeptPart[] = ["bodies", "attempts"];

export interface RetentionParts {
  data: Pick<
    Data,
    | "store"
    | "tenants"
    | "endpoints"
    | "deliveries"
    | "notes"
    | "index"
    | "meter"
    | "ages"
    | "removal"
    | "bodyRetention"
    | "orphans"
  >;
  actors: Actors;
  /** True where what was never fetched expires with its event: nothing is ever sent to the endpoint. */
  expires: (endpoint: Endpoint) => boolean;
}

/** How far a walk came. */
interface Progress {
  /** The last event that is done with. */
  reached: number;
  /** The event that is under way, and its last delivery that is done; it is not asked again meanwhile. */
  event: number;
  delivery: number;
}

const NO_PROGRESS: Progress = { reached: 0, event: 0, delivery: 0 };

/** How far a pass came in each project. */
class Positions {
  readonly #reached = new Map<number, number>();
  /** Of few: those of which an event is under way. */
  readonly #underWay = new Map<number, Progress>();

  of(projectId: number): Progress {
    const reached = this.#reached.get(projectId) ?? 0;
    return this.#underWay.get(projectId) ?? { ...NO_PROGRESS, reached };
  }

  set(projectId: number, { reached, event, delivery }: Progress): void {
    this.#reached.set(projectId, reached);
    if (event === NO_PROGRESS.event) this.#underWay.delete(projectId);
    else this.#underWay.set(projectId, { reached, event, delivery });
  }

  clear(): void {
    this.#reached.clear();
    this.#underWay.clear();
  }
}

/** What became of a slice. */
interface Cleared extends Progress {
  removed: number;
  expired: HeldDelivery[];
}

/**
 * Removes events that are older than their account's plan keeps them, with all that hangs on them; never one
 * that still has an open delivery, or had one within the last day, so that whoever waited for its end can
 * read how it came.
 *
 * A pass walks each project's events from the oldest on, in slices, for which accounts take turns, and in
 * them their projects. Each run goes on where the last one ended. Events that have to stay are looked at
 * again in the next pass: an hour later, or a day later where only bodies or attempts are to leave. How far a
 * pass came is kept in memory alone: a restart begins anew.
 */
export class Retention {
  /** True once retention has gone through all projects since the start. */
  #isThrough = false;
  readonly #reached = new Positions();
  #passBegan = Number.NEGATIVE_INFINITY;
  readonly #thinned = { bodies: new Positions(), attempts: new Positions() };
  #thinningBegan = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: RetentionParts) {}

  /** Answers how many events were removed. */
  async run(control: JobControl): Promise<number> {
    this.#beginPass();
    const { tenants } = this.parts.data;
    const owners = {
      accounts: () => tenants.accounts().map(({ id }) => id),
      of: (accountId: number) => tenants.projectsOf(accountId).below(),
    };
    const removed = await inTurns(owners, control, (project) => this.#takeSlice(project));
    this.#isThrough ||= !control.isStopping();
    return removed;
  }

  /**
   * Removes rows that nothing leads to any more. Answers how many there were. Heads wait for retention, which
   * takes most of what is old: an attempt that stays takes its heads into its row.
   */
  async sweep(control: JobControl): Promise<number> {
    const { orphans, tenants } = this.parts.data;
    const keptSince = (projectId: number) => this.#keptSince(tenants.project(projectId));
    // By the rows of its endpoints it is known where a poller belongs whose account has moved from here.
    const rowsKeptSince = (projectId: number) => (tenants.isPassedOn(projectId) ? 0 : keptSince(projectId));
    const walks: ((after: number) => Walked)[] = [
      ...(this.#isThrough ? [(after: number) => orphans.heads(after, this.#keptByAny())] : []),
      () => orphans.erasures(),
      (after) => orphans.replays(after, keptSince),
      (after) => orphans.projects(after, keptSince),
      (after) => orphans.endpoints(after, rowsKeptSince),
      (after) => orphans.sources(after, keptSince),
      (after) => orphans.names(after),
    ];
    let rows = 0;
    for (const walk of walks) rows += await this.#walk(walk, control);
    return rows;
  }

  #beginPass(): void {
    const now = this.parts.data.store.now();
    // A clock that was set back after a jump would never come to the next pass.
    if (Math.abs(now - this.#thinningBegan) >= DAY_MS) {
      this.#thinningBegan = now;
      for (const part of PARTS) this.#thinned[part].clear();
    }
    if (Math.abs(now - this.#passBegan) < HOUR_MS) return;
    this.#passBegan = now;
    this.#reached.clear();
  }

  async #walk(walk: (after: number) => Walked, control: JobControl): Promise<number> {
    let rows = 0;
    for (let after: number | null = 0; after !== null && !control.isStopping(); ) {
      const from: number = after;
      const walked = await this.parts.data.store.write(() => walk(from));
      rows += walked.rows;
      after = walked.next;
      await control.rest();
    }
    return rows;
  }

  #planOf(project: Project | undefined): Plan | undefined {
    const { meter, tenants } = this.parts.data;
    const account = project && tenants.account(project.accountId);
    return account && meter.planOf(account);
  }

  /**
   * Since when events of a project are kept; 0, for ever, where the project is unknown. Nothing is kept where
   * its account lives in another cell.
   */
  #keptSince(project: Project | undefined): number {
    const plan = this.#planOf(project);
    const hasLeft = project !== undefined && this.parts.data.tenants.hasArrivedElsewhere(project.id);
    const days = hasLeft ? 0 : plan?.retentionDays;
    return days === undefined ? 0 : this.parts.data.store.now() - days * DAY_MS;
  }

  /** Keys below are of what no plan keeps: once retention is through, only what was open has stayed. */
  #keptByAny(): number {
    const { meter, store } = this.parts.data;
    const kept = meter.longestRetentionDays * DAY_MS + limit("retentionGraceMs");
    return firstKeyAt(store.now() - kept);
  }

  /**
   * Answers how many events a slice of a project removed; null where nothing is left to look at. A project
   * that has nothing costs four looks at most, of one packed row each.
   */
  async #takeSlice(project: Project): Promise<number | null> {
    const removed = await this.#clear(project);
    if (removed !== null) return removed;
    for (const part of PARTS) if (await this.#thin(project, part)) return 0;
    return (await removeRest(this.parts.data, project.id)) ? 0 : null;
  }

  async #clear(project: Project): Promise<number | null> {
    const before = firstKeyAt(this.#keptSince(project));
    const from = this.#reached.of(project.id);
    const keys = this.parts.data.ages.oldest(project.id, from.reached, before, EVENTS_A_TURN);
    if (keys.length === 0) return null;
    const cleared = await this.#clearSlice(project.id, keys, from);
    this.#reached.set(project.id, cleared);
    for (const { endpointId, id } of cleared.expired) this.parts.actors.forget(endpointId, id);
    return cleared.removed;
  }

  /** Removes what is due of a slice. A slice of which nothing is due costs no write. */
  async #clearSlice(projectId: number, keys: readonly number[], from: Progress): Promise<Cleared> {
    const { due, last } = this.#look(keys, from, (key, age) =>
      age.open > 0 ? this.#unfetched(key, key, 1).length > 0 : this.#isOver(age),
    );
    if (due.length === 0) return { ...NO_PROGRESS, reached: last, removed: 0, expired: [] };
    const cleared = await this.parts.data.store.write(() => this.#remove(projectId, due, from));
    return cleared.reached === due.at(-1) ? { ...cleared, reached: last } : cleared;
  }

  /**
   * The events that are due of the first of these, as many as a turn asks, and the last that was asked. One
   * that is under way is due, and alone: with it the write has enough to do.
   */
  #look(keys: readonly number[], { event }: Progress, isDue: (key: number, age: EventAge) => boolean) {
    const looked = { due: [] as number[], last: 0 };
    for (let asked = 0, at = 0; at < keys.length && asked < limit("deliveriesLookedAtMax"); at++) {
      const key = keys[at] ?? 0;
      looked.last = key;
      if (key === event) return { ...looked, due: [key] };
      const age = this.parts.data.ages.of(key);
      asked += age.deliveries;
      if (isDue(key, age)) looked.due.push(key);
    }
    return looked;
  }

  /** Inside a write: as many of these events as one transaction should hold; each is looked at once more. */
  #remove(projectId: number, keys: readonly number[], from: Progress): Cleared {
    const { ages, index, removal } = this.parts.data;
    const cleared: Cleared = { ...NO_PROGRESS, removed: 0, expired: [] };
    for (let cost = 0, at = 0; at < keys.length && cost < limit("sliceRows"); at++) {
      const key = keys[at] ?? 0;
      const age = key === from.event ? null : ages.of(key);
      cost++;
      if (age === null || age.open > 0) {
        const expired = this.#expire(key, age === null ? from.delivery : key);
        cost += expired.length;
        cleared.expired.push(...expired);
        const { id: delivery } = expired[limit("sliceRows") - 1] ?? {};
        // The event may have more such deliveries: the next slice begins with it.
        if (delivery !== undefined) return { ...cleared, reached: key - 1, event: key, delivery };
      } else if (this.#isOver(age)) {
        cost += removal.remove(key).cost;
        // An entry whose event was gone already goes too.
        index.remove(projectId, key);
        cleared.removed++;
      }
      cleared.reached = key;
    }
    return cleared;
  }

  /** Nothing of the event is open, or has ended within a day. */
  #isOver({ open, endedAt }: EventAge): boolean {
    return open === 0 && (endedAt === null || endedAt <= this.#endedBy());
  }

  #endedBy(): number {
    return this.parts.data.store.now() - limit("retentionGraceMs");
  }

  /**
   * Open deliveries behind `after` that were never fetched, up to `count`, wherever they stand among those
   * that are sent, although they could be for as long as the plan keeps events. What was handed out is given
   * again until its cursor comes back, however old it is.
   */
  #unfetched(eventId: number, after: number, count: number): HeldDelivery[] {
    const { removal } = this.parts.data;
    const found: HeldDelivery[] = [];
    let open = removal.openOf(eventId, after);
    while (open.length > 0 && found.length < count) {
      found.push(...open.filter((delivery) => this.#hasExpired(delivery)));
      open = removal.openOf(eventId, open.at(-1)?.id ?? eventId);
    }
    return found.slice(0, count);
  }

  /** Nobody can fetch what waits for the plan, of a paused endpoint, or of a suspended account. */
  #hasExpired({ attemptCount, due, endpointId }: OpenDelivery): boolean {
    const { actors, data, expires } = this.parts;
    const endpoint = data.endpoints.get(endpointId);
    if (attemptCount > 0 || due === null || endpoint?.status !== "active" || !expires(endpoint)) return false;
    const plan = this.#planOf(data.tenants.project(endpoint.projectId));
    if (plan === undefined || data.tenants.isSuspended(endpoint.projectId)) return false;
    return actors.countsFrom(endpoint, due) <= actors.clock.now() - plan.retentionDays * DAY_MS;
  }

  /**
   * Takes a slice of bodies or attempts of events that stay, where the plan keeps them for a shorter time.
   * Events that must not lose theirs yet are looked at again a day later. False where nothing is left.
   */
  async #thin(project: Project, part: KeptPart): Promise<boolean> {
    const { ages, store } = this.parts.data;
    const plan = this.#planOf(project);
    const days = part === "bodies" ? plan?.bodyRetentionDays : plan?.attemptRetentionDays;
    if (plan === undefined || days === undefined || days >= plan.retentionDays) return false;
    const before = firstKeyAt(store.now() - days * DAY_MS);
    const from = this.#thinned[part].of(project.id);
    const keys = ages.oldest(project.id, from.reached, before, EVENTS_A_TURN);
    if (keys.length === 0) return false;
    const { due, last } = this.#look(keys, from, (key, age) => this.#mayThin(part, key, age));
    const thinned = due.length === 0 ? from : await store.write(() => this.#thinSlice(part, due, from));
    const isWhole = due.length === 0 || thinned.reached === due.at(-1);
    this.#thinned[part].set(project.id, isWhole ? { ...thinned, reached: last } : thinned);
    return true;
  }

  /** Inside a write: as many of these events as one transaction should hold. */
  #thinSlice(part: KeptPart, keys: readonly number[], from: Progress): Progress {
    const { ages, bodyRetention } = this.parts.data;
    const room = limit("sliceRows");
    let { reached } = from;
    for (let cost = 0, at = 0; at < keys.length && cost < room; at++) {
      const key = keys[at] ?? 0;
      cost++;
      const isUnderWay = key === from.event;
      if (isUnderWay || this.#mayThin(part, key, ages.of(key))) {
        const after = isUnderWay ? from.delivery : key;
        const thinned = bodyRetention.drop(part, key, { after, endedBy: this.#endedBy(), room: room - cost });
        cost += thinned.cost;
        if (thinned.next !== null) return { reached, event: key, delivery: thinned.next };
        // A replay may have opened a delivery again that was passed, or that was left out.
        const isWhole = !isUnderWay || this.#mayThin(part, key, ages.of(key));
        if (part === "bodies" && isWhole) cost += bodyRetention.clear(key);
      }
      reached = key;
    }
    return { ...NO_PROGRESS, reached };
  }

  /** Whether an event has the part and may lose it. */
  #mayThin(part: KeptPart, eventId: number, age: EventAge): boolean {
    return this.#isOver(age) && this.parts.data.bodyRetention.has(part, eventId);
  }

  /** Inside a write: cancels a slice of what was never fetched, and notes why; the event goes a day later. */
  #expire(eventId: number, after: number): HeldDelivery[] {
    const { deliveries, notes } = this.parts.data;
    const unfetched = this.#unfetched(eventId, after, limit("sliceRows"));
    for (const { id } of unfetched) {
      deliveries.cancel(id);
      notes.add(eventId, id, "expired");
    }
    return unfetched;
  }
}

/**
 * Removes a slice of what hangs on events of the project that have left the log; false where nothing does.
 */
export async function removeRest(
  { removal, store }: Pick<Data, "store" | "removal">,
  projectId: number,
): Promise<boolean> {
  if (!removal.hasRest(projectId)) return false;
  await store.write(() => removal.securely(() => removal.removeRest(projectId)));
  return true;
}
