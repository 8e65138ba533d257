import {
  type AttemptStart,
  deliveryAfter,
  disabledBy,
  type Finding,
  gateOf,
  healthAfter,
  triggerOf,
  withoutWaits,
} from "../core/delivery.ts";
import {
  type Delivery,
  type Endpoint,
  HEALTHY,
  type Health,
  isClosed,
  startsAfresh,
  type Trigger,
  type WaitingFor,
} from "../core/model.ts";
import { DEFAULT_SCHEDULE } from "../core/retry.ts";
import { limit } from "../core/limits.ts";
import { TokenBucket } from "../core/structures/token-bucket.ts";
import type { Load, Waiting } from "../core/waiting.ts";
import type { ActorParts, AttemptRefusal, InMemory, Settlement, Starts } from "./actor-parts.ts";
import { BLOCKED, IDLE, isEnding, type Mode, type State, type Timer, timerOf } from "./actor-state.ts";
import { Backlog } from "./backlog.ts";
import { type Flight, Flights } from "./flights.ts";

/**
 * Whoever asked for an attempt and waits for it; null where the queue started it. `F`: the states depend on a
 * `Finding` alone, while the service's recorder gets back all of a `Sent`.
 */
type Asker<F extends Finding> = ((finding: F | null) => void) | null;

const NEVER = Number.POSITIVE_INFINITY;
/** So much of its rate an endpoint gets at once: no second sees much more than it may. */
const BURST_SECONDS = 1 / 20;

/**
 * The actor of one endpoint owns its backlog, its attempts, its health and its timer. Nothing else starts
 * an attempt. `#enter` is the one place that puts another state in the place of one (actor-state.ts), and it
 * checks the row.
 */
export class EndpointActor<F extends Finding> {
  #state: State = { mode: "idle" };
  readonly #flights = new Flights();
  readonly #backlog: Backlog;
  readonly #rate: TokenBucket;
  /**
   * Grows where the endpoint gets another destination or is opened again: what attempts find out that began
   * before says nothing of it.
   */
  #epoch = 0;
  /** It waits for its turn to end a slice of what waits, and knows only then whether it is to. */
  #isInLine = false;
  /** Until then nothing starts, as there was no file left for a socket. */
  #shortUntil = 0;

  constructor(
    private endpoint: Endpoint,
    private health: Health,
    private readonly parts: ActorParts<F>,
  ) {
    this.#backlog = new Backlog(endpoint, this.#flights, parts);
    this.#rate = new TokenBucket(1, parts.clock.now());
    this.#follow();
  }

  get mode(): Mode {
    return this.#state.mode;
  }

  get projectId(): number {
    return this.endpoint.projectId;
  }

  get currentHealth(): Health {
    return this.health;
  }

  /** Deliveries in memory. */
  get queued(): number {
    return this.#backlog.size;
  }

  get inFlight(): number {
    return this.#flights.inFlight;
  }

  /** When what it would send next was due; null where it holds nothing, or nothing may be sent. */
  get nextDue(): number | null {
    const { mode } = this.#state;
    const isSending = mode === "waiting" || mode === "blocked" || mode === "sending";
    return isSending && !this.#isSuspended() ? (this.#backlog.head?.due ?? null) : null;
  }

  /** True where nothing waits and nothing is busy. */
  get isQuiet(): boolean {
    return this.#backlog.isEmpty && this.#isStill;
  }

  get #isStill(): boolean {
    return this.#flights.size === 0 && !isEnding(this.#state);
  }

  /** True where its endpoint is deleted and nothing is left to do. */
  get isGone(): boolean {
    return this.endpoint.status === "deleted" && this.isQuiet;
  }

  /** The state of that name may last longer, as its timer is for what waits. */
  get isBackingOff(): boolean {
    if (this.mode !== "backing_off") return false;
    return this.health.backoffLevel > 0 || this.#gate() > this.parts.clock.now();
  }

  get inMemory(): InMemory {
    return { held: this.#backlog.ids(), busy: [...this.#flights.ids()] };
  }

  /** False where a new delivery has to be parked. */
  get hasRoom(): boolean {
    return this.#backlog.hasRoom;
  }

  /** A delivery that is on disk already. */
  enqueue(waiting: Waiting, starts: Starts = "now"): void {
    this.#backlog.add(waiting);
    this.#goOn(starts);
  }

  /** What the database holds, at start: nothing goes before `wake`. */
  recover(waiting: Waiting): void {
    this.#backlog.add(waiting);
  }

  /** What `Endpoints.announce` tells, after each fsync: used from the next attempt on. */
  update(endpoint: Endpoint): void {
    const isAfresh = startsAfresh(this.endpoint, endpoint);
    this.endpoint = endpoint;
    if (isAfresh) {
      this.#epoch++;
      this.health = HEALTHY;
    }
    this.#backlog.follow(endpoint);
    // What is under way is cancelled like what waits; where it arrives nevertheless, it counts as delivered.
    if (endpoint.status === "deleted") {
      const due = this.parts.clock.now();
      for (const id of this.#flights.idsInFlight()) this.#backlog.addRow(id, due);
    }
    this.#follow();
    this.#goOn();
  }

  /** Somebody says that it may be tried again: it neither backs off nor is slowed down any more. */
  clearWaits(): void {
    this.health = withoutWaits(this.health);
    this.#goOn();
  }

  /** Something outside changed that may let deliveries go: the disk, the plan, the account. */
  wake(): void {
    this.#goOn();
  }

  /** A delivery that was cancelled. */
  forget(id: number): void {
    this.#backlog.drop(id);
    this.#goOn();
  }

  /**
   * One attempt now, whatever the queue, a pause or a backoff says. Resolves when it is on disk, with null
   * where it was given up (`send`); or why there is none (AttemptRefusal).
   */
  attemptNow(load: Load, trigger: "manual" | "test"): Promise<F | null> | AttemptRefusal {
    if (this.#state.mode === "stopped") return "stopping";
    if (this.#flights.has(load.delivery.id)) return "busy";
    const refusal = this.#refusalOfNow();
    if (refusal !== null && trigger === "test") this.#own(load.delivery);
    if (refusal !== null) return refusal;
    return new Promise((resolve) => {
      this.#start(load, trigger, resolve);
      this.#backlog.beginByHand(load.delivery.id);
      this.#goOn();
    });
  }

  #refusalOfNow(): AttemptRefusal | null {
    if (this.#state.mode === "closing" || isClosed(this.endpoint)) return "closed";
    const { byHand, taken } = this.#flights;
    // As many attempts by hand as the endpoint has slots may be in flight beside those of its queue.
    if (byHand >= Math.max(limit("concurrencyDefault"), this.endpoint.maxConcurrency)) return "full";
    return this.parts.slots.isFree(this.endpoint, taken) ? null : "full";
  }

  /** Before a test is written: answers what gives its attempt back. */
  reserveByHand(): (() => void) | AttemptRefusal {
    return (this.#state.mode === "stopped" ? "stopping" : this.#refusalOfNow()) ?? this.#flights.reserve();
  }

  /** Takes a refused test into the queue, as nobody else tells of it: it is sent or ended from there. */
  #own({ id, due }: Delivery): void {
    if (due !== null) this.#backlog.addRow(id, due);
    this.#goOn();
  }

  /**
   * Why an open delivery does not go out although its time may have come; null where it only waits for its
   * time. A suspended account is told as its plan's limit: the contract has no word of its own for it.
   */
  waitingFor(id: number, due: number): WaitingFor | null {
    const now = this.parts.clock.now();
    if (this.endpoint.status === "paused") return "paused";
    if (this.parts.isSuspended(this.endpoint.projectId)) return "plan_limit";
    const isHeldByDisk = !this.parts.canRecord();
    // A delivery that is busy waits for nothing but its outcome, and that for the disk.
    if (this.#flights.has(id)) return isHeldByDisk && this.#flights.isRecording(id) ? "disk" : null;
    if (this.#gate() > now && due <= this.#gate()) return "backoff";
    if (due > now) return null;
    if (isHeldByDisk) return "disk";
    if (this.endpoint.ordering === "fifo" && !this.#isFirst(id)) return "order";
    if (this.#tokenAt(now) > now) return "rate_limit";
    // One probe at a time.
    if (this.#slotsTaken() >= this.#capacity())
      return this.health.backoffLevel > 0 ? "backoff" : "concurrency";
    if (!this.parts.slots.isFree(this.endpoint, this.#flights.inSlots)) return "concurrency";
    // The next token is for the first of them.
    return this.endpoint.rateLimitPerSecond === null || this.#isFirst(id) ? null : "rate_limit";
  }

  /** Starts nothing any more; resolves when nothing is busy. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      const whenQuiet = this.#state.mode === "stopped" ? [...this.#state.whenQuiet, resolve] : [resolve];
      this.#enter({ mode: "stopped", isEnding: isEnding(this.#state), whenQuiet });
      this.#goOn();
    });
  }

  /** Takes the state that the endpoint's row asks for, where that is another one. */
  #follow(): void {
    const { mode } = this.#state;
    // What is being ended may come back, as its endpoint is enabled meanwhile: nothing goes before it.
    if (mode === "stopped" || isEnding(this.#state)) return;
    if (isClosed(this.endpoint)) this.#enter({ mode: "disposing", isEnding: false });
    // The 410 or the last of too many failures is on its way to the disk: `#fly` goes on from there.
    else if (mode === "closing") return;
    else if (this.endpoint.status === "paused") this.#enter({ mode: "paused" });
    else if (mode === "paused" || mode === "disposing") this.#enter(this.#openState());
  }

  /**
   * What closed it is recorded. By now its row says that it is disabled (`update`), or never will, as the
   * endpoint has moved or was opened again.
   */
  #leaveClosing(): void {
    if (this.#state.mode !== "closing") return;
    if (this.#state.isEnding) this.#enter({ mode: "disposing", isEnding: true });
    else this.#enter(this.endpoint.status === "paused" ? { mode: "paused" } : this.#openState());
  }

  /** Does what there is to do in this state. */
  #goOn(starts: Starts = "now"): void {
    const state = this.#state;
    switch (state.mode) {
      case "stopped":
        if (!this.#isStill) return;
        for (const resolve of state.whenQuiet.splice(0)) resolve();
        return;
      case "disposing":
        return this.#disposeSlice(state);
      case "paused":
      case "closing":
        return;
      case "idle":
      case "waiting":
      case "blocked":
      case "sending":
      case "backing_off":
        return this.#run(starts);
    }
  }

  /** Starts what can start; then its state is what that led to. */
  #run(starts: Starts): void {
    const now = this.parts.clock.now();
    // The deliveries that are due and not started here start in a later turn of the loop, by a timer for an
    // instant that has passed.
    let goesOn = starts === "now" && !this.#isSuspended();
    while (goesOn && this.#askToStart(now)) goesOn = this.#startNext(now) && !this.parts.isTurnOver();
    this.#enter(this.#openState(now));
  }

  /**
   * The state of an active endpoint in which nothing can start at this instant. Sets its timer, and asks to
   * be woken where a shared slot is missing.
   */
  #openState(now = this.parts.clock.now()): State {
    const timer = this.#timerFor(this.#isSuspended() ? NEVER : this.#wakesAt(now));
    if (this.#gate() > now || this.health.backoffLevel > 0) return { mode: "backing_off", timer };
    if (this.#flights.size > 0) return { mode: "sending", timer };
    if (timer) return { mode: "waiting", timer };
    return this.#backlog.isEmpty ? IDLE : BLOCKED;
  }

  /**
   * The earliest instant at which something could start; `NEVER` where only an ending or a word from outside
   * can help.
   */
  #wakesAt(now: number): number {
    const due = this.#backlog.nextDue;
    return due === NEVER || !this.#askForSlot() ? NEVER : Math.max(due, this.#gate(), this.#tokenAt(now));
  }

  /** The timer that is set already, where it is for the same instant. */
  #timerFor(at: number): Timer | null {
    if (at === NEVER) return null;
    const known = timerOf(this.#state);
    if (known?.at === at) return known;
    const timer: Timer = { at, callOff: () => {} };
    timer.callOff = this.parts.timer(this.endpoint, at, () => {
      timer.at = NEVER;
      this.#goOn();
    });
    return timer;
  }

  /** A timer that the next state does not keep is called off. */
  #enter(next: State): void {
    const timer = timerOf(this.#state);
    if (timer && timer !== timerOf(next)) timer.callOff();
    if (this.#state.mode === "stopped" && next.mode !== "stopped")
      throw new Error("an actor that is stopped goes on");
    this.#state = next;
    if (!this.#isTrue(next)) throw new Error(`an actor is ${next.mode}, which its facts deny`);
  }

  /** What the second column of the table above says, as far as it can be asked of what the actor holds. */
  #isTrue(state: State): boolean {
    const isBusy = this.#flights.size > 0;
    const isActive = this.endpoint.status === "active";
    const isBackingOff = this.health.backoffLevel > 0;
    const isAtRest = isActive && !isBusy && !isBackingOff;
    const { isEmpty } = this.#backlog;
    switch (state.mode) {
      case "idle":
        return isAtRest && isEmpty;
      case "waiting":
        return isAtRest && !isEmpty;
      case "blocked":
        return isAtRest && !isEmpty && this.#isHeldOutside();
      case "sending":
        return isActive && isBusy && !isBackingOff;
      case "backing_off":
        return isActive && (isBackingOff || this.#gate() > 0) && (state.timer === null || !isEmpty);
      case "paused":
        return this.endpoint.status === "paused";
      case "closing":
        return !isClosed(this.endpoint);
      case "disposing":
        return state.isEnding || isClosed(this.endpoint);
      case "stopped":
        break;
    }
    return true;
  }

  /** The account, the disk, or the slots of all endpoints. */
  #isHeldOutside(): boolean {
    return (
      this.#isSuspended() ||
      !this.parts.canRecord() ||
      !this.parts.slots.isFree(this.endpoint, this.#flights.inSlots)
    );
  }

  #isSuspended(): boolean {
    return this.parts.isSuspended(this.endpoint.projectId);
  }

  /** True where no delivery stands before this one. */
  #isFirst(id: number): boolean {
    if (this.#slotsTaken() > 0) return false;
    const { head } = this.#backlog;
    return head === undefined || id <= head.id;
  }

  /** Nothing of the queue starts before this instant: of health, or as the process is short of files. */
  #gate(): number {
    return Math.max(gateOf(this.health), this.#shortUntil);
  }

  #capacity(): number {
    const one = this.endpoint.ordering === "fifo" || this.health.backoffLevel > 0;
    return one ? 1 : this.endpoint.maxConcurrency;
  }

  /**
   * Attempts by hand take none of the endpoint's own slots. Where order is kept, a delivery keeps its slot
   * until its outcome is on disk: after a crash it is sent again, and those after it must not be there yet.
   */
  #slotsTaken(): number {
    const { inSlots, scheduled } = this.#flights;
    return this.endpoint.ordering === "fifo" ? inSlots : scheduled;
  }

  /** When the rate limit lets the next attempt go. */
  #tokenAt(now: number): number {
    const rate = this.endpoint.rateLimitPerSecond;
    return rate === null ? now : this.#rate.nextAt(rate, Math.max(1, rate * BURST_SECONDS), now);
  }

  #askToStart(now: number): boolean {
    return this.#askForSlot() && this.#gate() <= now && this.#tokenAt(now) <= now;
  }

  /**
   * Asks for one of the endpoint's own slots and one of those that all endpoints share. Where all of the
   * latter are taken, the actor is woken once one is free, also where it has nothing to send any more.
   */
  #askForSlot(): boolean {
    if (!this.parts.canRecord() || this.#slotsTaken() >= this.#capacity()) return false;
    return this.parts.slots.ask(this.endpoint, this.#flights.inSlots);
  }

  #startNext(now: number): boolean {
    const item = this.#backlog.takeDue(now);
    if (!item) return false;
    const load = item.load ?? this.parts.rows.load(item.id);
    if (!load || load.delivery.due === null) return true;
    if (this.endpoint.rateLimitPerSecond !== null) this.#rate.take(1);
    this.#start(load, triggerOf(load.delivery), null);
    return true;
  }

  #start(load: Load, trigger: Trigger, asker: Asker<F>): void {
    const { id } = load.delivery;
    const byHand = asker !== null;
    const probe = !byHand && this.health.backoffLevel > 0;
    const flight = this.#flights.begin({ id, trigger, byHand, probe, epoch: this.#epoch });
    void this.#fly(flight, load, asker);
  }

  /** The attempt; then states, in memory and at once; then to the disk; then the delivery is free again. */
  async #fly(flight: Flight, load: Load, asker: Asker<F>): Promise<void> {
    // As it is now: what is given back is what was taken.
    const { endpoint } = this;
    this.parts.slots.take(endpoint, load);
    this.parts.meter.beginFirst(load.delivery);
    const sent = await this.parts.send(endpoint, load);
    this.#flights.land(flight);
    const settlement = sent && this.#conclude(flight, load, sent);
    const recording = settlement && this.parts.record(settlement);
    if (recording) this.#goOn();
    // If this attempt disables the endpoint, `update` is called before it is recorded here.
    const recorded = await recording;
    // Only now: what waits for a slow disk has a bound too.
    this.parts.slots.giveBack(endpoint, load, sent);
    this.parts.meter.endFirst(flight.id);
    // Before `putBack` and `reload`, which leave out what is busy.
    this.#flights.end(flight);
    if (settlement && recorded) this.#backlog.putBack(flight, settlement, recorded);
    else this.#waitForFiles(flight.id);
    if (settlement?.disable) this.#leaveClosing();
    asker?.(sent);
    this.#goOn();
  }

  /** The delivery is due as before, as this cost no attempt; nothing of the endpoint starts for a moment. */
  #waitForFiles(id: number): void {
    this.#shortUntil = this.parts.clock.now() + limit("shortageRestMs");
    if (this.#state.mode !== "stopped") this.#backlog.reload(id);
  }

  /** What the attempt means: the delivery's next state, and the endpoint's. */
  #conclude(flight: Flight, load: Load, sent: F): Settlement<F> {
    const { trigger } = flight;
    const { delivery } = load;
    const at = { now: this.parts.clock.now(), random: this.parts.random() };
    const isOutdated = flight.epoch !== this.#epoch;
    const start: AttemptStart = { ...flight, isOutdated, delivery, schedule: this.#scheduleOf(delivery) };
    const { endpoint, health: before } = this;
    const health = (this.health = healthAfter(before, start, sent, at));
    const change = deliveryAfter(start, sent, at);
    const isClosing = this.#state.mode === "closing" || isClosed(this.endpoint);
    const hasFailed = () => this.parts.hasFailedTooLong(this.endpoint, health);
    const disable = isClosing || isOutdated ? null : disabledBy(sent, trigger, hasFailed);
    if (disable && this.#state.mode !== "stopped")
      this.#enter({ mode: "closing", isEnding: isEnding(this.#state) });
    // Where order is kept, it stays the first of its queue.
    const parks =
      change !== null && change.due !== null && this.endpoint.ordering === "none" && !this.hasRoom;
    const queueOrder = parks ? change.due : null;
    const healthChanged = health !== before;
    return { endpoint, load, trigger, sent, change, queueOrder, health, healthChanged, disable };
  }

  #scheduleOf(delivery: Delivery): readonly number[] {
    return delivery.origin === "test" ? [] : (this.endpoint.retry?.schedule ?? DEFAULT_SCHEDULE);
  }

  /** Ends what waits, one slice after the other, each in its account's turn. */
  #disposeSlice(state: Extract<State, { mode: "disposing" }>): void {
    if (this.#isInLine || state.isEnding || !this.parts.canRecord() || this.#backlog.isEmpty) return;
    this.#isInLine = true;
    this.parts.unattended("disposal", this.#endSlice());
  }

  async #endSlice(): Promise<void> {
    let ids: readonly number[] = [];
    try {
      const left = await this.parts.rows.dispose(this.endpoint, () => (ids = this.#takeForDisposal()));
      // These are still to be sent: the endpoint was enabled meanwhile.
      for (const id of left ?? []) this.#backlog.reload(id);
    } finally {
      if (ids.length > 0 && "isEnding" in this.#state) this.#state.isEnding = false;
    }
    if (ids.length === 0) return;
    this.#follow();
    this.#goOn();
  }

  /** Its turn has come; where the endpoint is deleted, what is under way ends too. */
  #takeForDisposal(): readonly number[] {
    this.#isInLine = false;
    if (this.#state.mode !== "disposing" || !this.parts.canRecord()) return [];
    const ids = this.#backlog.takeForDisposal(this.endpoint.status === "deleted");
    this.#state.isEnding = ids.length > 0;
    return ids;
  }
}
