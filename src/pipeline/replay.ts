import { untriedDelivery } from "../core/delivery.ts";
import type { Waiting } from "../core/waiting.ts";
import type { Delivery, Endpoint, Event } from "../core/model.ts";
import type { Data } from "../store/data.ts";
import { queueOrderFor } from "./new-delivery.ts";
import type { Outlet } from "./outlet.ts";

/** What a replay did to one endpoint. */
export interface Replayed {
  endpoint: Endpoint;
  delivery: Delivery;
  waiting: Waiting;
}

/**
 * Replays an event to one endpoint, inside a write: the delivery `known` is opened afresh, or, where it is
 * null, a new one is made with a `webhook-id` of its own, by `newKey` where one was set aside for it.
 * `enqueueReplayed` after the fsync. Null where the event, or its body, has left the log meanwhile, or the
 * endpoint is deleted.
 */
export function replayOne(
  data: Pick<Data, "store" | "endpoints" | "events" | "deliveries" | "notes" | "bodyRetention">,
  clock: Outlet["clock"],
  event: Event,
  endpoint: Endpoint,
  known: Delivery | null,
  toPark: ReadonlySet<number>,
  newKey: number | null = null,
): Replayed | null {
  if (!data.bodyRetention.has("bodies", event.id) || data.endpoints.current(endpoint.id) === undefined)
    return null;
  const due = clock.now();
  const id = known?.id ?? newKey ?? data.store.takeKey();
  const queueOrder = queueOrderFor(data, endpoint, due, toPark);
  const origin = event.isTest ? "test_replay" : "replay";
  if (known) data.deliveries.reopen(id, origin, due, queueOrder);
  else {
    const keys = { id, eventId: event.id, endpointId: endpoint.id, projectId: event.projectId };
    data.deliveries.insert(untriedDelivery({ ...keys, origin, due }), queueOrder, newKey !== null);
    data.events.countDelivery(event.id, 1);
  }
  data.notes.add(event.id, id, "replayed");
  const delivery = data.deliveries.get(id);
  if (!delivery) throw new Error("a delivery is gone that was just written");
  return { endpoint, delivery, waiting: { id, endpointId: endpoint.id, due, queueOrder, load: null } };
}

export function enqueueReplayed({ dispatcher }: Outlet, replayed: readonly Replayed[]): void {
  dispatcher.dispatch(replayed.map(({ waiting }) => waiting));
}
