import { elementSpans, hasNameTwice } from "../../core/json/json.ts";
import { isHeavy } from "../../core/structures/turn-queue.ts";
import { choiceConfig } from "../config.ts";
import { checkedDocs, documentation } from "../define.ts";
import { type Bytes, hmac, isAnySame } from "../digest.ts";
import { all, bodyDigest, bodyHash, field, firstOf, joined, proven } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, type Coverage, headerOf } from "../schemes/scheme.ts";
import { decodeUtf8 } from "../utf8.ts";

/**
 * Segment signs an event's JSON; of a batch only the first element, as JSON.stringify would write it. So
 * whoever has seen one request could send its event as the first of a batch: a signature makes one event, and
 * where the source refuses batches, nothing else can be sent with it.
 */

const SIGNATURE = "x-signature";
const BATCHES = ["taken", "refused"] as const;

/**
 * The texts that may have been signed of an array: its first element as it stands, which is how Segment sends
 * it, and written anew where that costs little. None where it has several and the source takes no batches.
 */
function signedOfBatch(text: string, takesBatches: boolean): string[] {
  const [first, second] = elementSpans(text, text.indexOf("["), 2);
  if (!first || (second && !takesBatches)) return [];
  const element = text.slice(first.start, first.end);
  return isHeavy(element.length) ? [element] : [element, ...writtenAnew(element)];
}

function writtenAnew(element: string): string[] {
  try {
    return [JSON.stringify(JSON.parse(element))];
  } catch {
    return [];
  }
}

/** What may have been signed: the bytes themselves, or of an array what `signedOfBatch` says. */
function signedIn(body: Uint8Array, takesBatches: boolean): { isBatch: boolean; signed: Bytes[] } {
  const text = decodeUtf8(body);
  const isBatch = text?.trimStart().startsWith("[") === true;
  return { isBatch, signed: isBatch ? signedOfBatch(text, takesBatches) : [body] };
}

/** By this secret; none where a name stands twice: a reader may take another value than the last. */
function macsOf(signed: readonly Bytes[], secret: string, signature: string): string[] {
  const macs = signed.map((each) => hmac("sha1", secret, [each], "hex"));
  // Asked last: of what is forged it costs most.
  const [element, anew] = signed;
  const isUnsure = anew !== undefined && isAnySame(macs, [signature]) && hasNameTwice(String(element));
  return isUnsure ? [] : macs;
}

function compare({ request, material }: Arrival): Comparison | RefusalReason {
  const signature = headerOf(request, SIGNATURE);
  if (signature === "") return "missing_header";
  const takesBatches = material.config["batches"] !== BATCHES[1];
  const { isBatch, signed } = signedIn(request.body, takesBatches);
  if (signed.length === 0) return "malformed";
  const given = signature.toLowerCase();
  // Before it is verified nothing but its first element is parsed.
  const expected = (secret: string) => macsOf(signed, secret, given);
  return { given: [given], needsJson: isBatch, proven: given, expected };
}

const CHECKS = "HMAC with SHA-1 in hex over {body}; of a batch over its first event";

const COVERS: Coverage = {
  body: "part",
  but:
    "Of a batch only the first event is signed: switch batching off at Segment, and set config.batches to refused. Otherwise whoever " +
    "has seen a request before it arrived can send other events behind its first, once.",
};

export const SEGMENT: ProviderRow = {
  key: "segment",
  name: "Segment",
  scheme: comparedScheme({ headers: [SIGNATURE], checks: CHECKS, covers: COVERS, compare }),
  secretFrom: "source",
  secretLabel: "Shared secret",
  config: [
    choiceConfig(
      "batches",
      "Batches",
      "Of a batch Segment signs the first event only: taken (default) with that signature, or refused.",
      BATCHES,
    ),
  ],
  typeExample: "track.Order_Completed",
  eventType: firstOf(joined(field("type"), field("event")), joined(field("0.type"), field("0.event"))),
  // Whoever has a site's write key, which every visitor has, chooses the ids.
  deliveryId: firstOf(all(firstOf(field("messageId"), field("*.messageId")), bodyDigest), bodyHash),
  // A signature makes one event: what stands behind the first of a batch may be exchanged.
  proofTakenOnce: proven("the signature"),
  verifiedWith: documentation(
    "https://www.twilio.com/docs/segment/connections/destinations/catalog/actions-webhook",
  ),
  docs: checkedDocs(
    "Segment: Connections, Catalog, Webhooks (Actions), Configure Webhooks (Actions); the address stands in each mapping.",
    "The destination: Settings, Advanced Settings, shared secret: paste the source's.",
    "https://www.twilio.com/docs/segment/connections/destinations/catalog/actions-webhook",
    "Switch batching off in each mapping, or set its Batch Size to 1, and set config.batches to refused.",
    "A batch that is taken stays one event here, named after its first.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  Batches: "Stapel",
  "Of a batch Segment signs the first event only: taken (default) with that signature, or refused.":
    "Von einem Stapel signiert Segment nur das erste Ereignis: mit dieser Signatur angenommen (ohne Angabe) oder abgelehnt.",
  "The destination: Settings, Advanced Settings, shared secret: paste the source's.":
    "Beim Ziel: Settings, Advanced Settings, shared secret: das der Quelle einfügen.",
};
