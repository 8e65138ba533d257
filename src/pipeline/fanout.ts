import { Problem } from "../core/errors.ts";
import { limit } from "../core/limits.ts";
import { envelopeBytesOf } from "../core/model.ts";
import { Rota } from "../core/structures/rota.ts";
import type { Waiting } from "../core/waiting.ts";
import { keepsOrder } from "../destinations/destinations.ts";
import { isTheirs, writeDelivery } from "./new-delivery.ts";
import type { Outlet } from "./outlet.ts";
import type { Data } from "../store/data.ts";
import type { Fanout } from "../store/log/fanouts.ts";

/** A part of a fan-out that one transaction writes: endpoints `from` up to, and without, `until`. */
interface Slice {
  fanout: Fanout;
  from: number;
  until: number;
}

/** The fan-outs of a project that are still to be written. */
interface Queues {
  /** With endpoints that keep the order still to be written, in the order of their events. */
  ordered: Fanout[];
  others: Fanout[];
}

/** Whoever waits before one project's door, in the order in which they came. */
interface Door {
  readonly line: AtDoor[];
  /** Of all of them together. */
  rows: number;
}

/** Who waits until their project has room for so many deliveries. */
interface AtDoor {
  rows: number;
  /** When they are refused instead. */
  until: number;
  enter: () => void;
  refuse: (problem: Problem) => void;
}

/** Which of a list of endpoints keep the order. */
interface Order extends Pick<Fanout, "endpoints" | "ordered"> {
  /** `Endpoints.changes` at that time. */
  asOf: number;
  /**
   * Endpoints that the fan-out takes for such as keep the order, and `Endpoints` does not: others are told of
   * that in a moment, or it is over.
   */
  untold: ReadonlySet<number>;
}

/**
 * Writes the deliveries of wide fan-outs after their events, `fanoutSliceRows` a transaction, and hands them
 * to the actors. One transaction at a time, so that a slice stays small, however many fan-outs there are.
 * Accounts take turns, and in them their projects. Endpoints that keep the order stand first in a fan-out,
 * and those of the project's next one wait until they are written. An endpoint that comes to keep the order
 * meanwhile stays where it stands in the list: from then on all endpoints before it are written first, too.
 */
export class Spreader {
  /** By project. */
  readonly #queues = new Map<number, Queues>();
  /** Projects by their accounts, so that one's fan-outs, however many, do not hold up another's. */
  readonly #rota = new Rota();
  /** The latest list of endpoints that was looked at, and the order that they keep: a batch shares one. */
  #lookedAt: Order | null = null;
  /** By project: whoever waits until all of a fan-out is written. */
  readonly #waiting = new Map<number, Map<Fanout, () => void>>();
  /** By project: deliveries that are still to be written, or announced. */
  readonly #rows = new Map<number, number>();
  /** By project, where any wait for room before more is written. */
  readonly #atDoor = new Map<number, Door>();
  #isRunning = false;
  #isWaitingForDispatcher = false;

  constructor(
    readonly data: Pick<
      Data,
      "store" | "tenants" | "endpoints" | "events" | "fanouts" | "deliveries" | "notes" | "waitingEvents"
    >,
    readonly outlet: Outlet,
  ) {
    data.store.onWritable(() => this.#start());
    // One that is new is in no list yet.
    data.endpoints.onChange((endpoint, before) => {
      const isTold = before === undefined || keepsOrder(before);
      if (keepsOrder(endpoint) && !isTold) this.#keepOrder(endpoint.projectId, new Set([endpoint.id]));
    });
  }

  /**
   * Before the write of `rows` deliveries that may follow their events: resolves once the project has room
   * for them. Answers what to call when they are taken up, or never will be. Throws 429 where it waits long,
   * or at once where too many wait already: each of them holds its lists.
   */
  async waitForRoom(projectId: number, rows: number): Promise<() => void> {
    if (!this.#atDoor.has(projectId) && this.#hasRoom(projectId, rows)) this.#count(projectId, rows);
    else
      await new Promise<void>((enter, refuse) => {
        const door = this.#atDoor.get(projectId) ?? { line: [], rows: 0 };
        if (door.rows > 0 && door.rows + rows > limit("fanoutDoorMax"))
          return refuse(tooManyToWrite(this.#rows.get(projectId) ?? 0));
        door.line.push({ rows, until: this.outlet.clock.now() + limit("fanoutWaitMs"), enter, refuse });
        door.rows += rows;
        this.#atDoor.set(projectId, door);
      });
    return () => this.#count(projectId, -rows);
  }

  /** A full disk refuses the write itself. */
  #hasRoom(projectId: number, rows: number): boolean {
    const ahead = this.#rows.get(projectId) ?? 0;
    return ahead === 0 || ahead + rows <= limit("fanoutWaitingMax") || !this.data.store.writable;
  }

  #count(projectId: number, by: number): void {
    const rows = (this.#rows.get(projectId) ?? 0) + by;
    if (rows > 0) this.#rows.set(projectId, rows);
    else this.#rows.delete(projectId);
    if (by < 0) this.#openDoor(projectId);
  }

  /**
   * Lets in those of a project's line that there is room for, and refuses those that waited too long. No more
   * than a slice of them: while any are left, others are inside, and whoever leaves opens the door again.
   */
  #openDoor(projectId: number): void {
    const door = this.#atDoor.get(projectId);
    if (!door) return;
    const { line } = door;
    const now = this.outlet.clock.now();
    let looked = 0;
    for (const { rows, until, enter, refuse } of line.slice(0, limit("sliceRows"))) {
      if (this.#hasRoom(projectId, rows)) {
        this.#count(projectId, rows);
        enter();
      } else if (now >= until) refuse(tooManyToWrite(this.#rows.get(projectId) ?? 0));
      else break;
      door.rows -= rows;
      looked++;
    }
    line.splice(0, looked);
    if (line.length === 0) this.#atDoor.delete(projectId);
  }

  /**
   * Takes up a fan-out whose row is on disk. Where it is awaited, resolves once all of it is written, or the
   * disk is full, as then it goes on later; else at once.
   */
  add(fanout: Fanout, isAwaited: boolean): Promise<void> {
    const ended = isAwaited ? this.#untilWritten(fanout) : Promise.resolve();
    this.#lookAtOrder(fanout);
    if (fanout.ordered > fanout.written) this.#putInOrder(fanout);
    else this.#queuesOf(fanout.projectId).others.push(fanout);
    this.#count(fanout.projectId, restOf(fanout));
    this.#start();
    return ended;
  }

  #untilWritten(fanout: Fanout): Promise<void> {
    const waiting = this.#waiting.get(fanout.projectId) ?? new Map<Fanout, () => void>();
    this.#waiting.set(fanout.projectId, waiting);
    return new Promise((resolve) => waiting.set(fanout, resolve));
  }

  /** Takes up those that a crash cut short. */
  recover(): void {
    for (const fanout of this.data.fanouts.unfinished()) void this.add(fanout, false);
  }

  /**
   * Endpoints may have come to keep the order since the list of a fan-out was made: while its event was
   * written, or before a crash. This fan-out, and the project's others, are told of them here.
   */
  #lookAtOrder(fanout: Fanout): void {
    const { changes } = this.data.endpoints;
    if (fanout.asOf === changes) return;
    const isKnown = this.#lookedAt?.endpoints === fanout.endpoints && this.#lookedAt.asOf === changes;
    if (!isKnown || this.#lookedAt === null) this.#lookedAt = this.#orderOf(fanout);
    const { ordered, untold } = this.#lookedAt;
    fanout.ordered = Math.max(fanout.ordered, ordered);
    if (untold.size > 0) this.#keepOrder(fanout.projectId, untold);
  }

  #orderOf({ endpoints, ordered: known }: Fanout): Order {
    const untold = new Set<number>();
    let ordered = known;
    for (const [at, id] of endpoints.entries()) {
      const endpoint = this.data.endpoints.get(id);
      // One that is deleted is sent nothing: it keeps no order.
      if (endpoint === undefined) continue;
      if (keepsOrder(endpoint)) ordered = Math.max(ordered, at + 1);
      else if (at < known) untold.add(id);
    }
    return { endpoints, asOf: this.data.endpoints.changes, ordered, untold };
  }

  /** Endpoints of a project have come to keep the order. */
  #keepOrder(projectId: number, ids: ReadonlySet<number>): void {
    const queues = this.#queues.get(projectId);
    if (!queues) return;
    // A batch shares its list, which may be as long as the project has endpoints.
    const lastOf = new Map<readonly number[], number>();
    for (const fanout of [...queues.ordered, ...queues.others]) {
      const { endpoints, written, ordered } = fanout;
      const until = lastOf.get(endpoints) ?? endpoints.findLastIndex((id) => ids.has(id)) + 1;
      lastOf.set(endpoints, until);
      if (until <= Math.max(written, ordered)) continue;
      this.#takeOut(fanout);
      fanout.ordered = until;
      this.#putInOrder(fanout);
    }
  }

  #queuesOf(projectId: number): Queues {
    const queues = this.#queues.get(projectId) ?? { ordered: [], others: [] };
    this.#queues.set(projectId, queues);
    this.#rota.add(this.data.tenants.accountIdOf(projectId), projectId);
    return queues;
  }

  #putInOrder(fanout: Fanout): void {
    const { ordered } = this.#queuesOf(fanout.projectId);
    const later = ordered.findIndex(({ eventId }) => eventId > fanout.eventId);
    ordered.splice(later < 0 ? ordered.length : later, 0, fanout);
  }

  #start(): void {
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.data.store.writable) {
      const slices = this.#takeSlices();
      if (slices.length === 0) break;
      await this.#writeAll(slices);
    }
    this.#isRunning = false;
    if (!this.data.store.writable) {
      for (const waiting of this.#waiting.values()) for (const fanout of waiting.keys()) this.#answer(fanout);
      for (const projectId of this.#atDoor.keys()) this.#openDoor(projectId);
    } else if (this.#queues.size > 0) this.#startOnceSomeHaveGone();
  }

  #startOnceSomeHaveGone(): void {
    if (this.#isWaitingForDispatcher) return;
    this.#isWaitingForDispatcher = true;
    void this.outlet.dispatcher.untilNextTurn().then(() => {
      this.#isWaitingForDispatcher = false;
      this.#start();
    });
  }

  /**
   * Very many are written no faster than they go out, unless somebody waits for them. A project that has less
   * than a slice on its way is not ahead, whatever others have there: else a steady stream of theirs would
   * stop it.
   */
  #isAhead(projectId: number): boolean {
    const { dispatcher } = this.outlet;
    if (dispatcher.waiting <= limit("fanoutAtOnceMax") || this.#waiting.has(projectId)) return false;
    return dispatcher.waitingOfProject(projectId) >= limit("fanoutSliceRows");
  }

  /** In one transaction; where the disk is full, not at all. */
  async #writeAll(slices: readonly Slice[]): Promise<void> {
    try {
      const toPark = this.outlet.endpointsToPark(slices.flatMap(endpointsOf));
      const written = await this.data.store.write(() => slices.map((slice) => this.#write(slice, toPark)));
      this.outlet.dispatcher.dispatch(written.flat());
      for (const { fanout, from, until } of slices) {
        this.#count(fanout.projectId, from - until);
        if (until === fanout.endpoints.length) this.#answer(fanout);
      }
    } catch (error) {
      if (error instanceof Problem) this.#putBack(slices);
      else this.#giveUp(slices, error);
    }
  }

  /** The rows of these fan-outs stay: the next start takes them up where they are. */
  #giveUp(slices: readonly Slice[], error: unknown): void {
    this.data.store.report("fan-out", error);
    for (const { fanout, from } of slices) {
      this.#takeOut(fanout);
      this.#count(fanout.projectId, from - fanout.endpoints.length);
      this.#answer(fanout);
    }
  }

  #answer(fanout: Fanout): void {
    const waiting = this.#waiting.get(fanout.projectId);
    waiting?.get(fanout)?.();
    waiting?.delete(fanout);
    if (waiting?.size === 0) this.#waiting.delete(fanout.projectId);
  }

  /**
   * What the next transaction writes: of one project, and where that has less, of the next ones too. Those
   * that are ahead are passed over, and keep their places.
   */
  #takeSlices(): Slice[] {
    const slices: Slice[] = [];
    const served: number[] = [];
    let room = limit("fanoutSliceRows");
    for (const projectId of this.#rota.members()) {
      if (this.#isAhead(projectId)) continue;
      room = this.#takeOf(this.#queuesOf(projectId), room, slices);
      served.push(projectId);
      if (room <= 0) break;
    }
    for (const projectId of served) {
      const { ordered, others } = this.#queuesOf(projectId);
      const goesOn = ordered.length + others.length > 0;
      if (!goesOn) this.#queues.delete(projectId);
      this.#rota.pass(projectId, goesOn);
    }
    return slices;
  }

  /**
   * Slices of one project, half of them for those that keep the order where others wait too; answers the room
   * that is left.
   */
  #takeOf(queues: Queues, most: number, slices: Slice[]): number {
    const { ordered, others } = queues;
    let room = most;
    const kept = others.length > 0 ? Math.floor(room / 2) : 0;
    for (let [first] = ordered; first !== undefined && room > kept; [first] = ordered)
      room -= this.#take(queues, ordered, Math.min(room - kept, first.ordered - first.written), slices);
    while (room > 0 && others.length > 0) room -= this.#take(queues, others, room, slices);
    return room;
  }

  /**
   * A slice of the first of a queue; answers how many rows' room it takes, as its event is read for it. One
   * that is not done stays the first where order is kept or somebody waits; else the others go on.
   */
  #take({ others }: Queues, queue: Fanout[], count: number, slices: Slice[]): number {
    const fanout = queue.shift();
    if (fanout === undefined) return 0;
    const from = fanout.written;
    const until = Math.min(from + count, fanout.endpoints.length);
    slices.push({ fanout, from, until });
    fanout.written = until;
    if (until < fanout.ordered) queue.unshift(fanout);
    else if (until < fanout.endpoints.length)
      if (this.#waiting.get(fanout.projectId)?.has(fanout)) others.unshift(fanout);
      else others.push(fanout);
    const bytes = this.data.events.bytesOf(fanout.eventId);
    return Math.max(until - from, Math.ceil((bytes * limit("fanoutSliceRows")) / limit("fanoutSliceBytes")));
  }

  #putBack(slices: readonly Slice[]): void {
    for (const { fanout, from } of slices.toReversed()) {
      this.#takeOut(fanout);
      fanout.written = from;
      if (from < fanout.ordered) this.#putInOrder(fanout);
      else this.#queuesOf(fanout.projectId).others.unshift(fanout);
    }
  }

  #takeOut(fanout: Fanout): void {
    const { ordered, others } = this.#queuesOf(fanout.projectId);
    for (const queue of [ordered, others]) if (queue.includes(fanout)) queue.splice(queue.indexOf(fanout), 1);
  }

  #write({ fanout, from, until }: Slice, toPark: ReadonlySet<number>): Waiting[] {
    // The row of a fan-out goes with its event, where that is erased: nothing more is written then.
    if (!this.data.fanouts.advance(fanout, from, until)) return [];
    const event = this.data.events.getWithData(fanout.eventId);
    if (event === null) return [];
    const body = envelopeBytesOf(event);
    const waits = this.data.waitingEvents.has(event.projectId, event.id);
    const written = fanout.endpoints.slice(from, until).flatMap((endpointId, at): Waiting | readonly [] => {
      const known = this.data.endpoints.current(endpointId) ?? this.data.endpoints.getAnyway(endpointId);
      const id = fanout.firstKey + from + at;
      // The endpoint was erased with its consumer, or is another consumer's by now.
      const endpoint = known && isTheirs(known, event) ? known : undefined;
      if (endpoint === undefined) this.data.events.countDelivery(event.id, -1);
      const row = { id, isKeyOlder: true, waitsForPlan: waits, toPark, body };
      const waiting = endpoint && writeDelivery(this.data, this.outlet.clock, event, endpoint, row);
      return waiting ?? [];
    });
    // All that waited for the plan may have been ended before the last slice came.
    if (waits && until === fanout.endpoints.length)
      this.data.waitingEvents.leave({ projectId: event.projectId, eventId: event.id });
    return written;
  }
}

function endpointsOf({ fanout, from, until }: Slice): { id: number }[] {
  return fanout.endpoints.slice(from, until).map((id) => ({ id }));
}

function restOf({ endpoints, written }: Fanout): number {
  return endpoints.length - written;
}

function tooManyToWrite(ahead: number): Problem {
  const detail = `${ahead} deliveries of this project's wide events are still to be written. Publish again once there are fewer.`;
  return new Problem("rate_limited", detail, { headers: { "retry-after": "5" } });
}
