import { elementSpans } from "../../core/json/json.ts";
import { checkedDocs, documentation } from "../define.ts";
import { hmac } from "../digest.ts";
import { field, firstOf, joined } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, type Coverage, headerOf } from "../schemes/scheme.ts";

/** Segment signs an event's JSON; of a batch only the first element, as JSON.stringify would write it. */

const SIGNATURE = "x-signature";

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The texts that may have been signed: the body; of an array its first element as it stands, and
 * written anew.
 */
function signedTexts(text: string): string[] {
  const value = parse(text);
  if (!Array.isArray(value) || value.length === 0) return [text];
  const [span] = elementSpans(text, text.indexOf("["));
  const asItStands = span ? text.slice(span.start, span.end) : text;
  return [asItStands, JSON.stringify(value[0])];
}

function compare({ request }: Arrival): Comparison | RefusalReason {
  const signature = headerOf(request, SIGNATURE);
  if (signature === "") return "missing_header";
  const texts = signedTexts(new TextDecoder().decode(request.body));
  return {
    given: [signature.toLowerCase()],
    expected: (secret) => texts.map((text) => hmac("sha1", secret, [text], "hex")),
  };
}

const CHECKS = "HMAC with SHA-1 in hex over {body}; of a batch over its first event";

const COVERS: Coverage = {
  body: "part",
  but: "Of a batch only the first event is signed: switch batching off.",
};

export const SEGMENT: ProviderRow = {
  key: "segment",
  name: "Segment",
  scheme: comparedScheme({ headers: [SIGNATURE], checks: CHECKS, covers: COVERS, compare }),
  secretFrom: "source",
  secretLabel: "Shared secret",
  typeExample: "track.Order_Completed",
  eventType: firstOf(joined(field("type"), field("event")), joined(field("0.type"), field("0.event"))),
  deliveryId: firstOf(field("messageId"), field("*.messageId")),
  verifiedWith: documentation(
    "https://www.twilio.com/docs/segment/connections/destinations/catalog/actions-webhook",
  ),
  docs: checkedDocs(
    "Segment: Connections, Catalog, Webhooks (Actions), Configure Webhooks (Actions); the address stands in each mapping.",
    "The destination: Settings, Advanced Settings, shared secret: paste the source's.",
    "https://www.twilio.com/docs/segment/connections/destinations/catalog/actions-webhook",
    "One request may hold several events; it stays one event here, named after its first.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The destination: Settings, Advanced Settings, shared secret: paste the source's.":
    "Beim Ziel: Settings, Advanced Settings, shared secret: das der Quelle einfügen.",
};
