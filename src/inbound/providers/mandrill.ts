import { checkedDocs, documentation } from "../define.ts";
import { hmac } from "../digest.ts";
import { all, bodyHash, field, firstOf, provenHash, signedText } from "../facts.ts";
import { joinFields, readForm } from "../form.ts";
import { emptyBatch, headProbe } from "../handshakes.ts";
import { once } from "../../core/structures/once.ts";
import type { InboundRequest, RefusalReason } from "../provider.ts";
import { emptyHandshake } from "../answers.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, headerOf, JOINED_FIELDS } from "../schemes/scheme.ts";

/**
 * Mandrill signs its address and form fields. The key of its first test is the published word `test-webhook`.
 */

const SIGNATURE = "x-mandrill-signature";
const TEST_KEY = "test-webhook";

/** What is signed; null where it is no form, or too long. */
const contentOf = once((request: InboundRequest): string | null => {
  const fields = readForm(request);
  return fields && request.url + joinFields(fields, (values) => values);
});

function sign(key: string, content: string): string {
  return hmac("sha1", key, [content], "base64");
}

function compare(arrival: Arrival): Comparison | RefusalReason {
  const signature = headerOf(arrival.request, SIGNATURE);
  if (signature === "") return "missing_header";
  const content = contentOf(arrival.request);
  if (content === null) return "malformed";
  return { given: [signature], expected: (secret) => [sign(secret, content)], proven: content };
}

/** The test at creation carries no events, so anyone may know its key. */
function answerTest(arrival: Arrival) {
  const { request } = arrival;
  const isEmpty = readForm(request)?.get("mandrill_events")?.join() === "[]";
  const wanted = isEmpty && sign(TEST_KEY, contentOf(request) ?? "");
  return headerOf(request, SIGNATURE) === wanted ? emptyHandshake() : null;
}

const SIGNED_TEXT = signedText(({ arrival }) => contentOf(arrival.request));

const CHECKS = "HMAC with SHA-1 in base64 over {url} and the form's fields by name";

export const MANDRILL: ProviderRow = {
  key: "mandrill",
  name: "Mailchimp Transactional (Mandrill)",
  scheme: comparedScheme({
    headers: [SIGNATURE],
    needsPublicUrl: true,
    checks: CHECKS,
    covers: JOINED_FIELDS,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "Webhook key",
  unsignedHandshakes: [
    headProbe,
    { text: "mandrill_events=[] signed with the key test-webhook, at creation", answer: answerTest },
  ],
  signedHandshakes: [emptyBatch("mandrill_events=[] is answered 200", "mandrill_events")],
  form: "always",
  typeExample: "send",
  eventType: field("mandrill_events.0.event"),
  deliveryId: firstOf(
    all(
      field("mandrill_events.*._id"),
      field("mandrill_events.*.event"),
      field("mandrill_events.*.ts"),
      SIGNED_TEXT,
    ),
    bodyHash,
  ),
  proofTakenOnce: provenHash,
  verifiedWith: documentation(
    "https://mailchimp.com/developer/transactional/guides/track-respond-activity-webhooks/#authenticating-webhook-requests",
  ),
  docs: checkedDocs(
    "The call webhooks/add of the Mailchimp Transactional API, field url.",
    "The field auth_key in the answer to that call.",
    "https://github.com/mailchimp/mailchimp-client-lib-codegen/blob/main/spec/transactional.json",
    "The address is signed: enter it there exactly as shown here, with every slash, or set public_url.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The field auth_key in the answer to that call.": "Das Feld auth_key in der Antwort auf jenen Aufruf.",
};
