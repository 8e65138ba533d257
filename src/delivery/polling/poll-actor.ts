import { limit } from "../../core/limits.ts";
import { type Endpoint, HEALTHY, isClosed, type WaitingFor } from "../../core/model.ts";
import type { Waiting } from "../../core/waiting.ts";

/**
 * The actor of a `poll` endpoint. Its queue stays in the database, in the order of positions that are given
 * inside the writes: so a million deliveries that wait cost no memory, no timer and no attempt, and whatever
 * is written later stands after whatever was handed out before. The actor knows who waits for something to
 * come, and ends what waits once the endpoint is disabled or deleted.
 *
 * | mode      | true in it                                                     | leaves when                                    |
 * |-----------|----------------------------------------------------------------|------------------------------------------------|
 * | open      | pollers wait; what is to be handed out wakes them in their order, in shares of turns, as long as it is there; a change of the endpoint wakes all | disabled or deleted, stop |
 * | disposing | the endpoint is disabled or deleted: what waits is ended, slice by slice, in turns | enabled, or all is ended, and the slice under way is on disk; stop |
 * | stopped   | nobody waits; a slice may still be on its way to the disk      | never                                          |
 *
 * A paused endpoint is open: a poller gets nothing of it before its time is over.
 *
 * A delivery of such an endpoint:
 *
 * | state      | its row                                                 | leaves when                                                |
 * |------------|---------------------------------------------------------|------------------------------------------------------------|
 * | waiting    | pending, step 0, at a position                          | handed out; dead as malformed; cancelled; dead with its endpoint; expired |
 * | handed out | pending, step 1; its attempt has the outcome `handed_out` | a cursor at or after its position comes back (delivered); replayed (waiting again, after all others); as above |
 * | delivered  | its attempt too                                         | replayed                                                   |
 *
 * Handing out takes nothing out of the queue: until it is acknowledged, the next poll gets it again, with the
 * same `webhook-id`. It is the same attempt, however often.
 */
export interface PollActorParts {
  /** Resolves once it is the turn of the project's deliveries: each poller that is woken works in it. */
  giveWay(projectId: number): Promise<void>;
  parked(endpointId: number, count: number): Waiting[];
  /** See ActorParts. */
  dispose(of: Pick<Endpoint, "projectId">, take: () => readonly number[]): Promise<readonly number[] | null>;
  canRecord(): boolean;
  isSuspended(projectId: number): boolean;
  unattended(work: string, running: Promise<unknown>): void;
}

type State =
  | { mode: "open" }
  | { mode: "disposing"; isEnding: boolean }
  | { mode: "stopped"; isEnding: boolean; whenQuiet: (() => void)[] };

export class PollActor {
  #state: State = { mode: "open" };
  /** By how to wake them, in the order of their waits: the changes that each has seen. */
  readonly #waiters = new Map<() => void, number>();
  #changes = 0;
  /** The latest change after which pollers look again whatever there is: their endpoint is another. */
  #changedItself = 0;
  #isWaking = false;

  constructor(
    private endpoint: Endpoint,
    private readonly parts: PollActorParts,
  ) {}

  readonly currentHealth = HEALTHY;

  get projectId(): number {
    return this.endpoint.projectId;
  }

  /** Nothing is held in memory, and nothing is in flight. */
  readonly queued = 0;
  readonly inFlight = 0;

  /** True where nothing waits and nothing is on its way to the disk. */
  get isQuiet(): boolean {
    return this.#state.mode !== "disposing" && this.parts.parked(this.endpoint.id, 1).length === 0;
  }

  /** True where its endpoint is deleted and nothing is left to do. */
  get isGone(): boolean {
    return this.endpoint.status === "deleted" && this.isQuiet;
  }

  get isStopped(): boolean {
    return this.#state.mode === "stopped";
  }

  /** True while pollers get nothing, whatever waits. */
  get isHeldBack(): boolean {
    return this.endpoint.status !== "active" || this.parts.isSuspended(this.endpoint.projectId);
  }

  /** Grows with everything after which a poller should look again. */
  get changes(): number {
    return this.#changes;
  }

  /** How many pollers wait now. */
  get pollers(): number {
    return this.#waiters.size;
  }

  /** A delivery that is on disk already. */
  enqueue(): void {
    this.#change();
  }

  /** What the database holds stays there. */
  recover(): void {}

  update(endpoint: Endpoint): void {
    this.endpoint = endpoint;
    this.#changedItself = this.#changes + 1;
    this.#change();
  }

  /** Something outside changed that may let deliveries go: the disk, the plan, the account. */
  wake(): void {
    this.#change();
  }

  forget(): void {}

  /** A message is handed to whoever asks for it: nobody else can be made to take it. */
  attemptNow(): "closed" | "polled" {
    return isClosed(this.endpoint) ? "closed" : "polled";
  }

  waitingFor(): WaitingFor | null {
    if (this.endpoint.status === "paused") return "paused";
    if (this.parts.isSuspended(this.endpoint.projectId)) return "plan_limit";
    return this.parts.canRecord() ? null : "disk";
  }

  /**
   * Resolves when there is something to look at since `changes` was `seen`, when `signal` ends the wait, or
   * at once where the process stops.
   */
  changed(seen: number, signal: AbortSignal): Promise<void> {
    if (this.isStopped || this.#changes !== seen || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const go = () => {
        this.#waiters.delete(go);
        signal.removeEventListener("abort", go);
        resolve();
      };
      signal.addEventListener("abort", go);
      this.#waiters.set(go, seen);
    });
  }

  /** Sends every poller away; resolves when nothing is on its way to the disk. */
  stop(): Promise<void> {
    if (this.#state.mode !== "stopped")
      this.#state = {
        mode: "stopped",
        isEnding: this.#state.mode === "disposing" && this.#state.isEnding,
        whenQuiet: [],
      };
    const { whenQuiet } = this.#state;
    for (const go of [...this.#waiters.keys()]) go();
    return new Promise((resolve) => {
      whenQuiet.push(resolve);
      this.#tellQuiet();
    });
  }

  #change(): void {
    this.#changes++;
    if (this.#waiters.size > 0 && !this.#isWaking)
      this.parts.unattended("waking of pollers", this.#wakePollers());
    this.#disposeSlice();
  }

  /** One after the other, each in its turn, until there is nothing for the next one. */
  async #wakePollers(): Promise<void> {
    this.#isWaking = true;
    try {
      for (;;) {
        await this.parts.giveWay(this.endpoint.projectId);
        const [first] = this.#waiters;
        if (first === undefined || !this.#isThereFor(first[1])) return;
        first[0]();
      }
    } finally {
      this.#isWaking = false;
    }
  }

  /** True where who has seen so many changes gets something by looking again, or a refusal. */
  #isThereFor(seen: number): boolean {
    if (seen < this.#changedItself) return true;
    return seen < this.#changes && !this.isHeldBack && this.parts.parked(this.endpoint.id, 1).length > 0;
  }

  /** Ends what waits, one slice after the other, each in its account's turn. */
  #disposeSlice(): void {
    if (this.#state.mode !== "open" || !isClosed(this.endpoint)) return;
    if (this.isQuiet || !this.parts.canRecord()) return;
    this.#state = { mode: "disposing", isEnding: false };
    this.parts.unattended("disposal", this.#endSlice());
  }

  async #endSlice(): Promise<void> {
    let ids: readonly number[] = [];
    try {
      await this.parts.dispose(this.endpoint, () => (ids = this.#takeForDisposal()));
    } finally {
      if (ids.length > 0) this.#onEnded();
    }
    this.#disposeSlice();
  }

  /** Its turn has come. */
  #takeForDisposal(): readonly number[] {
    if (this.#state.mode !== "disposing") return [];
    // Where the rows cannot be read it may stand in line again.
    this.#state = { mode: "open" };
    if (!isClosed(this.endpoint) || !this.parts.canRecord()) return [];
    const ids = this.parts.parked(this.endpoint.id, limit("sliceRows")).map(({ id }) => id);
    if (ids.length > 0) this.#state = { mode: "disposing", isEnding: true };
    return ids;
  }

  #onEnded(): void {
    if (this.#state.mode === "stopped") this.#state.isEnding = false;
    else this.#state = { mode: "open" };
    this.#tellQuiet();
  }

  #tellQuiet(): void {
    if (this.#state.mode !== "stopped" || this.#state.isEnding) return;
    for (const resolve of this.#state.whenQuiet.splice(0)) resolve();
  }
}
