import { gunzipSync } from "node:zlib";
import { limit } from "../../core/limits.ts";
import { isHeavy } from "../../core/structures/turn-queue.ts";
import { checkedDocs, documentation } from "../define.ts";
import { bodyHash, field, firstOf, header } from "../facts.ts";
import type { InboundRequest, ReadingMeans } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";

/** Of gzip's head and tail (RFC 1952); the tail ends with the length of what was packed. */
const FRAME_BYTES = 18;
const LENGTH_BYTES = 4;

/** Stream may compress; what it signs is the body before that. */
async function unpack(request: InboundRequest, means: ReadingMeans): Promise<InboundRequest | null> {
  const { headers, body } = request;
  if (headers.get("content-encoding")?.toLowerCase() !== "gzip") return request;
  const bytes = unpackedBytes(body);
  if (bytes === null) return null;
  if (isHeavy(bytes)) await means.giveWay(bytes);
  try {
    // A body that says less than it holds is read no further.
    return { ...request, body: gunzipSync(body, { maxOutputLength: Math.max(1, bytes) }) };
  } catch {
    return null;
  }
}

/** To how much it says that it unpacks; null where that is no gzip, or too much. */
function unpackedBytes(packed: Uint8Array): number | null {
  if (packed.length < FRAME_BYTES) return null;
  const tail = new DataView(packed.buffer, packed.byteOffset + packed.length - LENGTH_BYTES, LENGTH_BYTES);
  const bytes = tail.getUint32(0, true);
  const isBomb = isHeavy(bytes) && bytes > packed.length * limit("unpackedTimesMax");
  return isBomb || bytes > limit("ingestBodyBytesMax") ? null : bytes;
}

export const STREAM: ProviderRow = {
  key: "stream",
  name: "Stream (getstream.io)",
  scheme: hmacScheme({
    header: "x-signature",
    algorithm: "sha256",
    encoding: "hex",
    // The tokens of its users.
    signsOtherTexts: true,
  }),
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
