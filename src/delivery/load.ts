import type { Load } from "../core/waiting.ts";
import { envelopeBytesOf } from "../core/model.ts";
import type { Data } from "../store/data.ts";
import { isBodyGone } from "../store/log/events.ts";

/** A delivery with its message, from the database; null where either is gone. */
export function loadDelivery(data: Pick<Data, "events" | "deliveries">, deliveryId: number): Load | null {
  const delivery = data.deliveries.get(deliveryId);
  const event = delivery && data.events.getWithData(delivery.eventId);
  if (!delivery || !event || isBodyGone(event)) return null;
  return { delivery, type: event.type, hops: event.hops, trace: event.trace, body: envelopeBytesOf(event) };
}
