import { emptyHandshake } from "../answers.ts";
import { checkedDocs } from "../define.ts";
import { type Facts, field, firstOf, header, joined } from "../facts.ts";
import type { Handshake, ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";
import { whole } from "../schemes/layouts.ts";

/** GitHub pings a new webhook, signed: answered, no event. */
const ping: Handshake<Facts> = {
  text: "event ping, on creation",
  answer: ({ arrival }) =>
    arrival.request.headers.get("x-github-event") === "ping" ? emptyHandshake() : null,
};

export const GITHUB: ProviderRow = {
  key: "github",
  name: "GitHub",
  scheme: hmacScheme({
    header: "x-hub-signature-256",
    layout: whole("sha256="),
    algorithm: "sha256",
    encoding: "hex",
  }),
  secretFrom: "source",
  secretLabel: "Webhook secret",
  signedHandshakes: [ping],
  form: "sometimes",
  typeExample: "issues.opened",
  eventType: joined(header("x-github-event"), firstOf(field("action"), field("payload.action"))),
  deliveryId: header("x-github-delivery"),
  verifiedWith: { kind: "official_sdk", package: "@octokit/webhooks-methods", version: "6.0.0" },
  docs: checkedDocs(
    "Repository, organisation or app: Settings, Webhooks, Add webhook, Payload URL.",
    "The same page, field Secret: paste the source's secret there, or enter here the one you have there.",
    "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    "The older header X-Hub-Signature (SHA-1) is not read.",
    "The delivery id is not signed, and there is no timestamp.",
    "Both content types work; with the form one the JSON stands in payload.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The same page, field Secret: paste the source's secret there, or enter here the one you have there.":
    "Auf derselben Seite, Feld Secret: dort das Geheimnis der Quelle einfügen, oder hier das eintragen, das dort steht.",
};
