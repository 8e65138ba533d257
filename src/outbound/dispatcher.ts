import type { Delivery, Endpoint } from "../core/model.ts";
import type { Share, TurnParts } from "../core/turn-queue.ts";
import type { Load, Waiting } from "./actor-parts.ts";

/** A delivery that is on disk and goes to its actor; `load` where its body is at hand. */
export interface Dispatch {
  endpoint: Endpoint;
  waiting: Waiting;
  load: Load | null;
}

export interface DispatcherParts extends TurnParts {
  keepsOrder(endpoint: Endpoint): boolean;
  /** The delivery as it stands now. */
  read(id: number): Delivery | null;
  enqueue(endpointId: number, waiting: Waiting, load: Load | null): void;
}

/** Attempts that one share of a turn starts at most: each is rendered, signed and sent, some 40 µs, and several times that at first. */
const STARTED_A_SHARE = 32;
/** A share starts no more than bodies of that many bytes, as each may have to be read and written anew. */
const BYTES_A_SHARE = 128 * 1024;

/** So many go at once, whatever waits. */
const NARROW_MAX = 10;

/** The share of what is over soon by itself. */
const NARROW: Share = { isOver: false };

/** The delivery where it is known to stand as it was. */
type Known = (of: Dispatch) => Delivery | null;
const loadedDelivery: Known = ({ load }) => load?.delivery ?? null;
const unknownDelivery: Known = () => null;

/** Hands deliveries to their actors: some at once, the rest a share in each turn of the loop, so that nobody waits for a wide fan-out. */
export class Dispatcher {
  #waiting: Dispatch[] = [];
  /** How many of those that wait are handed over. */
  #done = 0;
  #isScheduled = false;
  #onEmpty: (() => void)[] = [];

  constructor(private readonly parts: DispatcherParts) {}

  /** How many wait for later turns. */
  get waiting(): number {
    return this.#waiting.length - this.#done;
  }

  /** Resolves when none wait any more. */
  get isEmpty(): Promise<void> {
    return this.waiting === 0 ? Promise.resolve() : new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  /**
   * Takes what was committed, `isFresh` where that was just now. Endpoints that keep the order are told at once, so that no later event
   * overtakes.
   */
  dispatch(dispatches: readonly Dispatch[], isFresh = true): void {
    const others: Dispatch[] = [];
    for (const dispatch of dispatches) {
      if (this.parts.keepsOrder(dispatch.endpoint)) this.#hand(dispatch, loadedDelivery);
      else others.push(dispatch);
    }
    // What is narrow goes before what waits.
    const share = others.length <= NARROW_MAX ? NARROW : this.#isScheduled ? null : this.parts.beginShare();
    const at = share === null ? 0 : this.#share(others, 0, isFresh ? loadedDelivery : unknownDelivery, share);
    if (at === others.length) return;
    for (const dispatch of others.slice(at)) this.#waiting.push(dispatch);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.parts.schedule(() => {
      this.#isScheduled = false;
      this.#goOn();
    });
  }

  #goOn(): void {
    this.#done = this.#share(this.#waiting, this.#done, unknownDelivery, this.parts.beginShare());
    if (this.#done < this.#waiting.length) return this.#schedule();
    this.#waiting = [];
    this.#done = 0;
    for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  /** Hands over what there is time for, from the place `from` on; answers how far it came. */
  #share(dispatches: readonly Dispatch[], from: number, known: Known, share: Share): number {
    let bytes = 0;
    let at = from;
    const hasRoom = () => at - from < STARTED_A_SHARE && bytes < BYTES_A_SHARE && !share.isOver;
    while (at < dispatches.length && (at === from || hasRoom())) {
      const dispatch = dispatches[at++] as Dispatch;
      this.#hand(dispatch, known);
      bytes += dispatch.load?.body.length ?? 0;
    }
    return at;
  }

  /** Whoever waited a turn, or for the disk, may have been cancelled, tried, replayed or erased meanwhile: its row says it. */
  #hand(dispatch: Dispatch, known: Known): void {
    const { endpoint, waiting, load } = dispatch;
    const delivery = known(dispatch) ?? this.parts.read(waiting.id);
    if (delivery === null || delivery.due === null) return;
    this.parts.enqueue(endpoint.id, { ...waiting, due: delivery.due }, load && { ...load, delivery });
  }
}
