import { checkedDocs, docs } from "../define.ts";
import { all, field, firstOf, nothing, signedHeader } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { standardWebhooksAny, standardWebhooksV1a, svixScheme } from "../schemes/standard-webhooks.ts";
import { basicScheme, tokenScheme } from "../schemes/token.ts";

const STANDARD_WEBHOOKS_PAGE =
  "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md";

/** Beside the id of what happened, `id` is often that of what it happened to, or the other way round. */
const IDENTITY = firstOf(all(field("event_id"), field("id")), field("id"), field("event_id"), nothing);

/** For senders that are no named provider: by token, Basic, or one of the open schemes. */
export const GENERIC: readonly ProviderRow[] = [
  {
    key: "service",
    name: "Any service, by token",
    scheme: tokenScheme([{ name: "x-service-token" }, { name: "authorization", prefix: "Bearer " }]),
    secretFrom: "source",
    typeExample: "invoice.paid",
    eventType: firstOf(field("type"), field("event")),
    deliveryId: IDENTITY,
    verifiedWith: { kind: "documentation", page: "https://www.rfc-editor.org/rfc/rfc6750" },
    docs: checkedDocs(
      "In your own service: where it sends its requests.",
      "Send the source's secret in the header x-service-token, or as Authorization: Bearer.",
      "https://www.rfc-editor.org/rfc/rfc6750",
      "A request with the token in its query string is refused, also where the header is right.",
      "Without id or event_id in the body every request is an event of its own.",
      'The body itself says what it is, whatever its content type: JSON stays JSON, name=value&name=value and a form in parts become an object of their fields, any other text becomes {"raw": "…"}.',
    ),
  },
  {
    key: "basic_auth",
    name: "Any service, by HTTP Basic",
    scheme: basicScheme(),
    secretFrom: "customer",
    secretLabel: "User and password",
    typeExample: "invoice.paid",
    eventType: firstOf(field("type"), field("event")),
    deliveryId: IDENTITY,
    verifiedWith: { kind: "documentation", page: "https://www.rfc-editor.org/rfc/rfc7617" },
    docs: checkedDocs(
      "In the sending service: its webhook address, without user and password in the address.",
      "Choose a user and a password, enter them in the sending service, and here as user:password.",
      "https://www.rfc-editor.org/rfc/rfc7617",
      "The first colon parts user and password.",
    ),
  },
  {
    key: "standard_webhooks",
    name: "Standard Webhooks",
    scheme: standardWebhooksAny(),
    secretFrom: "source",
    typeExample: "invoice.paid",
    eventType: field("type"),
    deliveryId: signedHeader("webhook-id"),
    verifiedWith: { kind: "library", package: "standardwebhooks", version: "1.1.1" },
    docs: checkedDocs(
      "In the sending service: the page where webhook endpoints are added.",
      "Give the sender the source's whsec_ secret, or enter the one that it shows; for v1a its whpk_ public key.",
      STANDARD_WEBHOOKS_PAGE,
      "A request older or newer than 300 s is refused: the sender's clock must be right.",
    ),
  },
  {
    key: "standard_webhooks_v1a",
    name: "Standard Webhooks, public key only (v1a)",
    scheme: standardWebhooksV1a(),
    secretFrom: "customer",
    secretLabel: "Public key",
    isSecretPublic: true,
    typeExample: "invoice.paid",
    eventType: field("type"),
    deliveryId: signedHeader("webhook-id"),
    verifiedWith: { kind: "vector", page: STANDARD_WEBHOOKS_PAGE },
    docs: checkedDocs(
      "In the sending service: where endpoints with asymmetric signatures are added.",
      "Enter the public key (whpk_…) that the sender publishes.",
      STANDARD_WEBHOOKS_PAGE,
      "Entries of version v1 are passed over.",
    ),
  },
  {
    key: "svix",
    name: "Svix",
    scheme: svixScheme(),
    secretFrom: "customer",
    typeExample: "invoice.paid",
    eventType: firstOf(field("type"), field("event_type"), field("eventType")),
    deliveryId: firstOf(signedHeader("svix-id"), signedHeader("webhook-id")),
    verifiedWith: { kind: "official_sdk", package: "svix", version: "2.5.0" },
    docs: docs(
      "In the sender's consumer portal (App Portal): Endpoints, Add Endpoint.",
      "On the endpoint's page in that portal, Signing Secret.",
      "https://docs.svix.com/receiving/verifying-payloads/how",
      "Where a request has both svix-* and webhook-* headers, the former count.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The Ed25519 public key in base64, with its prefix whpk_.":
    "Der öffentliche Ed25519-Schlüssel in Base64, mit dem Präfix whpk_.",
  "User and password": "Benutzer und Passwort",
  "Send the source's secret in the header x-service-token, or as Authorization: Bearer.":
    "Senden Sie das Geheimnis der Quelle im Header x-service-token, oder als Authorization: Bearer.",
  "Choose a user and a password, enter them in the sending service, and here as user:password.":
    "Wählen Sie Benutzer und Passwort, tragen Sie beides beim sendenden Dienst ein, und hier als benutzer:passwort.",
  "Give the sender the source's whsec_ secret, or enter the one that it shows; for v1a its whpk_ public key.":
    "Geben Sie dem Sender das whsec_-Geheimnis der Quelle, oder tragen Sie seines ein; für v1a seinen öffentlichen whpk_-Schlüssel.",
  "Enter the public key (whpk_…) that the sender publishes.":
    "Tragen Sie den öffentlichen Schlüssel (whpk_…) ein, den der Sender veröffentlicht.",
  "On the endpoint's page in that portal, Signing Secret.":
    "Auf der Seite des Endpunkts in jenem Portal: Signing Secret.",
};
