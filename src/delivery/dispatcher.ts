import { limit } from "../core/limits.ts";
import type { Delivery, Endpoint } from "../core/model.ts";
import type { Waiting } from "../core/waiting.ts";
import type { Starts } from "./actor-parts.ts";
import { keepsOrder } from "../destinations/destinations.ts";
import { Rota } from "../core/structures/rota.ts";
import type { Share, TurnParts } from "../core/structures/turn-queue.ts";

export interface DispatcherParts extends TurnParts {
  /** The delivery as it stands now. */
  read(id: number): Delivery | null;
  endpoint(id: number): Endpoint | undefined;
  accountOf(projectId: number): number;
  enqueue(waiting: Waiting, starts: Starts): void;
}

/** The share of a few deliveries: they are brought in this turn, however long it is already. */
const UNBOUNDED: Share = { isOver: false };

/** `fresh`: synced just now, so that the delivery stands as it was written. `waited`: in a line. */
type Age = "fresh" | "waited";

/** What waits of a project, in order; `done` of them are brought. */
interface Line {
  items: Waiting[];
  done: number;
}

/** Without those that are brought, once they are half of it: each is copied once at most. */
function shortened(line: Line): Line {
  return line.done * 2 < line.items.length ? line : { items: line.items.slice(line.done), done: 0 };
}

/**
 * Brings deliveries to their actors: some at once, the rest a share in each turn of the loop, so that nobody
 * waits for a wide fan-out.
 */
export class Dispatcher {
  /** By project. */
  readonly #waiting = new Map<number, Line>();
  /** Projects take turns by their accounts, so that one's backlog does not hold up another. */
  readonly #rota = new Rota();
  /** How many wait of each endpoint that has any. */
  readonly #ofEndpoint = new Map<number, number>();
  #count = 0;
  /** Bytes of the bodies that are at hand for those that wait. */
  #bytes = 0;
  #isScheduled = false;
  #onTurn: (() => void)[] = [];

  constructor(private readonly parts: DispatcherParts) {}

  /** How many wait for later turns. */
  get waiting(): number {
    return this.#count;
  }

  /** How many wait for later turns of one endpoint; what was ended meanwhile counts until its turn. */
  waitingOf(endpointId: number): number {
    return this.#ofEndpoint.get(endpointId) ?? 0;
  }

  /** The same of one project's endpoints, without those that were erased meanwhile. */
  waitingOfProject(projectId: number): number {
    const line = this.#waiting.get(projectId);
    return line === undefined ? 0 : line.items.length - line.done;
  }

  /** Resolves after the next turn, in which some of those that wait are brought; at once where none wait. */
  untilNextTurn(): Promise<void> {
    return this.waiting === 0 ? Promise.resolve() : new Promise((resolve) => this.#onTurn.push(resolve));
  }

  /**
   * Takes what was synced just now. Endpoints that keep the order are told at once, so that no later event
   * overtakes; those that this turn has no time for start it in a later one.
   */
  dispatch(synced: readonly Waiting[]): void {
    const others: Waiting[] = [];
    let share: Share | null = null;
    for (const waiting of synced)
      if (this.#goesAtOnce(waiting)) {
        share ??= this.parts.beginShare();
        this.#bring(waiting, "fresh", share.isOver ? "later" : "now");
      } else others.push(waiting);
    const at = this.#bringAtOnce(others);
    if (at === others.length) return;
    for (const waiting of others.slice(at)) this.#line(waiting);
    this.#schedule();
  }

  /** Brings what goes in this turn, and answers how many: a few go before all that waits in lines. */
  #bringAtOnce(synced: readonly Waiting[]): number {
    if (synced.length <= limit("dispatchAtOnceMax")) return this.#bringSome(synced, 0, "fresh", UNBOUNDED);
    if (this.#isScheduled) return 0;
    return this.#bringSome(synced, 0, "fresh", this.parts.beginShare());
  }

  /** What is parked waits in the database: its actor is only told. */
  #goesAtOnce({ endpointId, queueOrder }: Waiting): boolean {
    if (queueOrder !== null) return true;
    const endpoint = this.parts.endpoint(endpointId);
    return endpoint !== undefined && keepsOrder(endpoint);
  }

  /** Beyond what bodies may take, the body is read again when its turn comes. */
  #line(waiting: Waiting): void {
    const projectId = this.parts.endpoint(waiting.endpointId)?.projectId ?? 0;
    const line = this.#lineOf(projectId);
    const bytes = waiting.load?.body.length ?? 0;
    const isKept = this.#bytes + bytes <= limit("dispatchBytesMax");
    line.items.push(isKept ? waiting : { ...waiting, load: null });
    this.#count++;
    this.#ofEndpoint.set(waiting.endpointId, this.waitingOf(waiting.endpointId) + 1);
    if (isKept) this.#bytes += bytes;
  }

  #lineOf(projectId: number): Line {
    const known = this.#waiting.get(projectId);
    if (known) return known;
    const line = { items: [], done: 0 };
    this.#waiting.set(projectId, line);
    this.#rota.add(this.parts.accountOf(projectId), projectId);
    return line;
  }

  /**
   * An endpoint comes to keep the order: what waits for it goes to its actor now, or what is told at once
   * from now on would overtake it.
   */
  bringAllOf({ id, projectId }: Pick<Endpoint, "id" | "projectId">): void {
    const line = this.#waiting.get(projectId);
    if (!line) return;
    const [own, others] = [[] as Waiting[], [] as Waiting[]];
    for (const waiting of line.items.slice(line.done))
      (waiting.endpointId === id ? own : others).push(waiting);
    this.#waiting.set(projectId, { items: others, done: 0 });
    for (const waiting of own) this.#leave(waiting);
    for (const waiting of own) this.#bring(waiting, "waited");
  }

  #leave({ load, endpointId }: Waiting): void {
    this.#count--;
    const left = this.waitingOf(endpointId) - 1;
    if (left > 0) this.#ofEndpoint.set(endpointId, left);
    else this.#ofEndpoint.delete(endpointId);
    this.#bytes -= load?.body.length ?? 0;
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
    const [projectId] = this.#rota.members();
    const line = projectId === undefined ? undefined : this.#waiting.get(projectId);
    if (projectId !== undefined && line !== undefined) {
      const from = line.done;
      line.done = this.#bringSome(line.items, from, "waited", this.parts.beginShare());
      for (const waiting of line.items.slice(from, line.done)) this.#leave(waiting);
      const goesOn = line.done < line.items.length;
      if (goesOn) this.#waiting.set(projectId, shortened(line));
      else this.#waiting.delete(projectId);
      this.#rota.pass(projectId, goesOn);
    }
    if (this.#count > 0) this.#schedule();
    for (const resolve of this.#onTurn.splice(0)) resolve();
  }

  /** Brings what there is time for, from the place `from` on; answers how far it came. */
  #bringSome(items: readonly Waiting[], from: number, age: Age, share: Share): number {
    let bytes = 0;
    let at = from;
    const [most, bytesMost] = [limit("dispatchSliceMax"), limit("dispatchSliceBytesMax")];
    const hasRoom = () => at - from < most && bytes < bytesMost && !share.isOver;
    while (at < items.length && (at === from || hasRoom())) {
      const waiting = items[at++] as Waiting;
      // Its actor lets go of the body as soon as it is sent.
      bytes += waiting.load?.body.length ?? 0;
      this.#bring(waiting, age);
    }
    return at;
  }

  /**
   * A delivery that waited a turn may have been cancelled, tried, replayed or erased meanwhile, so its row is
   * read. One that was touched between its commit and this turn loses its body at its actor (touched.ts).
   */
  #bring(waiting: Waiting, age: Age, starts: Starts = "now"): void {
    const { load } = waiting;
    const delivery = age === "fresh" && load ? load.delivery : this.parts.read(waiting.id);
    if (delivery === null || delivery.due === null) return;
    if (delivery === load?.delivery) return this.parts.enqueue(waiting, starts);
    this.parts.enqueue({ ...waiting, due: delivery.due, load: load && { ...load, delivery } }, starts);
  }
}
