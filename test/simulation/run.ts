import type { Database } from "bun:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { atOnce } from "../../src/core/structures/turn-queue.ts";
import { Problem } from "../../src/core/errors.ts";
import { openMemory } from "../kit/memory.ts";
import { AttemptWatch } from "./attempt-watch.ts";
import { Changes } from "./changes.ts";
import { ClockJumps } from "./clock-jumps.ts";
import type { Consumer } from "../../src/store/cleanup/erasures.ts";
import { DownTimes } from "./down-times.ts";
import { Erasures } from "./erasures.ts";
import { newOutside } from "./outside.ts";
import { KeptRows } from "./kept-rows.ts";
import { Liveness } from "./liveness.ts";
import { check, tallyAgrees } from "./invariants.ts";
import { bootProcess, type Process, recoverProcess } from "./process.ts";
import { PlanWatch } from "./plan-watch.ts";
import { Pollers } from "./pollers.ts";
import { Publishing } from "./publishing.ts";
import { Names } from "./names.ts";
import { CONSUMERS, CROWDED_FROM, SEEDS_WITH_USUAL_BOUNDS, setBounds } from "./scenario.ts";
import { HoldingWatch } from "./holding-watch.ts";
import { readOpenRows } from "./open-rows.ts";
import { OrderWatch } from "./order-watch.ts";
import { Replays } from "./replays.ts";
import { FAULT_NAMES, type Faults, Receivers } from "./receivers.ts";
import { RetryWatch } from "./retry-watch.ts";
import { RowWatch } from "./row-watch.ts";
import type { Tally } from "./tally.ts";
import { Trials } from "./trials.ts";
import { Rng, World } from "./world.ts";

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
const STARTS_AT = Date.UTC(2026, 10, 21);
const STEPS_MAX = 60_000;
const QUIET_TURNS = 100;
const PROJECTS = 2;
/** So many in a row. */
const SLOW_TURNS = 40;
/** Of so many seeds one has a process that dies while it writes down what was gathered. */
const CUT_OFF_EACH = 10;

/** One run of the service under chance, from a seed. */
export class Simulation {
  readonly rng: Rng;
  readonly world = new World(STARTS_AT);
  readonly sqlite: Database = openMemory();
  readonly faults: Faults;
  readonly receivers: Receivers;
  readonly outside = newOutside();
  readonly violations: string[] = [];
  process: Process;
  /** All of one account. */
  projects: number[] = [];
  accountId = 0;
  isUp = true;
  /** Attempts in flight over all endpoints, at most. */
  readonly attemptsMax: number;
  endpoints: number[] = [];
  /** Where each endpoint is reached, also once it is gone. */
  readonly paths = new Map<number, string[]>();
  readonly openRows = new KeptRows(this.sqlite, () => readOpenRows(this.sqlite));
  readonly watch = new AttemptWatch(this);
  readonly order = new OrderWatch(this);
  readonly liveness = new Liveness(this);
  readonly plan = new PlanWatch(this);
  readonly holding = new HoldingWatch(this);
  readonly erasures = new Erasures(this);
  readonly replays = new Replays(this);
  readonly retries = new RetryWatch(this);
  readonly trials = new Trials(this);
  readonly clockJumps = new ClockJumps(this);
  readonly #downTimes: DownTimes;
  readonly pollers = new Pollers(this);
  readonly #rows = new RowWatch(this);
  readonly publishing = new Publishing(this);
  readonly #changes = new Changes(this);
  readonly #names = new Names(this, this.#changes);
  readonly isCrowded: boolean;
  /** Of endpoints. */
  readonly polledShare: number;
  steps = 0;
  /** So many turns of the loop are slow from now on. */
  #slowTurns = 0;
  #isStalled = false;
  /** When the process dies that writes lists and numbers down; null: no sooner than any other. */
  #cutOff: Rng | null = null;

  /** `crashAt`: the one step after which the process dies; without it, chance decides when and how often. */
  constructor(
    seed: number,
    readonly tally: Tally,
    readonly crashAt: number | null = null,
  ) {
    this.rng = new Rng(seed);
    if (seed % CUT_OFF_EACH === 0 && crashAt === null) this.#cutOff = new Rng(seed);
    this.isCrowded = seed >= CROWDED_FROM;
    this.polledShare = this.isCrowded ? 0.5 : 0.2;
    this.attemptsMax = setBounds(SEEDS_WITH_USUAL_BOUNDS.has(seed) ? null : this.rng, this.isCrowded);
    this.faults = Object.fromEntries(
      FAULT_NAMES.map((name) => [name, this.rng.chance(0.5)]),
    ) as unknown as Faults;
    if (this.isCrowded) this.faults.erasures = true;
    if (crashAt !== null) this.faults.crashes = false;
    this.receivers = new Receivers(this.world, this.rng, this.faults, tally);
    this.process = this.#boot();
    this.#downTimes = new DownTimes(this, seed);
    this.order.begin();
    this.retries.begin();
  }

  /** A number that two runs of one seed share. */
  get hash(): number {
    return this.watch.hash;
  }

  async run(): Promise<string[]> {
    await this.#setUp();
    this.#planActions();
    await this.#runUntil(this.world.monotonic + 6 * HOUR_MS);
    await this.#calmDown();
    await this.#runUntil(Number.POSITIVE_INFINITY);
    await this.#await(this.process.data.index.writeDown());
    await this.#await(this.pollers.readAll());
    check(this);
    this.#rows.check();
    return [...this.violations, ...this.receivers.violations];
  }

  violate(text: string): void {
    this.violations.push(text);
  }

  /** Nothing but a full disk may refuse a write, or a plan that is used up, and then many events wait. */
  readonly refused = (error: unknown): void => {
    if (error instanceof Problem && error.code === "rate_limited") this.tally.planQueueFull++;
    else if (!(error instanceof Problem && ["unavailable", "plan_limit_reached"].includes(error.code)))
      this.violate(`a write failed: ${String(error)}`);
  };

  #boot(): Process {
    const { world, rng, sqlite, receivers: transport } = this;
    return bootProcess({
      world,
      rng,
      sqlite,
      transport,
      attemptsMax: this.attemptsMax,
      outlet: {
        met: (bound) => void this.tally[bound]++,
        violate: (text) => this.violate(text),
        byHand: (id) => {
          const { touched, byHand } = this.outside;
          touched.add(id);
          return !byHand.has(id) && byHand.add(id).has(id);
        },
        notByHand: (id) => this.watch.notByHand(id),
        triedByHand: (id, trigger, refusal) => {
          if (trigger === "manual" && refusal === null) this.retries.onRetry(id);
          if (trigger === "test" && refusal === "full") this.watch.requireFull(id);
        },
        dispatched: (committed) => this.order.onDispatched(committed),
      },
      turnMs: () => this.#turnMs(),
      syncMs: () => this.#syncMs(),
      onStart: (endpoint, load) => this.watch.onStart(endpoint, load),
      onEnd: (endpoint, load, sent) => this.watch.onEnd(endpoint, load, sent),
      onSettled: (id) => this.watch.onSettled(id),
    });
  }

  /** From now on what else the process has to do holds up what waits for the next turn of its loop. */
  slowDown(): void {
    if (!this.receivers.calm && this.faults.slowTurns) this.#slowTurns = SLOW_TURNS;
  }

  #turnMs(): number {
    if (this.receivers.calm || !this.faults.slowTurns) return 0;
    if (this.#slowTurns === 0 && this.rng.chance(0.02)) this.slowDown();
    if (this.#slowTurns === 0) return 0;
    this.#slowTurns--;
    this.tally.slowTurns++;
    return this.rng.below(10);
  }

  /** The next sync of the disk takes its time. */
  stallDisk(): void {
    this.#isStalled = true;
  }

  #syncMs(): number {
    const isStalled = this.#isStalled;
    this.#isStalled = false;
    const isSlow = !this.receivers.calm && this.faults.slowDisk && this.rng.chance(isStalled ? 1 : 0.1);
    if (!isSlow) return this.rng.next();
    this.tally.slowDisk++;
    return isStalled ? 2000 : this.rng.below(2000);
  }

  async #setUp(): Promise<void> {
    await this.#await(recoverProcess(this.process));
    const { tenants } = this.process.data;
    const account = await this.#await(tenants.createAccount({ name: "a", plan: "open" }));
    this.accountId = account.id;
    for (let n = 0; n < PROJECTS; n++)
      this.projects.push((await this.#await(tenants.createProject(account.id, `p${n}`, "live"))).id);
    for (let n = 0; n < 3 + this.rng.below(4); n++) await this.#await(this.#changes.create());
    // Whoever is disabled by an answer is often enabled at once, while what waits is being ended.
    this.#enableSoon();
  }

  #enableSoon(): void {
    const { data } = this.process;
    data.endpoints.onChange(({ id, status }) => {
      if (status !== "disabled" || !this.isUp || !this.rng.chance(0.5)) return;
      this.world.outside(this.rng.below(3), () => this.isUp && this.#changes.enable(id));
    });
  }

  #planActions(): void {
    const changes = this.#changes;
    const actions: [share: number, act: () => void][] = [
      [30, () => this.publishing.publish()],
      [4, () => changes.togglePause()],
      [3, () => changes.rotate()],
      [1, () => changes.delete()],
      [2, () => changes.deleteBehindPlan()],
      [2, () => changes.raisePlan()],
      [3, () => changes.besideOutcome()],
      [3, () => changes.enable()],
      [3, () => changes.move()],
      [2, () => changes.clearWaits()],
      [2, () => changes.resumeBesideOutcome()],
      [2, () => changes.openBesideGone()],
      [2, () => changes.reorder()],
      [4, () => changes.keepOrder()],
      [2, () => changes.createLate()],
      [2, () => changes.give()],
      [4, () => this.#cancel()],
      [4, () => this.replays.byHand()],
      [2, () => this.replays.parkedByHand(changes)],
      [4, () => this.replays.waitingByHand(changes)],
      [4, () => this.replays.one()],
      [3, () => this.replays.besideOutcome(changes)],
      [2, () => this.replays.many()],
      [2, () => this.replays.wide()],
      [4, () => this.trials.one(changes)],
      [this.isCrowded ? 16 : 8, () => this.pollers.poll()],
      [4, () => this.#writeDown()],
      [3, () => changes.account({ plan: this.rng.pick(["open", "small"]) })],
      [2, () => changes.account({ suspended: this.rng.chance(0.5) })],
      [4, () => tallyAgrees(this)],
      [2, () => this.erasures.requireWhole()],
      [this.isCrowded ? 12 : 3, () => this.#erase()],
      [4, () => this.#crash()],
      [2, () => this.#dieWhilePublishing()],
      [2, () => this.clockJumps.jump()],
      [2, () => this.#fillDisk()],
    ];
    const bag = actions.flatMap(([share, act]) => Array.from({ length: share }, () => act));
    for (let n = 0; n < 30 + this.rng.below(35); n++) {
      const burst = this.rng.chance(0.3) ? 5 : 1;
      const act = this.rng.pick(bag);
      const at = this.rng.chance(0.5) ? this.rng.below(2 * HOUR_MS) : this.rng.below(60_000);
      for (let i = 0; i < burst; i++) this.later(at + i, act);
    }
  }

  someDelivery(): number | null {
    const row = this.sqlite
      .query<{ id: number }, [number]>("SELECT id FROM delivery ORDER BY id LIMIT 1 OFFSET ?")
      .get(this.rng.below(40));
    return row?.id ?? null;
  }

  /** In this turn of the loop, among what others do in it. */
  afterMicrotasks(count: number, act: () => void): void {
    queueMicrotask(() => {
      if (count > 0) this.afterMicrotasks(count - 1, act);
      else if (this.isUp) act();
    });
  }

  /** Nobody reaches a process that is still starting. */
  later(ms: number, act: () => void): void {
    this.world.outside(ms, () => this.isUp && act());
  }

  #writeDown(): void {
    void this.process.data.index.writeDown();
    // It goes down in slices, a millisecond or so each.
    if (this.#cutOff !== null) this.world.outside(this.#cutOff.below(6), () => this.#crash());
  }

  /** Often while an attempt of it is under way; now and then the process dies soon after that has ended. */
  #cancel(): void {
    const id = (this.rng.chance(0.5) ? this.watch.someBusy(this.rng) : null) ?? this.someDelivery();
    if (id === null) return;
    if (this.rng.chance(0.2))
      this.watch.onceEnded(id, () => this.world.outside(this.rng.below(50), () => this.#crash()));
    this.#changes.cancel(id);
  }

  /** Now and then the process dies while it does so. */
  #erase(): void {
    if (this.receivers.calm || !this.faults.erasures) return;
    const consumerId = this.rng.chance(this.isCrowded ? 0.8 : 0.3) ? this.rng.pick(CONSUMERS) : null;
    if (consumerId === null) this.erasures.eraseEvent();
    else {
      const of = { projectId: this.rng.pick(this.projects), consumerId };
      if (this.isCrowded) this.#names.useAround(of, () => this.#eraseConsumer(of));
      else this.#eraseConsumer(of);
    }
    if (this.rng.chance(0.3)) this.world.outside(this.rng.below(50), () => this.#crash());
  }

  #eraseConsumer(of: Consumer): void {
    this.erasures.eraseConsumer(of);
    // What comes once it is answered is the consumer's new story, while it is still being erased.
    for (const ms of [0.5, 1, 2]) this.later(ms, () => this.publishing.publish(of));
    this.later(this.rng.below(3), () => void this.#changes.create(true, of).catch(this.refused));
    // And whoever asks again, before that has come to its end, wants this gone too.
    this.later(3 + this.rng.below(5), () => this.#eraseAgain(of));
  }

  #eraseAgain(of: Consumer): void {
    if (this.receivers.calm || !this.erasures.isRunning(of)) return;
    this.tally.erasedAgain++;
    this.erasures.eraseConsumer(of);
  }

  #crash(): void {
    if (this.receivers.calm || !this.faults.crashes) return;
    this.#die();
  }

  #die(): void {
    this.erasures.requireWhole();
    this.tally.crashes++;
    this.outside.crashes++;
    const setBackMs = this.clockJumps.beforeDeath();
    this.world.crash();
    this.#downTimes.pass(setBackMs);
    this.watch.forget();
    this.liveness.forget();
    this.holding.forget();
    this.plan.forget();
    this.pollers.forget();
    this.trials.forget();
    this.erasures.forget();
    this.#names.forget();
    this.outside.byHand.clear();
    this.process = this.#boot();
    this.order.begin();
    this.retries.begin();
    this.#enableSoon();
    this.isUp = false;
    const life = this.world.process;
    const isAlive = () => life === this.world.process;
    void recoverProcess(this.process).then(
      () => {
        if (!isAlive()) return;
        this.isUp = true;
        // Whoever resumes an endpoint and gets no answer asks again.
        if (this.receivers.calm) void this.#calmDown();
      },
      // On a full disk a start fails: somebody starts it again.
      () => this.world.outside(SECOND_MS, () => isAlive() && this.#die()),
    );
  }

  /**
   * A crash just after an event's commit, a clock that is behind afterwards, and events at once: what was set
   * aside is in danger.
   */
  #dieWhilePublishing(): void {
    if (this.receivers.calm || !this.faults.crashes) return;
    this.publishing.publish();
    this.world.outside(0.01 + this.rng.next(), () => {
      this.#crash();
      this.clockJumps.jump();
      for (const ms of [2, 5, 20]) this.later(ms, () => this.publishing.publish());
    });
  }

  #fillDisk(): void {
    if (this.receivers.calm || !this.faults.fullDisk) return;
    this.tally.fullDisk++;
    const pages = this.sqlite.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0;
    this.sqlite.exec(`PRAGMA max_page_count = ${pages}`);
    this.world.outside(this.rng.below(120_000), () => this.sqlite.exec("PRAGMA max_page_count = 1000000"));
  }

  /** From now on nothing goes wrong, and nobody holds anything up: all must come to its end. */
  async #calmDown(): Promise<void> {
    this.receivers.calm = true;
    this.sqlite.exec("PRAGMA max_page_count = 1000000");
    // A process that is still starting answers nobody, and is told once it is there.
    if (!this.isUp) return;
    this.#changes.account({ plan: "open", suspended: false });
    for (const id of this.endpoints) this.#changes.resume(id);
    this.pollers.drain();
    await nextTurn();
  }

  async #runUntil(until: number): Promise<void> {
    while (await this.#stepOrSettle(until)) {
      await nextTurn();
      this.#look();
      if (++this.steps === this.crashAt) this.#die();
      if (this.steps > STEPS_MAX) {
        this.violate(`it is not quiet after ${STEPS_MAX} steps`);
        return;
      }
    }
  }

  #look(): void {
    this.process.outlet.look();
    if (!this.isUp) return;
    this.clockJumps.look();
    this.#downTimes.look();
    this.liveness.look();
    this.holding.look();
    this.plan.look();
    this.pollers.look();
    const { data, actors } = this.process;
    if (atOnce(actors.counts()).withoutSlot > 0) this.tally.noSlot++;
    if (data.fanouts.count() > 0 && this.#rows.hasHalfFanout()) this.tally.fanoutInSlices++;
  }

  /**
   * A walk over many rows takes several turns of the loop before it asks for anything: only then is
   * nothing left.
   */
  async #stepOrSettle(until: number): Promise<boolean> {
    for (let turn = 0; turn < QUIET_TURNS; turn++) {
      if (this.world.step(until)) return true;
      await nextTurn();
    }
    return false;
  }

  async #await<T>(promise: Promise<T>): Promise<T> {
    let done = false;
    const watched = promise.finally(() => {
      done = true;
    });
    await nextTurn();
    while (!done && this.world.step(Number.POSITIVE_INFINITY)) await nextTurn();
    return watched;
  }
}
