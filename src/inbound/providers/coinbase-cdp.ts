import { checkedDocs, documentation } from "../define.ts";
import { hash, hmac } from "../digest.ts";
import { derived, field, firstOf, signedHeader } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { pairs } from "../schemes/layouts.ts";
import { type Arrival, faultOfTime, headerOf, WHOLE_BODY } from "../schemes/scheme.ts";
import { within } from "../window.ts";

/** Hook0's v1, which Coinbase uses: `{t}.{header names}.{their values, joined by dots}.{body}`. */

const SIGNATURE = "x-hook0-signature";
const WINDOW = within(300);
const readSignature = pairs(",", "t", "v1");
const HEADERS_MAX = 32;
/** Of the signature's header: a time, names, and a signature or two. */
const PARTS_MAX = 100;

/** The names as they stand in the header, and the values of these headers. */
function readSigned({ request }: Arrival): { names: string; list: readonly string[]; values: string[] } {
  const parts = headerOf(request, SIGNATURE).split(",", PARTS_MAX);
  const names = parts.find((part) => part.startsWith("h="))?.slice(2) ?? "";
  const list = names === "" ? [] : names.split(" ", HEADERS_MAX);
  return { names, list, values: list.map((name) => headerOf(request, name.toLowerCase())) };
}

function compare(arrival: Arrival): Comparison | RefusalReason {
  const { request } = arrival;
  if (!request.headers.has(SIGNATURE)) return "missing_header";
  const { signatures, timestamp } = readSignature(headerOf(request, SIGNATURE));
  const fault = faultOfTime(timestamp, "s", WINDOW, arrival);
  if (fault !== null) return fault;
  const { names, list, values } = readSigned(arrival);
  const head = `${timestamp}.${names}.${values.join(".")}.`;
  const signedHeaders = new Map(list.map((name, at) => [name.toLowerCase(), values[at] ?? ""]));
  return {
    signedHeaders,
    given: signatures,
    expected: (secret) => [hmac("sha256", secret, [head, request.body], "hex")],
  };
}

/**
 * Names and values are signed as one text: who has seen a request may cut it elsewhere, at any dot in it,
 * also between the last name and the first value, as a name may hold a dot. No header has a value of its own
 * for certain. A retry repeats the text as a whole.
 */
const identity = derived("hash of the signed header names, their values and the body", ({ arrival }) => {
  const { names, values } = readSigned(arrival);
  return hash("sha256", [`${names}.${values.join(".")}.`, arrival.request.body], "hex");
});

const CHECKS = "HMAC with SHA-256 in hex over {timestamp}.{header names}.{header values}.{body}";

export const COINBASE_CDP: ProviderRow = {
  key: "coinbase_cdp",
  name: "Coinbase Developer Platform",
  scheme: comparedScheme({
    headers: [SIGNATURE],
    checks: CHECKS,
    covers: WHOLE_BODY,
    window: WINDOW,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "Subscription secret",
  typeExample: "onchain.activity.detected",
  eventType: firstOf(field("eventType"), field("event_type"), field("type"), signedHeader("X-Event-Type")),
  deliveryId: identity,
  verifiedWith: documentation("https://docs.cdp.coinbase.com/webhooks/verify-signatures"),
  docs: checkedDocs(
    "POST /platform/v2/data/webhooks/subscriptions of the CDP API, field target.url.",
    "The field secret in the answer to that call: who loses it makes another subscription.",
    "https://github.com/coinbase/cdp-sdk/blob/main/openapi.yaml",
    "Proxies must not change the headers that h= names: their values are signed.",
    "Coinbase Commerce signs otherwise: use the provider coinbase_commerce for it.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Subscription secret": "Geheimnis des Abonnements",
  "The field secret in the answer to that call: who loses it makes another subscription.":
    "Das Feld secret in der Antwort auf jenen Aufruf: Wer es verliert, legt ein neues Abonnement an.",
};
