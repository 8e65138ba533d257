import { type AnswerRule, answerEmpty } from "../answers.ts";
import { checkedDocs, officialSdk } from "../define.ts";
import { hash, hmac } from "../digest.ts";
import { all, bodyHash, type Facts, field, firstOf, header, provenHash, signedText } from "../facts.ts";
import { joinFields, readForm, sorted } from "../form.ts";
import { once } from "../../core/structures/once.ts";
import type { InboundRequest, RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, headerOf, JOINED_FIELDS } from "../schemes/scheme.ts";

/**
 * Twilio signs the address with the sorted form fields; with a JSON body, the address that holds the
 * body's hash.
 */

const SIGNATURE = "x-twilio-signature";

/** Twilio has signed addresses with and without the default port. */
function spellingsOf(url: string): string[] {
  const match = /^(https?):\/\/([^/?#:]+)(?::(\d+))?/.exec(url);
  if (!match) return [url];
  const [address, scheme = "", host = "", port] = match;
  const rest = url.slice(address.length);
  const defaultPort = scheme === "https" ? "443" : "80";
  return [`${scheme}://${host}${rest}`, `${scheme}://${host}:${port ?? defaultPort}${rest}`];
}

/**
 * What follows the address: where that holds the body's hash nothing, else the form's fields, equal values of
 * one name once; null where the body is no form, or too long.
 */
const fieldsOf = once((request: InboundRequest): string | null => {
  if (request.query.has("bodySHA256")) return "";
  const fields = readForm(request);
  return fields && joinFields(fields, (values) => sorted(new Set(values)));
});

function compare(arrival: Arrival): Comparison | RefusalReason {
  const { request } = arrival;
  const signature = headerOf(request, SIGNATURE);
  if (signature === "") return "missing_header";
  const bodyHashGiven = request.query.get("bodySHA256");
  if (bodyHashGiven !== null && bodyHashGiven !== hash("sha256", [request.body], "hex"))
    return "body_altered";
  const fields = fieldsOf(request);
  if (fields === null) return "malformed";
  return {
    given: [signature],
    proven: request.url + fields,
    expected: (secret) =>
      spellingsOf(request.url).map((url) => hmac("sha1", secret, [url, fields], "base64")),
  };
}

const SIGNED_TEXT = signedText(({ arrival: { request } }) => request.url + (fieldsOf(request) ?? ""));

/** A call waits for instructions: none is an empty document. */
const answerNothing: AnswerRule = () => ({
  status: 200,
  headers: { "content-type": "text/xml" },
  body: "<Response/>",
});

function answerFor({ body }: Facts): AnswerRule {
  return body.kind === "form" ? answerNothing : answerEmpty(204);
}

const CHECKS =
  "HMAC with SHA-1 in base64 over {url} and the form's fields by name; with another body, over {url}, which holds the body's hash";

export const TWILIO: ProviderRow = {
  key: "twilio",
  name: "Twilio",
  scheme: comparedScheme({
    headers: [SIGNATURE],
    needsPublicUrl: true,
    checks: CHECKS,
    covers: JOINED_FIELDS,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "Auth Token",
  form: "sometimes",
  typeExample: "delivered",
  eventType: firstOf(
    field("EventType"),
    field("MessageStatus"),
    field("SmsStatus"),
    field("CallStatus"),
    field("0.type"),
    field("type"),
  ),
  deliveryId: firstOf(
    all(field("MessageSid"), firstOf(field("MessageStatus"), field("SmsStatus"))),
    // One call asks for instructions several times in one state.
    all(field("CallSid"), field("CallStatus"), SIGNED_TEXT),
    field("*.id"),
    header("I-Twilio-Idempotency-Token"),
    bodyHash,
  ),
  proofTakenOnce: provenHash,
  answer: answerFor,
  verifiedWith: officialSdk("twilio", "6.2.0"),
  docs: checkedDocs(
    "Twilio Console: Phone Numbers, the number, Messaging Configuration, A message comes in: Webhook; or the field StatusCallback of a call to its API.",
    "Twilio Console: Account Dashboard, Auth Token.",
    "https://github.com/twilio-labs/function-templates/blob/main/hello-messaging/README.md",
    "The address is signed: enter it there exactly as shown here, or set public_url.",
    "The primary and the secondary Auth Token may both be entered while they are rotated.",
    "Two requests of one call that are the same in every field are one event.",
    "Sealpost answers calls and messages with an empty response.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Twilio Console: Account Dashboard, Auth Token.": "Twilio Console: Account Dashboard, Auth Token.",
};
