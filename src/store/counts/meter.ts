import { type Place, placeOf } from "../../core/delivery.ts";
import type { Account, Delivery } from "../../core/model.ts";
import { findPlan, type Month, monthAt, overageOf, type Plan, type Plans } from "../../core/plans.ts";
import type { BatchPart, Store } from "../store.ts";
import type { Tenants } from "../resources/tenants.ts";
import type { Usage } from "./usage.ts";

/** Where an account stands in a month. */
export interface Standing {
  month: Month;
  /** Metered so far. */
  deliveries: number;
  /** Included in the plan; null: no limit. */
  limit: number | null;
  /**
   * What may still be accepted: of the limit, without what has been accepted and waits for its first attempt.
   * Null: no limit, or another month.
   */
  remaining: number | null;
  /** Above what the plan includes, to be billed. */
  overage: number;
}

/** What counts against an account's plan. */
interface Counts {
  /** Metered this month: `usage` has it by day. */
  used: number;
  /** Accepted deliveries that have a place and no attempt yet. */
  taken: number;
  /** Deliveries that wait for a place. */
  awaited: number;
  /** Events with such deliveries. */
  events: number;
  /** Places of attempts that are under way and whose rows have none. In memory only. */
  lent: number;
}

interface AccountCounts extends Counts {
  accountId: number;
  /** The month of `used`. */
  month: Month;
  /** What the transaction that is open has added. */
  open: Counts;
  isTouched: boolean;
}

const NOTHING: Counts = { used: 0, taken: 0, awaited: 0, events: 0, lent: 0 };
const NEVER: Month = { start: 0, end: 0 };

/**
 * What each account may still deliver, in memory, so that asking costs a look-up, and on disk, in the very
 * transactions that write what it counts: deliveries, fan-outs, replays, first attempts.
 */
export class Meter implements BatchPart {
  readonly #counts = new Map<number, AccountCounts>();
  #touched: AccountCounts[] = [];
  /** Deliveries whose first attempt is under way, and how to give back what was lent to it. */
  readonly #first = new Map<number, (() => void) | null>();
  /** Of the running transaction: deliveries of `#first` that are to be lent a place, and by which account. */
  readonly #lending = new Map<number, AccountCounts>();
  /** Of the running transaction: deliveries outside `#first` whose place went, with the generation before. */
  #leaving = new Map<number, number>();
  /** `#leaving` of transactions that actors do not know of yet: they may begin an attempt all the same. */
  #left = new Map<number, number>();
  /** True while what `#left` holds is on disk and known to the actors. */
  #isLeftKnown = true;
  readonly #add;

  constructor(
    private readonly store: Store,
    private readonly tenants: Tenants,
    private readonly usage: Usage,
    private readonly plans: Plans,
  ) {
    this.#add = store.sqlite.prepare<void, [number, number, number, number]>(
      `INSERT INTO plan_place (account_id, taken, awaited, events) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         taken = taken + excluded.taken, awaited = awaited + excluded.awaited, events = events + excluded.events`,
    );
    const rows = store.sqlite.query<Omit<Counts, "used" | "lent"> & { accountId: number }, []>(
      "SELECT account_id AS accountId, taken, awaited, events FROM plan_place",
    );
    for (const { accountId, ...counts } of rows.all()) Object.assign(this.#open(accountId), counts);
    store.addBatchPart(this);
  }

  hasPlan(name: string): boolean {
    return findPlan(this.plans, name) !== undefined;
  }

  get planNames(): string[] {
    return Object.keys(this.plans);
  }

  /** For how many days the plan that keeps events longest does so. */
  get longestRetentionDays(): number {
    return Math.max(...Object.values(this.plans).map(({ retentionDays }) => retentionDays));
  }

  /**
   * Plans that do not exist, and how many accounts are on each: before anything else is asked, there must
   * be none.
   */
  get missingPlans(): ReadonlyMap<string, number> {
    const lost = [...this.tenants.accounts()].filter(
      ({ plan, movedTo }) => movedTo === null && !this.hasPlan(plan),
    );
    const byPlan = Map.groupBy(lost, ({ plan }) => plan);
    return new Map([...byPlan].map(([plan, accounts]) => [plan, accounts.length]));
  }

  planOf(account: Account): Plan {
    // Of an account that has moved, the plans of its cell decide.
    const name = account.movedTo === null || this.hasPlan(account.plan) ? account.plan : "unlimited";
    const plan = findPlan(this.plans, name);
    if (plan === undefined) throw new Error("an account is on a plan that does not exist");
    return plan;
  }

  /** Where the account stands in this month, or in another one. */
  standing(account: Account, month: Month = monthAt(this.store.now())): Standing {
    const plan = this.planOf(account);
    const { deliveries: limit } = plan;
    const counts = this.#countsOf(account.id);
    const isThisMonth = month.start === counts.month.start;
    const deliveries = isThisMonth ? counts.used : this.usage.total(account.id, month.start, month.end);
    const remaining = isThisMonth && limit !== null ? Math.max(0, leftOf(counts, limit)) : null;
    return { month, deliveries, limit, remaining, overage: overageOf(plan, deliveries) };
  }

  /**
   * How many deliveries of a project may still be accepted; null where nothing stops them, as in a
   * test project.
   */
  remaining(projectId: number): number | null {
    const account = this.#payer(projectId);
    if (account === undefined) return null;
    const limit = this.#blockingLimit(account);
    return limit === null ? null : Math.max(0, leftOf(this.#countsOf(account.id), limit));
  }

  /**
   * Since when there has been room for deliveries of a project that there was none for, as the month before
   * was used up; 0 where it was not.
   */
  roomSince(projectId: number): number {
    const account = this.#payer(projectId);
    const limit = account === undefined ? null : this.#blockingLimit(account);
    if (account === undefined || limit === null) return 0;
    const { start } = monthAt(this.store.now());
    return this.usage.total(account.id, monthAt(start - 1).start, start) >= limit ? start : 0;
  }

  /** How many deliveries that wait for a place may go. */
  placesFree(account: Account): number {
    const limit = this.#blockingLimit(account);
    if (limit === null) return Number.POSITIVE_INFINITY;
    const counts = this.#countsOf(account.id);
    return Math.max(0, leftOf(counts, limit) + counts.awaited + counts.open.awaited);
  }

  /** How many events of the account that a project's deliveries are metered to wait for its plan. */
  waitingEvents(projectId: number): number {
    const account = this.#payer(projectId);
    return account === undefined ? 0 : this.waitingEventsOf(account.id);
  }

  /** The same of an account, with those of the transaction that is open. */
  waitingEventsOf(accountId: number): number {
    const counts = this.#countsOf(accountId);
    return counts.events + counts.open.events;
  }

  /** The same over all accounts, for the metrics: they are read while no transaction is open. */
  get allWaitingEvents(): number {
    return this.#counts.values().reduce((sum, { events }) => sum + events, 0);
  }

  /** Inside a write: a delivery was tried for the first time, at this instant. */
  count(projectId: number, at: number): void {
    const account = this.#payer(projectId);
    if (!account) return;
    this.usage.add(account.id, projectId, at);
    const counts = this.#countsOf(account.id);
    if (at < counts.month.start || at >= counts.month.end) return;
    this.#touch(counts).used++;
  }

  /** Inside a write: a delivery came to have, or to want, another place than before. */
  move(projectId: number, from: Place | null, to: Place | null): void {
    if (from === to) return;
    if (from !== null) this.reserve(projectId, from, -1);
    if (to !== null) this.reserve(projectId, to, 1);
  }

  /** Inside a write: places for deliveries that are still to be written. */
  reserve(projectId: number, place: Place, by: number): void {
    const account = by !== 0 && this.#payer(projectId);
    if (account) this.#touch(this.#countsOf(account.id))[place] += by;
  }

  /** Inside a write: events came to wait, or wait no longer. */
  countWaiting(accountId: number, by: number): void {
    this.#touch(this.#countsOf(accountId)).events += by;
  }

  /** A place for an attempt that is made by hand and about to begin; answers how to give it back. */
  lend(projectId: number): () => void {
    const account = this.#payer(projectId);
    if (account === undefined) return () => {};
    return lend(this.#countsOf(account.id));
  }

  /** The first attempt of a delivery begins: it is metered whatever becomes of the delivery meanwhile. */
  beginFirst(delivery: Delivery): void {
    const { id, projectId, generation } = delivery;
    if (placeOf(delivery) === "taken" && this.remaining(projectId) !== null)
      this.#first.set(id, this.#left.get(id) === generation ? this.lend(projectId) : null);
  }

  /** The first attempt of a delivery is recorded, or was given up. */
  endFirst(id: number): void {
    this.#first.get(id)?.();
    this.#first.delete(id);
  }

  /**
   * Inside a write: a delivery is ended, or opened anew, and its place goes with that. A first attempt that
   * is under way still needs one.
   */
  leaveToFirst(before: Delivery): void {
    const { id, projectId, generation } = before;
    // The actor has it as it is on disk.
    if (placeOf(before) === "taken" && !this.#first.has(id) && !this.#leaving.has(id))
      this.#leaving.set(id, generation);
    const account = this.#first.get(id) === null && this.#payer(projectId);
    if (!account || this.#lending.has(id)) return;
    const counts = this.#countsOf(account.id);
    this.#touch(counts).lent++;
    this.#lending.set(id, counts);
  }

  flush(): void {
    for (const { accountId, open } of this.#touched) {
      const { taken, awaited, events } = open;
      if (taken !== 0 || awaited !== 0 || events !== 0) this.#add.run(accountId, taken, awaited, events);
    }
  }

  done(): void {
    this.#keepLeft();
    if (this.#touched.length === 0) return;
    for (const [id, counts] of this.#lending) this.#first.set(id, lend(counts));
    for (const counts of this.#touched) {
      const { open } = counts;
      counts.used += open.used;
      counts.taken += open.taken;
      counts.awaited += open.awaited;
      counts.events += open.events;
    }
    this.reset();
  }

  /** A batch may be several transactions, each with one write, and one sync. */
  #keepLeft(): void {
    if (this.#leaving.size === 0) return;
    if (this.#isLeftKnown) {
      this.#left.clear();
      this.#isLeftKnown = false;
      void this.store.untilCommitted().then(() => (this.#isLeftKnown = true));
    }
    for (const [id, generation] of this.#leaving) this.#left.set(id, this.#left.get(id) ?? generation);
    this.#leaving.clear();
  }

  reset(): void {
    for (const counts of this.#touched) {
      Object.assign(counts.open, NOTHING);
      counts.isTouched = false;
    }
    if (this.#touched.length > 0) this.#touched = [];
    this.#lending.clear();
    this.#leaving.clear();
  }

  /** The account that a project's deliveries are metered to; undefined for a test project. */
  #payer(projectId: number): Account | undefined {
    const project = this.tenants.project(projectId);
    return project?.mode === "live" ? this.tenants.account(project.accountId) : undefined;
  }

  #blockingLimit(account: Account): number | null {
    const { blocks, deliveries } = this.planOf(account);
    return blocks ? deliveries : null;
  }

  /** Of this month: at its turn, and where the clock is set back over it, `used` is read anew. */
  #countsOf(accountId: number): AccountCounts {
    const counts = this.#counts.get(accountId) ?? this.#open(accountId);
    const now = this.store.now();
    if (now >= counts.month.end || now < counts.month.start) {
      counts.month = monthAt(now);
      counts.used = this.usage.total(accountId, counts.month.start, counts.month.end);
      counts.open.used = 0;
    }
    return counts;
  }

  #open(accountId: number): AccountCounts {
    const counts = { ...NOTHING, accountId, month: NEVER, open: { ...NOTHING }, isTouched: false };
    this.#counts.set(accountId, counts);
    return counts;
  }

  #touch(counts: AccountCounts): Counts {
    if (!counts.isTouched) this.#touched.push(counts);
    counts.isTouched = true;
    return counts.open;
  }
}

/** What is left of a limit, below zero where it was overshot. */
function leftOf({ used, taken, awaited, lent, open }: AccountCounts, limit: number): number {
  return limit - used - taken - awaited - lent - open.used - open.taken - open.awaited - open.lent;
}

/** One place, for an attempt that is under way; answers how to give it back. */
function lend(counts: AccountCounts): () => void {
  counts.lent++;
  return () => void counts.lent--;
}
