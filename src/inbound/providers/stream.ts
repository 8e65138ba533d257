import { gunzipSync } from "node:zlib";
import { limit } from "../../core/limits.ts";
import { checkedDocs, documentation } from "../define.ts";
import { bodyHash, field, firstOf, header } from "../facts.ts";
import type { InboundRequest } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";

/** Stream may compress; what it signs is the body before that. Bounded, so that a bomb is malformed. */
function unpack(request: InboundRequest): InboundRequest | null {
  if (request.headers.get("content-encoding")?.toLowerCase() !== "gzip") return request;
  try {
    return { ...request, body: gunzipSync(request.body, { maxOutputLength: limit("ingestBodyBytesMax") }) };
  } catch {
    return null;
  }
}

export const STREAM: ProviderRow = {
  key: "stream",
  name: "Stream (getstream.io)",
  scheme: hmacScheme({ header: "x-signature", algorithm: "sha256", encoding: "hex" }),
  secretFrom: "customer",
  secretLabel: "API secret",
  unpack,
  typeExample: "message.new",
  eventType: field("type"),
  deliveryId: firstOf(header("X-Webhook-Id"), bodyHash),
  verifiedWith: documentation("https://getstream.io/chat/docs/node/webhooks_overview/"),
  docs: checkedDocs(
    "The call updateApp of Stream's server API, fields webhook_url or event_hooks.",
    "The app's API secret, the one its server client is made with.",
    "https://github.com/GetStream/stream-node",
    "Compressed bodies are read too; the signature is over the body before compression.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The app's API secret, the one its server client is made with.":
    "Das API-Geheimnis der App, mit dem ihr Server-Client angelegt wird.",
};
