import type { Caller } from "../../core/caller.ts";
import { notFound } from "../../core/errors.ts";
import type { Endpoint, Event } from "../../core/model.ts";
import type { ReadonlyShelf } from "../../core/structures/shelf.ts";
import type { ListedDelivery } from "../../store/log/delivery-list.ts";
import type { EventWithData } from "../../store/log/events.ts";
import type { Needs } from "../framework/services.ts";

/**
 * What a caller may see. A key sees its project; a portal token sees its consumer's events, and of
 * them what went to the consumer's own endpoints. What is foreign does not exist.
 */

/** No consumer has this id: it has at least one character. */
const NO_CONSUMER = "";

/** Keys of the endpoints whose deliveries count for the caller; null: all of the project. */
export function visibleEndpoints(services: Needs<"endpoints">, caller: Caller): ReadonlySet<number> | null {
  return services.endpoints.visibleTo(caller.projectId, caller.consumerId);
}

/**
 * The consumer that a list is held to; null: none. A portal token that asks for another one finds nothing.
 */
export function consumerFilter(caller: Caller, asked: string | undefined): string | null {
  if (caller.consumerId === null) return asked ?? null;
  return asked === undefined || asked === caller.consumerId ? caller.consumerId : NO_CONSUMER;
}

/** Throws 404 for an id that is malformed, unknown or foreign. */
export function findEvent(services: Needs<"ids" | "events">, caller: Caller, id: string): Event {
  const key = services.ids.decode("evt", id);
  const event = key === null ? null : services.events.get(key);
  if (!event || !belongsTo(caller, event)) throw notFound("event");
  return event;
}

/**
 * An event that was found, with its data, which are read only for its owner: how long that takes would tell
 * others how large they are. Throws 404 where it has left meanwhile.
 */
export function withData({ events }: Needs<"events">, { id }: Event): EventWithData {
  const whole = events.getWithData(id);
  if (!whole) throw notFound("event");
  return whole;
}

/** Throws 404 for an id that is malformed, unknown or foreign. */
export function findDelivery(
  services: Needs<"ids" | "endpoints" | "deliveryList">,
  caller: Caller,
  id: string,
): ListedDelivery {
  const delivery = seenDelivery(services, caller, id);
  if (delivery === null) throw notFound("delivery");
  return delivery;
}

/** The delivery that a body names; null where the caller has none of this id. */
export function seenDelivery(
  services: Needs<"ids" | "endpoints" | "deliveryList">,
  caller: Caller,
  id: string,
): ListedDelivery | null {
  const key = services.ids.decode("msg", id);
  const delivery = key === null ? null : services.deliveryList.get(key);
  if (delivery?.projectId !== caller.projectId) return null;
  return isVisible(services, caller, delivery) ? delivery : null;
}

function isVisible(services: Needs<"endpoints">, { consumerId }: Caller, delivery: ListedDelivery): boolean {
  if (consumerId === null) return true;
  const endpoint = services.endpoints.getAnyway(delivery.endpointId);
  return endpoint?.consumerId === consumerId && delivery.eventConsumerId === consumerId;
}

/** The endpoint that a body names; null where the caller has none of this id, or it is deleted. */
export function seenEndpoint(
  { ids, endpoints }: Needs<"ids" | "endpoints">,
  caller: Caller,
  id: string,
): Endpoint | null {
  const key = ids.decode("ep", id);
  const endpoint = key === null ? undefined : endpoints.get(key);
  return endpoint && belongsTo(caller, endpoint) ? endpoint : null;
}

/** Throws 404 for an id that is malformed, unknown or foreign, or whose endpoint is deleted. */
export function findEndpoint(services: Needs<"ids" | "endpoints">, caller: Caller, id: string): Endpoint {
  const endpoint = seenEndpoint(services, caller, id);
  if (endpoint === null) throw notFound("endpoint");
  return endpoint;
}

/** The endpoints that the caller may see, or those of them that are one consumer's. */
export function endpointsOf(
  { endpoints }: Needs<"endpoints">,
  caller: Caller,
  consumer?: string,
): ReadonlyShelf<Endpoint> {
  const consumerId = consumerFilter(caller, consumer);
  if (consumerId === null) return endpoints.ofProject(caller.projectId);
  return endpoints.ofConsumer(caller.projectId, consumerId);
}

/** True of what belongs to the caller's project, and, for a portal token, to its consumer. */
export function belongsTo(caller: Caller, of: { projectId: number; consumerId: string | null }): boolean {
  if (of.projectId !== caller.projectId) return false;
  return caller.consumerId === null || of.consumerId === caller.consumerId;
}
