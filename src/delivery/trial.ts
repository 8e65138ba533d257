import { untriedDelivery } from "../core/delivery.ts";
import { TRIAL_TYPE } from "../core/event-type.ts";
import { type Endpoint, envelopeBytesOf } from "../core/model.ts";
import { send, type SendParts, type Sent } from "./send.ts";

export const TRIAL_DATA = { message: "This is a test event from Sealpost." };

/**
 * Sends one message to a destination that is not stored yet, as its deliveries will be sent; `key` is nobody
 * else's. Transformations are left out: they are made for other events than this. Never rejects; null where
 * it was given up because the process ends.
 */
export function sendTrial(
  parts: SendParts,
  destination: Omit<Endpoint, "id">,
  key: number,
): Promise<Sent | null> {
  const endpoint: Endpoint = { ...destination, id: key, transformations: null };
  const now = parts.now();
  const data = JSON.stringify(TRIAL_DATA);
  const { projectId } = endpoint;
  const keys = { id: key, eventId: key, endpointId: key, projectId };
  return send(parts, endpoint, {
    type: TRIAL_TYPE,
    hops: 0,
    trace: null,
    body: envelopeBytesOf({ type: TRIAL_TYPE, timestamp: now, data }),
    delivery: untriedDelivery({ ...keys, origin: "test", due: now }),
  });
}
