import type { Database } from "bun:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { withoutWaits } from "../../src/core/delivery.ts";
import { Problem } from "../../src/core/errors.ts";
import { makeSecret } from "../../src/core/signing.ts";
import { type Endpoint, HEALTHY } from "../../src/core/model.ts";
import { openMemory } from "../kit/memory.ts";
import { AttemptWatch } from "./attempt-watch.ts";
import { ClockJumps } from "./clock-jumps.ts";
import { Erasures } from "./erasures.ts";
import { newOutside } from "./outside.ts";
import { Liveness } from "./liveness.ts";
import { check, tallyAgrees } from "./invariants.ts";
import { bootProcess, type Process, recoverProcess } from "./process.ts";
import { CONSUMERS, newEndpoint, setBounds, TYPES } from "./scenario.ts";
import { Replays } from "./replays.ts";
import { FAULT_NAMES, type Faults, Receivers, type Tally } from "./receivers.ts";
import { Rng, World } from "./world.ts";

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
const STARTS_AT = Date.UTC(2026, 10, 21);
const STEPS_MAX = 60_000;
const QUIET_TURNS = 100;
/** Of events that a provider sent: they wait where the plan is used up, while publishing is refused. */
const SOURCE = 1;

const pathOf = ({ config }: Endpoint) => new URL(String(config["url"])).pathname;

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
  projectId = 0;
  accountId = 0;
  #isUp = true;
  #marks = 0;
  endpoints: number[] = [];
  /** Where each endpoint is reached, also once it is gone. */
  readonly paths = new Map<number, string[]>();
  readonly watch = new AttemptWatch(this);
  readonly liveness = new Liveness(this);
  readonly erasures = new Erasures(this);
  readonly replays = new Replays(this);
  readonly clockJumps = new ClockJumps(this);
  steps = 0;

  /** `crashAt`: the one step after which the process dies; without it, chance decides when and how often. */
  constructor(
    seed: number,
    readonly tally: Tally,
    readonly crashAt: number | null = null,
  ) {
    this.rng = new Rng(seed);
    // One of eight runs with the bounds as they are.
    setBounds(seed % 8 === 0 ? null : this.rng);
    this.faults = Object.fromEntries(
      FAULT_NAMES.map((name) => [name, this.rng.chance(0.5)]),
    ) as unknown as Faults;
    if (crashAt !== null) this.faults.crashes = false;
    this.receivers = new Receivers(this.world, this.rng, this.faults, tally);
    this.process = this.#boot();
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
    check(this);
    return [...this.violations, ...this.receivers.violations];
  }

  violate(text: string): void {
    this.violations.push(text);
  }

  /** Nothing but a full disk may refuse a write, or a plan that is used up. */
  readonly refused = (error: unknown): void => {
    if (!(error instanceof Problem && ["unavailable", "plan_limit_reached"].includes(error.code)))
      this.violate(`a write failed: ${String(error)}`);
  };

  #boot(): Process {
    const { world, rng, sqlite, receivers: transport } = this;
    return bootProcess({
      world,
      rng,
      sqlite,
      transport,
      syncMs: () => this.#syncMs(),
      onStart: (endpoint, load) => this.watch.onStart(endpoint, load),
      onEnd: (endpoint, load, sent) => this.watch.onEnd(endpoint, load, sent),
    });
  }

  #syncMs(): number {
    if (this.receivers.calm || !this.faults.slowDisk || !this.rng.chance(0.1)) return this.rng.next();
    this.tally.slowDisk++;
    return this.rng.below(2000);
  }

  async #setUp(): Promise<void> {
    const { tenants } = this.process.data;
    const account = await this.#await(tenants.createAccount({ name: "a", plan: "open" }));
    this.accountId = account.id;
    this.projectId = (await this.#await(tenants.createProject(account.id, "live", "live"))).id;
    for (let n = 0; n < 2 + this.rng.below(4); n++) await this.#createEndpoint(n);
  }

  async #createEndpoint(n: number): Promise<void> {
    const { data } = this.process;
    const made = await this.#await(
      data.store.write(() => data.endpoints.insert(newEndpoint(this.rng, this.projectId, n, STARTS_AT))),
    );
    data.endpoints.remember(made);
    this.endpoints.push(made.id);
    this.paths.set(made.id, [pathOf(made)]);
  }

  #planActions(): void {
    const actions: [share: number, act: () => void][] = [
      [30, () => this.#publish()],
      [4, () => this.#togglePause()],
      [3, () => this.#rotate()],
      [1, () => this.#delete()],
      [3, () => this.#enable()],
      [3, () => this.#move()],
      [2, () => this.#clearWaits()],
      [4, () => this.#cancel()],
      [4, () => this.replays.byHand()],
      [4, () => this.replays.one()],
      [2, () => this.replays.many()],
      [2, () => this.replays.wide()],
      [4, () => void this.process.data.index.writeDown()],
      [2, () => this.#reorder()],
      [3, () => this.#changePlan(this.rng.pick(["open", "small"]))],
      [4, () => tallyAgrees(this)],
      [2, () => this.erasures.requireWhole()],
      [3, () => this.#erase()],
      [4, () => this.#crash()],
      [2, () => this.#dieWhilePublishing()],
      [2, () => this.clockJumps.jump()],
      [2, () => this.#fillDisk()],
    ];
    const bag = actions.flatMap(([share, act]) => Array.from({ length: share }, () => act));
    for (let n = 0; n < 40 + this.rng.below(40); n++) {
      const burst = this.rng.chance(0.3) ? 5 : 1;
      const act = this.rng.pick(bag);
      const at = this.rng.chance(0.5) ? this.rng.below(2 * HOUR_MS) : this.rng.below(60_000);
      for (let i = 0; i < burst; i++) this.later(at + i, act);
    }
  }

  #publish(): void {
    const { pipeline, data } = this.process;
    const type = this.rng.pick(TYPES);
    const consumerId = this.rng.pick(CONSUMERS);
    const mark = `m${++this.#marks}`;
    const externalId = this.rng.chance(0.2) ? `ext-${this.rng.below(5)}` : null;
    const incoming = {
      type,
      timestamp: this.world.wall,
      data: `{"mark":"${mark}"}`,
      consumerId,
      externalId,
      sourceId: this.rng.chance(0.5) ? SOURCE : null,
      isTest: false,
      hops: 0,
    };
    const expected = this.#audience(type, consumerId);
    const planned = Promise.try(() => pipeline.plan(this.projectId, [incoming]));
    const acknowledged = planned.then(async (plan) => {
      const [accepted] = await data.store.write(() => plan.write());
      void plan.dispatch();
      return accepted;
    });
    void acknowledged.then((accepted) => {
      if (accepted && !accepted.duplicate)
        this.outside.acked.set(accepted.event.id, { expected, consumerId, mark });
    }, this.refused);
  }

  /** Endpoints that must get such an event, if nobody deletes them meanwhile. */
  #audience(type: string, consumerId: string | null): Set<number> {
    const matching = [...this.process.data.endpoints.ofProject(this.projectId).values()].filter(
      (endpoint) => {
        const types = endpoint.eventTypes;
        const isWanted =
          types === null || types.includes(type) || (types.includes("order.*") && type.startsWith("order."));
        return isWanted && (endpoint.consumerId === null || endpoint.consumerId === consumerId);
      },
    );
    return new Set(matching.map((endpoint) => endpoint.id));
  }

  #change(
    id: number,
    change: (now: Endpoint) => Partial<Endpoint>,
    then?: (changed: Endpoint) => void,
  ): void {
    this.process.data.endpoints
      .change(id, change)
      .then((changed) => changed && then?.(changed), this.refused);
  }

  #changePlan(plan: string): void {
    const { store, tenants } = this.process.data;
    void store
      .write(() => tenants.updateAccount(this.accountId, { plan }))
      .then(({ made }) => tenants.rememberAccount(made), this.refused);
  }

  #togglePause(): void {
    const id = this.rng.pick(this.endpoints);
    if (this.rng.chance(0.5)) {
      this.#change(
        id,
        ({ status }) => (status === "active" ? { status: "paused" } : {}),
        ({ status }) => {
          if (status === "paused") this.outside.paused.add(id);
        },
      );
      return;
    }
    this.outside.paused.delete(id);
    this.#change(id, ({ status }) => (status === "paused" ? { status: "active" } : {}));
  }

  #rotate(): void {
    const endpoint = this.process.data.endpoints.get(this.rng.pick(this.endpoints));
    if (!endpoint) return;
    const hours = this.rng.pick([0, 1, 24]);
    const expiresAt = this.world.wall + hours * HOUR_MS;
    const previousOf = ({ secret }: Endpoint) =>
      hours === 0 ? null : { secret, privateKey: null, expiresAt };
    this.#change(endpoint.id, (now) => ({ secret: makeSecret(), previous: previousOf(now) }));
  }

  #delete(): void {
    const id = this.rng.pick(this.endpoints);
    if (this.outside.deleted.size > 0) return;
    this.outside.deleted.add(id);
    this.#change(id, () => ({ status: "deleted" }));
  }

  #enable(): void {
    const id = this.rng.pick(this.endpoints);
    if (this.process.data.endpoints.get(id)?.status !== "disabled") return;
    this.#startAfresh(id, { status: "active", disabledReason: null });
  }

  /** To another address, while attempts at the one before are under way. */
  #move(): void {
    const id = this.rng.pick(this.endpoints);
    const url = `http://receiver.test/${id % 1000}-${this.steps}`;
    this.paths.get(id)?.push(new URL(url).pathname);
    this.#startAfresh(id, { config: { url } });
  }

  /** A change after which nothing counts that the endpoint answered before. */
  #startAfresh(id: number, change: Partial<Endpoint>): void {
    const { data } = this.process;
    const written = data.store.write(() => {
      // What was disabled a moment ago stays so, wherever it leads.
      if (change.config && data.endpoints.current(id)?.status === "disabled") return null;
      const made = data.endpoints.update(id, () => change);
      if (!made) return null;
      data.health.set(id, HEALTHY);
      this.watch.willOpenGate(id);
      return made;
    });
    void written.then((made) => {
      if (!made) return;
      this.watch.openGate(id, () => data.endpoints.remember(made));
    }, this.refused);
  }

  #clearWaits(): void {
    const id = this.rng.pick(this.endpoints);
    const { data, actors } = this.process;
    void data.store
      .write(() => {
        data.health.set(id, withoutWaits(data.health.get(id)));
        this.watch.willOpenGate(id);
      })
      .then(() => this.watch.openGate(id, () => actors.clearWaits(id)), this.refused);
  }

  #reorder(): void {
    const id = this.rng.pick(this.endpoints);
    this.#change(id, () => ({
      maxConcurrency: this.rng.pick([1, 2, 10]),
      ...(this.rng.chance(0.2) && { ordering: "none" as const }),
    }));
  }

  someDelivery(): number | null {
    const row = this.sqlite
      .query<{ id: number }, [number]>("SELECT id FROM delivery ORDER BY id LIMIT 1 OFFSET ?")
      .get(this.rng.below(40));
    return row?.id ?? null;
  }

  /** Nobody reaches a process that is still starting. */
  later(ms: number, act: () => void): void {
    this.world.outside(ms, () => this.#isUp && act());
  }

  /** Often while an attempt of it is under way; now and then the process dies soon after that has ended. */
  #cancel(): void {
    const id = (this.rng.chance(0.5) ? this.watch.someBusy(this.rng) : null) ?? this.someDelivery();
    if (id === null) return;
    if (this.rng.chance(0.2))
      this.watch.onceEnded(id, () => this.world.outside(this.rng.below(50), () => this.#crash()));
    this.outside.touched.add(id);
    const { data, actors } = this.process;
    const delivery = data.deliveries.get(id);
    if (!delivery) return;
    data.store
      .write(() => data.deliveries.cancel(id) && data.notes.add(delivery.eventId, id, "cancelled"))
      .then(() => actors.forget(delivery.endpointId, id), this.refused);
  }

  /** Now and then the process dies while it does so. */
  #erase(): void {
    if (this.receivers.calm || !this.faults.erasures) return;
    const consumerId = this.rng.chance(0.3) ? this.rng.pick(CONSUMERS) : null;
    if (consumerId === null) this.erasures.eraseEvent();
    else {
      this.erasures.eraseConsumer(consumerId);
      // What comes now is the consumer's new story, while its endpoints are still there.
      for (const ms of [0.5, 1, 2]) this.later(ms, () => this.#publish());
    }
    if (this.rng.chance(0.3)) this.world.outside(this.rng.below(50), () => this.#crash());
  }

  #crash(): void {
    if (this.receivers.calm || !this.faults.crashes) return;
    this.#die();
  }

  #die(): void {
    this.erasures.requireWhole();
    this.tally.crashes++;
    this.outside.crashes++;
    this.clockJumps.beforeDeath();
    this.world.crash();
    this.watch.forget();
    this.liveness.forget();
    this.outside.byHand.clear();
    this.process = this.#boot();
    this.#isUp = false;
    const life = this.world.process;
    const isAlive = () => life === this.world.process;
    void recoverProcess(this.process).then(
      () => {
        if (!isAlive()) return;
        this.#isUp = true;
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
    this.#publish();
    this.world.outside(0.01 + this.rng.next(), () => {
      this.#crash();
      this.clockJumps.jump();
      for (const ms of [2, 5, 20]) this.later(ms, () => this.#publish());
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
    this.#changePlan("open");
    for (const id of this.endpoints) {
      this.outside.paused.delete(id);
      this.#change(id, ({ status }) => (status === "paused" ? { status: "active" } : {}));
    }
    await nextTurn();
  }

  async #runUntil(until: number): Promise<void> {
    while (await this.#stepOrSettle(until)) {
      await nextTurn();
      if (this.#isUp) this.liveness.look();
      if (++this.steps === this.crashAt) this.#die();
      if (this.steps > STEPS_MAX) {
        this.violate(`it is not quiet after ${STEPS_MAX} steps`);
        return;
      }
    }
  }

  /**
   * A walk over many rows takes several turns of the loop before it asks for anything: only then is nothing
   * left.
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
