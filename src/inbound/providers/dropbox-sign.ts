import { skim } from "../../core/json/skim.ts";
import { answerText, textHandshake } from "../answers.ts";
import { readUnparsedFields } from "../body.ts";
import { docs, officialSdk } from "../define.ts";
import { hmac } from "../digest.ts";
import { all, bodyHash, field, firstOf, readPath, readValue } from "../facts.ts";
import { onlyOne } from "../form.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, type Coverage, faultOfTime } from "../schemes/scheme.ts";
import type { Window } from "../window.ts";

/** Dropbox Sign sends JSON in the form field `json`, with a hash over the event's time and type only. */

/** Anything else counts as a failure. */
const ANSWER = "Hello API Event Received";

const PROOF = { event: { event_time: true, event_type: true, event_hash: true } } as const;

function compare(arrival: Arrival): Comparison | RefusalReason {
  const fields = readUnparsedFields(arrival.request);
  const claimed = skim(onlyOne(fields?.get("json")) ?? "", PROOF, 0);
  if (claimed === null) return "malformed";
  const [time, type, signature] = ["event_time", "event_type", "event_hash"].map((name) =>
    readValue(claimed, `event.${name}`),
  );
  if (!time || !type || !signature) return "missing_header";
  const fault = faultOfTime(time, "s", WINDOW, arrival);
  if (fault !== null) return fault;
  return { given: [signature], expected: (secret) => [hmac("sha256", secret, [time, type], "hex")] };
}

const CHECKS = "HMAC with SHA-256 in hex, inside the body, over the event's time and type";

const COVERS: Coverage = {
  body: "part",
  but:
    "Only the event's time and type are signed. Whoever has seen one request can send, for the four days of the window, any account, " +
    "signature request, template and signer with its time and type: fetch the signature request by its id before you trust it.",
};

/** Dropbox Sign retries for some three days, and a retry keeps the time of the first request. */
const WINDOW: Window = { pastSeconds: 4 * 86_400, futureSeconds: 300 };

const HAPPENING = [field("json.event.event_time"), field("json.event.event_type")];
const REQUEST = field("json.signature_request.signature_request_id");

export const DROPBOX_SIGN: ProviderRow = {
  key: "dropbox_sign",
  name: "Dropbox Sign (HelloSign)",
  scheme: comparedScheme({
    name: "signed_body",
    headers: [],
    checks: CHECKS,
    covers: COVERS,
    window: WINDOW,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "API key",
  signedHandshakes: [
    {
      text: "callback_test",
      answer: ({ body }) =>
        readPath(body, "json.event.event_type") === "callback_test" ? textHandshake(ANSWER) : null,
    },
  ],
  form: "always",
  typeExample: "signature_request_sent",
  eventType: field("json.event.event_type"),
  // The time counts whole seconds. A hash of the rest would tell nothing: it is not signed.
  deliveryId: firstOf(
    all(...HAPPENING, REQUEST, field("json.event.event_metadata.related_signature_id")),
    all(...HAPPENING, REQUEST),
    all(...HAPPENING, field("json.template.template_id")),
    bodyHash,
  ),
  proofs: ["json.event.event_hash"],
  answer: () => answerText(ANSWER),
  verifiedWith: officialSdk("@dropbox/sign", "1.11.0"),
  docs: docs(
    "Dropbox Sign: Settings, API, Account callback; for an app: API, the app, Edit, Event callback.",
    "Dropbox Sign: Settings, API, API keys: the key of the account or of the app's owner.",
    "https://developers.hellosign.com/docs/events/overview",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Dropbox Sign: Settings, API, API keys: the key of the account or of the app's owner.":
    "Dropbox Sign: Settings, API, API keys: der Schlüssel des Kontos oder des Besitzers der App.",
};
