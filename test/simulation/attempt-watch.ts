import { type Endpoint, isSameDestination } from "../../src/core/model.ts";
import { limit } from "../../src/core/limits.ts";
import { DEFAULT_SCHEDULE } from "../../src/core/retry.ts";
import type { Load } from "../../src/core/waiting.ts";
import type { Sent } from "../../src/delivery/send.ts";
import type { Simulation } from "./run.ts";
import type { Rng } from "./world.ts";

const LEAST_JITTER = 0.9;
/** Over a restart the clock is taken up with this error, as a smaller step of the wall clock is none. */
const RESTART_MS = 2000;
const SLOWING = [429, 502, 503, 504];
const JITTER_MAX = 1.1;
const HASTE_MS = 100;
/** What a process does not know that comes after one which died while the clock was set. */
const LOST_BY_JUMPS_MS = 120_000;

/** What must hold whenever an attempt begins; and a number that tells one course of events from another. */
export class AttemptWatch {
  /** Endpoints that answered 410 to an attempt which began after they were last moved, enabled or resumed. */
  readonly gone = new Set<number>();
  /** So many attempts had begun when the endpoint was last moved, enabled or resumed. */
  readonly #openedAfter = new Map<number, number>();
  #begun = 0;
  /** No attempt before this instant of the monotonic clock, by what the endpoint answered. */
  readonly #gates = new Map<number, number>();
  /** No attempt of this delivery before this instant of the monotonic clock, by its schedule. */
  readonly #waits = new Map<number, { generation: number; number: number; until: number }>();
  readonly #inFlight = new Map<number, number>();
  /** The last scheduled attempt of each endpoint that came to its end in this life. */
  readonly #lastEnded = new Map<number, { id: number; number: number }>();
  /** Deliveries with an attempt under way: how many began before it. */
  readonly #busy = new Map<number, number>();
  /** Those, and others whose outcome is on its way to the disk, and the bytes of their bodies. */
  readonly #slots = new Map<number, { endpointId: number; bytes: number }>();
  /** Those of the busy that somebody asked for. */
  readonly #byHand = new Map<number, { endpoint: Endpoint; load: Load }>();
  /** When the last scheduled attempt of each endpoint began, by the monotonic clock. */
  readonly #startedAt = new Map<number, number>();
  readonly #onceEnded = new Map<number, () => void>();
  /** When the last scheduled attempt of each delivery ended, by the monotonic clock. */
  readonly #endedAt = new Map<number, { number: number; at: number }>();
  /** When the gate of each endpoint may have been opened before its time, by the wall clock. */
  readonly #openings = new Map<number, number[]>();
  /** No scheduled attempt of an endpoint before this, by the monotonic clock, as no file was left. */
  readonly #shortUntil = new Map<number, number>();
  #hash = 0;

  constructor(private readonly run: Simulation) {}

  get hash(): number {
    return this.#hash;
  }

  /** True while an attempt of it is under way. */
  isBusy(deliveryId: number): boolean {
    return this.#busy.has(deliveryId);
  }

  /** Scheduled attempts of an endpoint that are in flight. */
  inFlightOf(endpointId: number): number {
    return this.#inFlight.get(endpointId) ?? 0;
  }

  /** True for a moment after no file was left for an attempt of it. */
  isShort(endpointId: number): boolean {
    return (this.#shortUntil.get(endpointId) ?? 0) > this.run.world.monotonic;
  }

  /** Milliseconds since its last scheduled attempt of this life began. */
  sinceStart(endpointId: number): number {
    return this.run.world.monotonic - (this.#startedAt.get(endpointId) ?? Number.NEGATIVE_INFINITY);
  }

  /** Whether the slots of all endpoints have one for this one. */
  hasFreeSlot(endpointId: number): boolean {
    const isOnly = !this.#slots.values().some((slot) => slot.endpointId === endpointId);
    // The last quarter is for other accounts.
    return this.isHalfFree || (isOnly && this.#busyPart < 3 / 4);
  }

  /** Then there is a slot for any endpoint. */
  get isHalfFree(): boolean {
    return this.#busyPart < 1 / 2;
  }

  /** Of the slots of all endpoints. */
  get #busyPart(): number {
    const { size } = this.#slots;
    return Math.max(size / this.run.attemptsMax, this.#bytes / limit("attemptsInFlightBytesMax"));
  }

  /** Attempts of an endpoint in flight that somebody asked for. */
  byHandOf(endpointId: number): number {
    return [...this.#byHand.values()].filter(({ endpoint }) => endpoint.id === endpointId).length;
  }

  get #bytes(): number {
    return [...this.#slots.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** A delivery of which an attempt is under way, if there is one. */
  someBusy(rng: Rng): number | null {
    return this.#busy.size === 0 ? null : rng.pick([...this.#busy.keys()]);
  }

  /** When the next attempt of it ends, in this life. */
  onceEnded(deliveryId: number, tell: () => void): void {
    this.#onceEnded.set(deliveryId, tell);
  }

  /**
   * Inside the write: the endpoint may be tried again at once, as it leads somewhere else, or somebody
   * says so.
   */
  willOpenGate(endpointId: number): void {
    const openings = this.#openings.get(endpointId) ?? [];
    this.#openings.set(endpointId, openings);
    openings.push(this.run.world.wall);
  }

  /** That is on disk; `tell` tells the actor. */
  openGate(endpointId: number, tell: () => void): void {
    this.willOpenGate(endpointId);
    this.#gates.delete(endpointId);
    tell();
    this.#requireSchedule(endpointId);
  }

  /** What it answers to attempts that began before says nothing of it. */
  startsAfresh(endpointId: number): void {
    this.gone.delete(endpointId);
    this.#openedAfter.set(endpointId, this.#begun);
  }

  /** True where it was not left alone any more at some time in between, by the wall clock. */
  wasOpened(endpointId: number, from: number, to: number): boolean {
    return (this.#openings.get(endpointId) ?? []).some((at) => from <= at && at <= to);
  }

  /** Now that its gate is open, nothing of the endpoint waits for longer than the schedule says. */
  #requireSchedule(endpointId: number): void {
    const { run } = this;
    const { data, actors } = run.process;
    const endpoint = data.endpoints.get(endpointId);
    const slack = run.faults.clockJumps ? LOST_BY_JUMPS_MS : HASTE_MS;
    const retrying = run.sqlite.query<{ id: number }, [number]>(
      "SELECT id FROM delivery WHERE endpoint_id = ? AND status = 1",
    );
    for (const { id } of retrying.all(endpointId)) {
      const delivery = data.deliveries.get(id);
      const ended = this.#endedAt.get(id);
      if (!endpoint || !delivery || ended?.number !== delivery.attemptCount) continue;
      const wait = (endpoint.retry?.schedule ?? DEFAULT_SCHEDULE)[delivery.step - 1] ?? 0;
      const shownAt = actors.nextAttemptAt(endpointId, delivery.due) ?? 0;
      const leftMs = ended.at + wait * 1000 * JITTER_MAX - run.world.monotonic;
      // What is due waits for no time, however far the kept clock is behind that of the run.
      if (shownAt - data.store.now() > Math.max(leftMs, 0) + slack)
        run.violate("a break is over, and a delivery waits for longer than its schedule says");
    }
  }

  /** Nobody can know how long they still are. */
  forgetWaits(): void {
    this.#waits.clear();
  }

  /** The process died. */
  forget(): void {
    // What was not written down is done again at once.
    for (const [id, { number }] of this.#waits) if (!this.#isRecorded(id, number)) this.#waits.delete(id);
    this.#busy.clear();
    this.#slots.clear();
    this.#byHand.clear();
    this.#onceEnded.clear();
    this.#gates.clear();
    this.#inFlight.clear();
    this.#startedAt.clear();
    this.#shortUntil.clear();
    this.#lastEnded.clear();
  }

  onStart(endpoint: Endpoint, load: Load): void {
    const { run } = this;
    const { id } = load.delivery;
    if (run.erasures.asked.erased.has(load.delivery.eventId))
      run.violate("an attempt started of an event that was erased");
    run.receivers.secrets.set(run.process.data.ids.encode("msg", id), this.#validSecrets(endpoint.id));
    this.#busy.set(id, this.#begun++);
    this.#slots.set(id, { endpointId: endpoint.id, bytes: load.body.length });
    run.plan.onStart(load);
    const now = run.process.data.endpoints.getAnyway(endpoint.id);
    if (now && !isSameDestination(now, endpoint))
      run.violate("an attempt started to an address that its endpoint has left");
    if (run.outside.byHand.has(id)) this.#byHand.set(id, { endpoint, load });
    else this.#onScheduled(endpoint, load);
  }

  /** No attempt by hand is made of it; the queue may have started one meanwhile. */
  notByHand(id: number): void {
    this.run.outside.byHand.delete(id);
    const start = this.#byHand.get(id);
    this.#byHand.delete(id);
    if (start) this.#onScheduled(start.endpoint, start.load);
  }

  /** A test that is written was refused its attempt. */
  requireFull(id: number): void {
    const { data } = this.run.process;
    const endpointId = data.deliveries.get(id)?.endpointId ?? 0;
    if (this.isHalfFree && !this.run.outside.narrowed.has(endpointId))
      this.run.violate("a test was written and is refused, although there are slots");
  }

  /** The queue started it. */
  #onScheduled(endpoint: Endpoint, load: Load): void {
    const { run } = this;
    const { id, due } = load.delivery;
    run.order.onStart(endpoint.id, id);
    this.#startedAt.set(endpoint.id, run.world.monotonic);
    this.#requireSlot(endpoint);
    if (this.#slots.size > run.attemptsMax)
      run.violate(`${this.#slots.size} attempts at once where ${run.attemptsMax} may be`);
    if (this.#bytes - load.body.length > limit("attemptsInFlightBytesMax"))
      run.violate("an attempt started although the bodies in flight leave no room");
    if (run.process.data.tenants.isSuspended(endpoint.projectId))
      run.violate("an attempt started of an account that is suspended");
    const isPaused = run.process.data.endpoints.get(endpoint.id)?.status === "paused";
    if (run.outside.paused.has(endpoint.id) && isPaused)
      run.violate("an attempt started at a paused endpoint");
    const now = run.process.actors.clock.now();
    const early = (due ?? 0) - now;
    if (early > 0) run.violate(`an attempt started ${early} ms early`);
    if (endpoint.ordering === "fifo") this.#requireRecorded(endpoint.id);
    const gate = this.#gates.get(endpoint.id) ?? 0;
    if (gate > run.world.monotonic + 1) run.violate("an attempt started before retry-after had passed");
    this.#requireWaited(load);
  }

  /** Its outcome is on disk, or there is none. */
  onSettled(id: number): void {
    this.#slots.delete(id);
  }

  onEnd(endpoint: Endpoint, load: Load, sent: Sent | null): void {
    const { run } = this;
    const { id, attemptCount } = load.delivery;
    const mark = id + (sent?.statusCode ?? 7) + Math.floor(run.world.monotonic);
    this.#hash = (Math.imul(this.#hash, 31) + mark) | 0;
    const begun = this.#busy.get(id) ?? 0;
    const isOutdated = begun < (this.#openedAfter.get(endpoint.id) ?? 0);
    this.#busy.delete(id);
    this.#byHand.delete(id);
    if (sent?.statusCode === 410 && !isOutdated) this.gone.add(endpoint.id);
    run.plan.onEnd(load);
    this.#onceEnded.get(id)?.();
    this.#onceEnded.delete(id);
    this.#requireUndecided(load);
    if (!sent) this.#shortUntil.set(endpoint.id, run.world.monotonic + limit("shortageRestMs"));
    // A success forgets a backoff.
    if (sent?.outcome === "delivered") this.willOpenGate(endpoint.id);
    // The next attempt may begin before anybody else hears of this one.
    if (run.outside.byHand.delete(id)) return;
    this.#inFlight.set(endpoint.id, Math.max(0, (this.#inFlight.get(endpoint.id) ?? 0) - 1));
    if (!sent) return;
    if (sent.outcome !== "delivered") run.replays.onFailure(endpoint.id);
    this.#lastEnded.set(endpoint.id, { id, number: attemptCount + 1 });
    this.#endedAt.set(id, { number: attemptCount + 1, at: run.world.monotonic });
    const wait = endpoint.retry?.schedule[load.delivery.step];
    const { generation } = load.delivery;
    const until = run.world.monotonic + (wait ?? 0) * 1000 * LEAST_JITTER;
    this.#waits.set(id, { generation, number: attemptCount + 1, until });
    if (!SLOWING.includes(sent.statusCode ?? 0) || isOutdated) return;
    // What an earlier destination answers says nothing of this one.
    const current = run.process.data.endpoints.current(endpoint.id);
    if (current === undefined || !isSameDestination(current, endpoint)) return;
    const { monotonic } = run.world;
    const gate = monotonic + (sent.retryAfterMs ?? 1000);
    this.#gates.set(endpoint.id, Math.max(this.#gates.get(endpoint.id) ?? 0, gate));
  }

  /** What is under way when its endpoint is disabled is decided by its outcome. */
  #requireUndecided({ delivery: { id, due, generation } }: Load): void {
    const now = this.run.process.data.deliveries.get(id);
    if (due !== null && now?.deadReason === "endpoint_disabled" && now.generation === generation + 1)
      this.run.violate("a delivery is dead with its endpoint while its attempt runs");
  }

  /** By the time that has passed in truth, whatever became of the wall clock. */
  #requireWaited({ delivery: { id, generation } }: Load): void {
    const wait = this.#waits.get(id);
    const early = (wait?.until ?? 0) - this.run.world.monotonic;
    if (wait?.generation === generation && early > RESTART_MS)
      this.run.violate(`an attempt started ${Math.round(early)} ms before its schedule said`);
  }

  #requireSlot({ id, ordering, maxConcurrency }: Endpoint): void {
    const inFlight = (this.#inFlight.get(id) ?? 0) + 1;
    this.#inFlight.set(id, inFlight);
    const bound = ordering === "fifo" ? 1 : maxConcurrency;
    if (inFlight > bound) this.run.violate(`${inFlight} attempts at once to an endpoint that takes ${bound}`);
  }

  /**
   * Where order is kept, nothing starts before the outcome of the attempt before it stands in the database.
   */
  #requireRecorded(endpointId: number): void {
    const last = this.#lastEnded.get(endpointId);
    // Of what was erased meanwhile nothing is written.
    if (last === undefined || this.run.process.data.deliveries.get(last.id) === null) return;
    if (this.#isRecorded(last.id, last.number)) return;
    this.run.violate("an ordered endpoint was sent to before the outcome of its last attempt was written");
  }

  #isRecorded(deliveryId: number, number: number): boolean {
    const find = this.run.sqlite.query("SELECT 1 FROM attempt WHERE delivery_id = ? AND number = ?");
    return find.get(deliveryId, number) !== null;
  }

  /** The secrets that are valid at this moment, as the durable endpoint has them. */
  #validSecrets(id: number): string[] {
    const endpoint = this.run.process.data.endpoints.getAnyway(id);
    if (!endpoint) return [];
    const { secret, previous } = endpoint;
    return previous && previous.expiresAt > this.run.world.wall ? [secret, previous.secret] : [secret];
  }
}
