import { keyTime } from "./core/ids.ts";
import { limit } from "./core/limits.ts";
import { type Delivery, type Endpoint, type Event, envelopeOf, type Origin } from "./core/model.ts";
import type { Load, Waiting } from "./outbound/actor.ts";
import type { Actors } from "./outbound/actors.ts";
import type { Data } from "./store/data.ts";
import type { EventWithData } from "./store/events.ts";
import type { Fanout } from "./store/fanouts.ts";

/** A delivery that is on disk and goes to its actor; `load` where its body is at hand. */
export interface Dispatch {
  endpoint: Endpoint;
  waiting: Waiting;
  load: Load | null;
}

/** Attempts that one turn of the loop starts: each is rendered, signed and sent, some 40 µs. */
const STARTED_A_TURN = 50;
/** A turn starts no more than bodies of that many bytes, as each may have to be read and written anew. */
const BYTES_A_TURN = 128 * 1024;

const encoder = new TextEncoder();

/** Hands deliveries to their actors, a slice a turn of the loop, so that nobody waits for a wide fan-out. */
export function dispatchAll(data: Data, actors: Actors, dispatches: readonly Dispatch[], from = 0): void {
  let bytes = 0;
  let at = from;
  while (at < dispatches.length && at - from < STARTED_A_TURN && bytes < BYTES_A_TURN) {
    const { endpoint, waiting, load } = dispatches[at++] as Dispatch;
    // Whoever waited a turn may have been cancelled, tried by hand or erased meanwhile.
    const delivery = from === 0 && load ? load.delivery : data.deliveries.get(waiting.id);
    if (delivery !== null && delivery.due !== null)
      actors.enqueue(endpoint.id, waiting, load && { ...load, delivery });
    bytes += load?.body.length ?? 0;
  }
  if (at < dispatches.length) data.store.schedule(() => dispatchAll(data, actors, dispatches, at));
}

/**
 * Hands over what was just committed. Endpoints that keep the order are told at once, so that no later event overtakes.
 */
export function dispatchInOrder(data: Data, actors: Actors, dispatches: readonly Dispatch[]): void {
  const isOrdered = ({ endpoint }: Dispatch) => endpoint.ordering === "fifo";
  for (const { endpoint, waiting, load } of dispatches.filter(isOrdered))
    actors.enqueue(endpoint.id, waiting, load);
  const others = dispatches.filter((dispatch) => !isOrdered(dispatch));
  dispatchAll(data, actors, others);
}

/** The bytes that deliveries of an event have in common. */
export function bodyOf({ type, timestamp, data }: EventWithData): Uint8Array {
  return encoder.encode(envelopeOf(type, timestamp, data));
}

/**
 * Writes one delivery, inside a write; null where there is nothing to send yet: it waits for the account's plan, or is dead at birth
 * because its endpoint is disabled.
 */
export function writeDelivery(
  data: Data,
  actors: Actors,
  event: Event,
  endpoint: Endpoint,
  id: number,
  written: "with its event" | "later",
  waitsForPlan: boolean,
): { waiting: Waiting; delivery: Delivery } | null {
  const origin: Origin = event.isTest ? "test" : "publish";
  const dead = endpoint.status === "disabled";
  // Keys only grow: after the wall clock was set back they are ahead of it, and the event is due all the same.
  const now = data.store.now();
  const isSent = !dead && !waitsForPlan;
  const due = !isSent ? null : origin === "publish" ? Math.min(keyTime(event.id), now) : now;
  const queueOrder = due === null ? null : actors.placeFor(endpoint, id, due);
  const eventId = event.id;
  const endpointId = endpoint.id;
  const { projectId } = event;
  const status = dead ? "dead" : "pending";
  data.deliveries.insert({ id, eventId, endpointId, projectId, status, origin, due, queueOrder }, written);
  if (dead) data.notes.add(event.id, id, "dead_lettered", "endpoint_disabled");
  if (due === null) return null;
  const delivery: Delivery = {
    id,
    eventId,
    endpointId,
    projectId,
    status,
    attemptCount: 0,
    step: 0,
    origin,
    metered: false,
    generation: 0,
    due,
    deadReason: null,
    completedAt: null,
  };
  return { waiting: { id, due, queueOrder }, delivery };
}

/** A part of a fan-out that one transaction writes: endpoints `from` up to, and without, `until`. */
interface Slice {
  fanout: Fanout;
  from: number;
  until: number;
}

/**
 * Writes the deliveries of wide fan-outs after their events, `fanoutSliceRows` a transaction, and hands them to the actors. One
 * transaction at a time, the fan-outs in turn: so a slice stays small, however many there are.
 */
export class Spreader {
  readonly #waiting: Fanout[] = [];
  #isRunning = false;

  constructor(
    private readonly data: Data,
    private readonly actors: Actors,
  ) {}

  /** Takes up a fan-out whose row is on disk. */
  add(fanout: Fanout): void {
    this.#waiting.push(fanout);
    if (!this.#isRunning) void this.#run();
  }

  /** Takes up those that a crash cut short. */
  recover(): void {
    for (const fanout of this.data.fanouts.unfinished()) this.add(fanout);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const slices = this.#takeSlices();
      const written = await this.data.store.write(() => slices.flatMap((slice) => this.#write(slice)), true);
      dispatchAll(this.data, this.actors, written);
    }
    this.#isRunning = false;
  }

  /** What the next transaction writes; a fan-out that is not done then goes to the end of the queue. */
  #takeSlices(): Slice[] {
    const slices: Slice[] = [];
    let room = limit("fanoutSliceRows");
    while (room > 0) {
      const fanout = this.#waiting.shift();
      if (fanout === undefined) break;
      const from = fanout.written;
      const until = Math.min(from + room, fanout.endpoints.length);
      slices.push({ fanout, from, until });
      room -= until - from;
      fanout.written = until;
      if (until < fanout.endpoints.length) this.#waiting.push(fanout);
    }
    return slices;
  }

  #write({ fanout, from, until }: Slice): Dispatch[] {
    // Its row goes with the event that is erased: what waits here is not made any more.
    if (!this.data.fanouts.advance(fanout, from, until)) return [];
    const event = this.data.events.getWithData(fanout.eventId);
    if (event === null) return [];
    const body = bodyOf(event);
    const waits = this.data.waitingEvents.has(event.projectId, event.id);
    return fanout.endpoints.slice(from, until).flatMap((endpointId, at): Dispatch[] => {
      const endpoint = this.data.endpoints.getAnyway(endpointId);
      const id = fanout.firstKey + from + at;
      // It was erased with its consumer.
      if (endpoint === undefined) this.data.events.countDelivery(event.id, -1);
      const written = endpoint && writeDelivery(this.data, this.actors, event, endpoint, id, "later", waits);
      if (!written) return [];
      return [
        { endpoint, waiting: written.waiting, load: { delivery: written.delivery, type: event.type, body } },
      ];
    });
  }
}
