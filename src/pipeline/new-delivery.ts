import { endedBy, untriedDelivery } from "../core/delivery.ts";
import { keyTime } from "../core/ids.ts";
import type { Endpoint, Event, Origin } from "../core/model.ts";
import type { Waiting } from "../core/waiting.ts";
import { isPolled } from "../destinations/destinations.ts";
import type { SteadyClock } from "../platform/clock.ts";
import type { Data } from "../store/data.ts";
import type { EventWithData } from "../store/log/events.ts";

/** How the row of a new delivery is written. */
interface NewRow {
  id: number;
  /** Its key was set aside with its event, and other keys were given out since (Deliveries.insert). */
  isKeyOlder: boolean;
  waitsForPlan: boolean;
  /** Endpoints whose deliveries have to be parked (Outlet.endpointsToPark). */
  toPark: ReadonlySet<number>;
  /** The envelope, which all deliveries of the event have in common (envelopeBytesOf). */
  body: Uint8Array;
}

/**
 * Writes one delivery, inside a write; null where there is nothing to send yet: it waits for the account's
 * plan, or is ended at birth because its endpoint is disabled or deleted.
 */
export function writeDelivery(
  data: Pick<Data, "store" | "endpoints" | "deliveries" | "notes">,
  clock: SteadyClock,
  event: EventWithData,
  endpoint: Endpoint,
  { id, isKeyOlder, waitsForPlan, toPark, body }: NewRow,
): Waiting | null {
  const origin: Origin = event.isTest ? "test" : "publish";
  const ending = endedBy(endpoint);
  const ended = ending && { status: ending, at: data.store.now() };
  const isSent = ended === null && !waitsForPlan;
  const due = isSent ? firstDue(data, clock, event) : null;
  const queueOrder = due === null ? null : queueOrderFor(data, endpoint, due, toPark);
  const keys = { id, eventId: event.id, endpointId: endpoint.id, projectId: event.projectId };
  const delivery = untriedDelivery({ ...keys, origin, due }, ended);
  data.deliveries.insert(delivery, queueOrder, isKeyOlder);
  if (ended) data.notes.addEnding(event.id, id, ended.status);
  if (due === null) return null;
  const { type, hops, trace } = event;
  return { id, endpointId: endpoint.id, due, queueOrder, load: { delivery, type, hops, trace, body } };
}

/**
 * Keys only grow: after the wall clock was set back they are ahead of it, and the event is due all the same.
 */
function firstDue(data: Pick<Data, "store">, clock: SteadyClock, { id, isTest }: Event): number {
  const now = data.store.now();
  return Math.min(clock.now(), clock.fromWall(isTest ? now : Math.min(keyTime(id), now)));
}

/** An endpoint of a consumer gets only that consumer's events. */
export function mayGet({ consumerId }: Endpoint, event: Pick<Event, "consumerId">): boolean {
  return consumerId === null || consumerId === event.consumerId;
}

/**
 * Asked again inside the write, as the endpoint may have been given to another consumer since the event was
 * prepared. A test is for its endpoint, as long as that is still its consumer's.
 */
export function isTheirs(endpoint: Endpoint, event: Pick<Event, "consumerId" | "isTest">): boolean {
  return event.isTest ? endpoint.consumerId === event.consumerId : mayGet(endpoint, event);
}

/**
 * Inside a write: `Waiting.queueOrder` of a delivery that is due at `due`. `toPark` are the endpoints that
 * Outlet.endpointsToPark named before the write.
 */
export function queueOrderFor(
  data: Pick<Data, "store">,
  { id, kind }: Endpoint,
  due: number,
  toPark: ReadonlySet<number>,
): number | null {
  // A key of this moment, so that it stands after all that was handed out before.
  if (isPolled(kind)) return data.store.takeKey();
  return toPark.has(id) ? due : null;
}
