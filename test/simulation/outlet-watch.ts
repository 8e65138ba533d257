import { atOnce } from "../../src/core/structures/turn-queue.ts";
import { limit } from "../../src/core/limits.ts";
import type { Load, Waiting } from "../../src/core/waiting.ts";
import type { Actors } from "../../src/delivery/actors.ts";
import { keepsOrder } from "../../src/destinations/destinations.ts";
import type { Outlet } from "../../src/pipeline/outlet.ts";
import type { Data } from "../../src/store/data.ts";
import type { Met } from "./scenario.ts";

export interface OutletListeners {
  met(bound: keyof Met): void;
  violate(text: string): void;
  /**
   * An attempt that the queue does not start is about to begin: false where one of the delivery is under way.
   */
  byHand(deliveryId: number): boolean;
  /** It is refused. */
  notByHand(deliveryId: number): void;
  /** What became of it: null where it began. */
  triedByHand(deliveryId: number, trigger: "manual" | "test", refusal: string | null): void;
  /** They went on to their actors, or into the line. */
  dispatched(committed: readonly Waiting[]): void;
}

/**
 * Stands between those who write deliveries and the actors: counts the bounds that they meet, and says where
 * a bound does not hold, or one project waits while another is served twice.
 */
export class OutletWatch implements Outlet {
  readonly dispatcher: Outlet["dispatcher"];
  /** What waits in the line, by project; what is dropped at its turn stands here until the line is empty. */
  readonly #lined = new Map<number, Map<number, Load | null>>();
  /** What the actors were given of a delivery, by its id. */
  readonly #given = new Map<number, Load>();
  #isDispatching = false;
  /** What waits for an endpoint that comes to keep the order goes to its actor: that is no turn. */
  #isHandedOver = false;
  /** Since the last look: projects that were served from the line, and how many joined it. */
  #served = new Set<number>();
  #joined = 0;
  #waitedBefore = 0;
  /** Whose turn was the last, and who waited then. */
  #last: { projectId: number; others: Set<number> } | null = null;

  constructor(
    private readonly actors: Actors,
    private readonly endpoints: Data["endpoints"],
    private readonly tell: OutletListeners,
  ) {
    const { dispatcher } = actors;
    this.dispatcher = {
      dispatch: (committed) => this.#dispatch(committed),
      get waiting() {
        return dispatcher.waiting;
      },
      waitingOfProject: (projectId) => dispatcher.waitingOfProject(projectId),
      untilNextTurn: () => dispatcher.untilNextTurn(),
    };
    const enqueue = actors.enqueue.bind(actors);
    actors.enqueue = (waiting, starts) => {
      const { id, load } = waiting;
      if (!this.#isDispatching) this.#leave(id, load);
      if (load !== null) this.#given.set(id, load);
      enqueue(waiting, starts);
    };
    const bringAllOf = dispatcher.bringAllOf.bind(dispatcher);
    dispatcher.bringAllOf = (endpoint) => {
      this.#isHandedOver = true;
      bringAllOf(endpoint);
      this.#isHandedOver = false;
    };
    const attemptNow = actors.attemptNow.bind(actors);
    actors.attemptNow = (id, trigger, isTypeChosen) => {
      const isOnly = tell.byHand(id);
      const attempt = attemptNow(id, trigger, isTypeChosen);
      const refusal = typeof attempt === "string" ? attempt : null;
      if (refusal !== null && isOnly) tell.notByHand(id);
      tell.triedByHand(id, trigger, refusal);
      return attempt;
    };
  }

  get clock(): Outlet["clock"] {
    return this.actors.clock;
  }

  endpointsToPark(endpoints: readonly { id: number }[]): ReadonlySet<number> {
    const toPark = this.actors.endpointsToPark(endpoints);
    const isBehind = this.actors.dispatcher.waiting >= limit("dispatchWaitingMax");
    if (isBehind && endpoints.some(({ id }) => !toPark.has(id)))
      this.tell.violate("too many are on their way to their actors, and one more is not parked");
    if (isBehind) this.tell.met("lineFull");
    else if (toPark.size > 0) this.tell.met("queueFull");
    if (toPark.size > 0 && atOnce(this.actors.counts()).queued >= limit("queuedTotalMax"))
      this.tell.met("allQueuesFull");
    return toPark;
  }

  /** An attempt begins with this. */
  onStart(load: Load): void {
    const given = this.#given.get(load.delivery.id);
    if (given !== undefined && given !== load && load.delivery.attemptCount === 0)
      this.tell.met("bodyNotKept");
  }

  /** At each step: projects take turns in the line. */
  look(): void {
    const { waiting } = this.actors.dispatcher;
    const left = this.#waitedBefore + this.#joined - waiting;
    this.#waitedBefore = waiting;
    this.#joined = 0;
    const [projectId] = this.#served;
    this.#served.clear();
    if (waiting === 0) this.#lined.clear();
    // What left was out of date: nobody can tell whose turn it was.
    if (projectId === undefined && left > 0) this.#last = null;
    if (projectId === undefined) return;
    const others = new Set([...this.#lined.keys()].filter((id) => id !== projectId));
    if (this.#last?.projectId === projectId && [...others].some((id) => this.#last?.others.has(id)))
      this.tell.violate("a project is served twice while another one waits");
    this.#last = { projectId, others };
  }

  #dispatch(committed: readonly Waiting[]): void {
    const { dispatcher } = this.actors;
    const before = dispatcher.waiting;
    this.#isDispatching = true;
    dispatcher.dispatch(committed);
    this.#isDispatching = false;
    this.tell.dispatched(committed);
    const joined = dispatcher.waiting - before;
    if (joined === 0) return;
    this.tell.met("lineUsed");
    this.#joined += joined;
    const found = committed.flatMap(({ id, endpointId, queueOrder, load }) => {
      const endpoint = this.endpoints.getAnyway(endpointId);
      const isQuick = queueOrder !== null || (endpoint !== undefined && keepsOrder(endpoint));
      return isQuick ? [] : [{ id, load, projectId: endpoint?.projectId ?? 0 }];
    });
    for (const { id, load, projectId } of found.slice(-joined)) {
      const lined = this.#lined.get(projectId) ?? new Map<number, Load | null>();
      this.#lined.set(projectId, lined.set(id, load));
    }
  }

  #leave(id: number, load: Load | null): void {
    for (const [projectId, lined] of this.#lined) {
      const before = lined.get(id);
      if (!lined.delete(id)) continue;
      if (!this.#isHandedOver) this.#served.add(projectId);
      if (before && load === null) this.tell.met("lineWithoutBody");
      if (lined.size === 0) this.#lined.delete(projectId);
    }
  }
}
