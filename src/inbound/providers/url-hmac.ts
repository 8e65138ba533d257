import { checkedDocs, documentation, vector } from "../define.ts";
import { field } from "../facts.ts";
import { headProbe } from "../handshakes.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";

/** HMAC over the address that the provider was given, and the body. */
export const URL_HMAC: readonly ProviderRow[] = [
  {
    key: "square",
    name: "Square",
    scheme: hmacScheme({
      header: "x-square-hmacsha256-signature",
      algorithm: "sha256",
      encoding: "base64",
      content: "{url}{body}",
    }),
    secretFrom: "customer",
    secretLabel: "Signature key",
    typeExample: "payment.created",
    eventType: field("type"),
    deliveryId: field("event_id"),
    verifiedWith: vector("square/square-nodejs-sdk tests/integration/webhooks.test.ts"),
    docs: checkedDocs(
      "Square Developer Console: Open the application, Webhooks, Subscriptions, Add subscription, notification URL.",
      "The subscription's Endpoint Details there, Signature Key, Show.",
      "https://developer.squareup.com/docs/webhooks/step2subscribe",
      "The address is signed: it must be entered there exactly as shown here, or stand in public_url.",
      "The older header x-square-signature (SHA-1) is not read.",
    ),
  },
  {
    key: "trello",
    name: "Trello",
    scheme: hmacScheme({
      header: "x-trello-webhook",
      algorithm: "sha1",
      encoding: "base64",
      content: "{body}{url}",
    }),
    secretFrom: "customer",
    secretLabel: "API secret",
    unsignedHandshakes: [headProbe],
    typeExample: "updateCard",
    eventType: field("action.type"),
    deliveryId: field("action.id"),
    verifiedWith: documentation("https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/"),
    docs: checkedDocs(
      "POST /1/webhooks of the Trello API, parameter callbackURL.",
      "trello.com/power-ups/admin: the Power-Up, API Key: the secret beside the key.",
      "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/",
      "The body comes before the address in what is signed.",
      "Answering 410 would delete the webhook; Sealpost never does.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Signature key": "Signaturschlüssel",
  "The subscription's Endpoint Details there, Signature Key, Show.":
    "Dort in den Endpoint Details des Abonnements: Signature Key, Show.",
  "trello.com/power-ups/admin: the Power-Up, API Key: the secret beside the key.":
    "trello.com/power-ups/admin: das Power-Up, API Key: das Secret neben dem Schlüssel.",
};
