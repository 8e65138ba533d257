import type { Endpoint } from "../../core/model.ts";
import type { Load } from "../../core/waiting.ts";
import type { Message } from "../../destinations/destination.ts";
import { type SendParts, type Sent, sentMalformed, sign, UNREADABLE } from "../send.ts";
import { reshape } from "../transformations.ts";

export type HandOutParts = Pick<SendParts, "ids" | "turnsOf" | "now" | "dated" | "onBroken">;

/** A delivery in the form in which a poller gets it; `message` is null where it could not be rendered. */
export interface HandOut extends Sent {
  message: Message | null;
}

/** Shapes and signs a delivery at this moment. Never rejects. */
export async function handOut(parts: HandOutParts, endpoint: Endpoint, load: Load): Promise<HandOut> {
  const at = parts.dated();
  try {
    const shaped = await reshape(parts, endpoint, load);
    if (!shaped.ok) return { ...sentMalformed(at, shaped.error), message: null };
    const message = sign(parts.ids, endpoint, load, shaped.body, parts.now());
    return { ...factsOf(message, load, at), message };
  } catch (error) {
    parts.onBroken(endpoint, error);
    return { ...sentMalformed(at, UNREADABLE), message: null };
  }
}

/** What the attempt shows: what was handed out, and no answer yet. */
function factsOf(message: Message, load: Load, startedAt: number): Sent {
  return {
    startedAt,
    durationMs: 0,
    statusCode: null,
    error: null,
    requestHead: `GET /poll/${message.endpointId}\nwebhook-id\nwebhook-timestamp\nwebhook-signature`,
    messageId: message.id,
    endpointId: message.endpointId,
    sentAt: message.timestampSeconds,
    signature: message.signature,
    traceparent: null,
    requestBody: message.body === load.body ? null : message.body,
    responseHeaders: [],
    responseBody: null,
    truncated: false,
    outcome: "handed_out",
    saysGone: false,
    slows: false,
    retryAfterMs: null,
  };
}
