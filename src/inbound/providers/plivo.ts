import { checkedDocs, officialSdk } from "../define.ts";
import { hmac } from "../digest.ts";
import { all, bodyHash, field, firstOf, provenHash, signedText } from "../facts.ts";
import { joinFields, readForm, sorted } from "../form.ts";
import { once } from "../../core/structures/once.ts";
import type { InboundRequest, RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, headerOf, JOINED_FIELDS } from "../schemes/scheme.ts";

/** Plivo V3: the address, its sorted query, the sorted form fields and a nonce. */

const SIGNATURES = ["x-plivo-signature-v3", "x-plivo-signature-ma-v3"];
const NONCE = "x-plivo-signature-v3-nonce";

/**
 * `https://host/path?a=1&b=2`: the query sorted, unescaped; `?` also before nothing where there are form
 * fields.
 */
function addressOf(url: string, hasFields: boolean): string {
  const [base = "", query = ""] = url.split("?", 2);
  const pairs = sorted([...new URLSearchParams(query)].map(([name, value]) => `${name}=${value}`));
  if (pairs.length === 0) return hasFields ? `${base}?` : base;
  return `${base}?${pairs.join("&")}${hasFields ? "." : ""}`;
}

/** What is signed before the nonce, which is another at each try; null where it is no form, or too long. */
const contentOf = once((request: InboundRequest): string | null => {
  const fields = readForm(request);
  return fields && addressOf(request.url, fields.size > 0) + joinFields(fields, sorted);
});

function compare(arrival: Arrival): Comparison | RefusalReason {
  const { request } = arrival;
  const nonce = headerOf(request, NONCE);
  const present = SIGNATURES.map((name) => headerOf(request, name)).filter((value) => value !== "");
  if (nonce === "" || present.length === 0) return "missing_header";
  const content = contentOf(request);
  // The last dot of what is signed begins the nonce, or the end of the form could be taken for it.
  if (content === null || nonce.includes(".")) return "malformed";
  return {
    given: present.flatMap((value) => value.split(",", 100)),
    proven: content,
    expected: (secret) => [hmac("sha256", secret, [content, ".", nonce], "base64")],
  };
}

const SIGNED_TEXT = signedText(({ arrival }) => contentOf(arrival.request));

const CHECKS = "HMAC with SHA-256 in base64 over {url}, the form's fields by name, and the nonce";

export const PLIVO: ProviderRow = {
  key: "plivo",
  name: "Plivo",
  scheme: comparedScheme({
    headers: [...SIGNATURES, NONCE],
    needsPublicUrl: true,
    checks: CHECKS,
    covers: JOINED_FIELDS,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "Auth Token",
  form: "always",
  typeExample: "delivered",
  eventType: firstOf(field("Event"), field("Status"), field("CallStatus")),
  deliveryId: firstOf(
    all(field("MessageUUID"), field("Status")),
    all(field("CallUUID"), firstOf(field("Event"), field("CallStatus")), SIGNED_TEXT),
    bodyHash,
  ),
  proofTakenOnce: provenHash,
  verifiedWith: officialSdk("plivo", "4.79.0"),
  docs: checkedDocs(
    "A Plivo application's Message URL or Answer URL: its API has them as message_url and answer_url.",
    "Plivo Console: Dashboard (console.plivo.com/dashboard), Auth Token.",
    "https://github.com/plivo/plivo-node#readme",
    "The address is signed: enter it there exactly as shown here, or set public_url.",
    "Only signature version 3 is read.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Plivo Console: Dashboard (console.plivo.com/dashboard), Auth Token.":
    "Plivo Console: Dashboard (console.plivo.com/dashboard), Auth Token.",
};
