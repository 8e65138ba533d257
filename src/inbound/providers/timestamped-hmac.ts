import { checkedDocs, docs, documentation, officialSdk, vector } from "../define.ts";
import {
  all,
  bodyDigest,
  bodyHash,
  derived,
  except,
  type Facts,
  field,
  firstOf,
  header,
  joined,
  readPath,
} from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";
import { listed, pairs, timestampFirst } from "../schemes/layouts.ts";
import { within } from "../window.ts";

const HEX256 = { algorithm: "sha256", encoding: "hex" } as const;
const BASE64_256 = { algorithm: "sha256", encoding: "base64" } as const;
/** `t=<seconds>,v1=<hex>` over `{timestamp}.{body}`, as Stripe made it common. */
const LIKE_STRIPE = { ...HEX256, layout: pairs(",", "t", "v1"), content: "{timestamp}.{body}" } as const;

/** `email_opened`: Customer.io names object and metric apart. */
function readMetric({ body }: Facts): string | null {
  const parts = [readPath(body, "object_type"), readPath(body, "metric")].filter((part) => part !== null);
  return parts.length > 0 ? parts.join("_") : null;
}

/** HMAC over a timestamp and the body. */
export const TIMESTAMPED_HMAC: readonly ProviderRow[] = [
  {
    key: "stripe",
    name: "Stripe",
    scheme: hmacScheme({
      ...LIKE_STRIPE,
      header: "stripe-signature",
      timestamp: { unit: "s", window: within(300) },
    }),
    secretFrom: "customer",
    typeExample: "setup_intent.created",
    eventType: field("type"),
    deliveryId: field("id"),
    verifiedWith: officialSdk("stripe", "23.1.0"),
    docs: checkedDocs(
      "Stripe Workbench: Webhooks, Create new destination, Webhook, Endpoint URL.",
      "The endpoint's own secret (whsec_…): its prefix belongs to the key. Where the API made the endpoint, the answer to that call alone shows it, as secret.",
      "https://docs.stripe.com/workbench/event-destinations",
      "A rolled secret signs beside the new one for up to 24 hours: enter both for that time.",
      "The same event can reach two endpoints: each source deduplicates for itself.",
    ),
  },
  {
    key: "paddle",
    name: "Paddle Billing",
    scheme: hmacScheme({
      ...HEX256,
      header: "paddle-signature",
      layout: pairs(";", "ts", "h1"),
      content: "{timestamp}:{body}",
      timestamp: { unit: "s", window: within(300) },
    }),
    secretFrom: "customer",
    secretLabel: "Secret key",
    typeExample: "transaction.paid",
    eventType: field("event_type"),
    deliveryId: field("event_id"),
    verifiedWith: officialSdk("@paddle/paddle-node-sdk", "3.10.0"),
    docs: checkedDocs(
      "Paddle: Developer Tools, Notifications: create a new notification destination with this address.",
      "The same destination: edit it and copy its secret key (pdl_ntfset_…).",
      "https://github.com/PaddleHQ/paddle-nextjs-starter-kit#readme",
      "Paddle's SDK allows 5 s only; here it is 300 s, and tolerance_seconds narrows it.",
      "Paddle Classic signs otherwise and is not covered.",
    ),
  },
  {
    key: "recurly",
    name: "Recurly",
    scheme: hmacScheme({
      ...HEX256,
      header: "recurly-signature",
      layout: timestampFirst(","),
      content: "{timestamp}.{body}",
      timestamp: { unit: "ms", window: within(300) },
    }),
    secretFrom: "customer",
    typeExample: "account.created",
    eventType: joined(field("object_type"), field("event_type")),
    // The time counts whole seconds. What is sent again is what Recurly stored, signed anew.
    deliveryId: firstOf(
      all(field("object_type"), field("id"), field("event_type"), field("event_time"), bodyDigest),
      bodyHash,
    ),
    verifiedWith: vector("recurly/recurly-client-ruby spec/recurly/webhooks_spec.rb"),
    docs: docs(
      "Recurly: Integrations, Webhooks, Configure, New Endpoint, format JSON.",
      "The endpoint's page in Recurly, HMAC secret key.",
      "https://docs.recurly.com/recurly-subscriptions/docs/signature-verification",
      "XML notifications are not signed.",
    ),
  },
  {
    key: "cashfree",
    name: "Cashfree",
    scheme: hmacScheme({
      ...BASE64_256,
      header: "x-webhook-signature",
      content: "{timestamp}{body}",
      timestamp: { header: "x-webhook-timestamp", unit: "ms" },
    }),
    secretFrom: "customer",
    secretLabel: "Client secret",
    typeExample: "PAYMENT_SUCCESS_WEBHOOK",
    eventType: field("type"),
    deliveryId: firstOf(
      all(field("type"), field("data.payment.cf_payment_id")),
      all(field("type"), field("data.refund.cf_refund_id"), field("data.refund.refund_status")),
      header("x-idempotency-key"),
      bodyHash,
    ),
    verifiedWith: documentation(
      "https://www.cashfree.com/docs/payments/online/webhooks/signature-verification",
    ),
    docs: docs(
      "Cashfree Merchant Dashboard: Developers, Webhooks, Add Webhook Endpoint.",
      "Cashfree Merchant Dashboard: Developers, API Keys, the client secret of the newest key.",
      "https://www.cashfree.com/docs/payments/online/webhooks/signature-verification",
      "Timestamp and body are joined without a separator.",
    ),
  },
  {
    key: "orb",
    name: "Orb",
    scheme: hmacScheme({
      ...HEX256,
      header: "x-orb-signature",
      layout: listed(" ", "v1="),
      content: "v1:{timestamp}:{body}",
      timestamp: { header: "x-orb-timestamp", unit: "utc", window: within(300) },
    }),
    secretFrom: "customer",
    typeExample: "invoice.issued",
    eventType: field("type"),
    deliveryId: field("id"),
    verifiedWith: officialSdk("orb-billing", "6.11.0"),
    docs: docs(
      "Orb: Developers, Webhooks, Add endpoint.",
      "The endpoint's page in Orb, Signing secret.",
      "https://docs.withorb.com/guides/integrations-and-exports/webhooks",
      "The timestamp has no zone; it is UTC.",
    ),
  },
  {
    key: "revolut",
    name: "Revolut",
    scheme: hmacScheme({
      ...HEX256,
      header: "revolut-signature",
      layout: listed(",", "v1="),
      content: "v1.{timestamp}.{body}",
      timestamp: { header: "revolut-request-timestamp", unit: "ms", window: within(300) },
    }),
    secretFrom: "customer",
    typeExample: "ORDER_COMPLETED",
    eventType: field("event"),
    deliveryId: except(
      "payments (ORDER_PAYMENT_…) and increments (ORDER_INCREMENTAL_…), of which an order may have several",
      ({ body }) => /^ORDER_(PAYMENT|INCREMENTAL)_/.test(readPath(body, "event") ?? ""),
      firstOf(all(field("event"), field("order_id")), bodyHash),
    ),
    verifiedWith: documentation(
      "https://developer.revolut.com/docs/guides/accept-payments/tutorials/work-with-webhooks/verify-the-payload-signature",
    ),
    docs: checkedDocs(
      "POST /api/webhooks of Revolut's Merchant API, field url.",
      "signing_secret in the answer of that call (wsk_…).",
      "https://developer.revolut.com/docs/guides/accept-payments/tutorials/work-with-webhooks/verify-the-payload-signature",
      "On a rotation with expiration_period both secrets sign for that time.",
    ),
  },
  {
    key: "calendly",
    name: "Calendly",
    scheme: hmacScheme({
      ...LIKE_STRIPE,
      header: "calendly-webhook-signature",
      timestamp: { unit: "s", window: within(180) },
    }),
    secretFrom: "source",
    secretLabel: "Webhook signing key",
    typeExample: "invitee.created",
    eventType: field("event"),
    // No hash of the body beside it: one that is sent again may say since when (retry_started_at).
    deliveryId: firstOf(all(field("event"), field("payload.uri"), field("created_at")), bodyHash),
    verifiedWith: documentation(
      "https://developer.calendly.com/api-docs/ZG9jOjM2MzE2MDM4-webhook-signatures",
    ),
    docs: checkedDocs(
      "POST /webhook_subscriptions of the Calendly API, field url.",
      "Field signing_key of that call: send the source's secret. An OAuth app has a webhook signing key of its own instead, made with the app.",
      "https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures",
      "Webhooks need a paid Calendly plan.",
    ),
  },
  {
    key: "persona",
    name: "Persona",
    scheme: hmacScheme({
      ...LIKE_STRIPE,
      header: "persona-signature",
      layout: pairs(/[ ,]+/, "t", "v1"),
      timestamp: { unit: "s", window: within(300) },
    }),
    secretFrom: "customer",
    secretLabel: "Webhook secret",
    typeExample: "inquiry.completed",
    eventType: field("data.attributes.name"),
    deliveryId: field("data.id"),
    verifiedWith: documentation("https://docs.withpersona.com/webhooks-best-practices"),
    docs: docs(
      "Persona Dashboard: Webhooks, Create webhook.",
      "The webhook's page in the Persona Dashboard, Webhook secret (wbhsec_…).",
      "https://docs.withpersona.com/webhooks-best-practices",
      "During a rotation the header holds a pair for each secret.",
    ),
  },
  {
    key: "workos",
    name: "WorkOS",
    scheme: hmacScheme({
      ...LIKE_STRIPE,
      header: "workos-signature",
      timestamp: { unit: "ms", window: within(180) },
    }),
    secretFrom: "customer",
    secretLabel: "Webhook secret",
    typeExample: "user.created",
    eventType: field("event"),
    deliveryId: field("id"),
    verifiedWith: officialSdk("@workos-inc/node", "11.0.0"),
    docs: checkedDocs(
      "WorkOS Dashboard: Webhooks, Endpoints, Add Endpoint; or POST /webhook_endpoints of its API, field endpoint_url.",
      "The endpoint there: copy its webhook secret; or the field secret in the API's answer.",
      "https://workos.com/docs/events/data-syncing/webhooks",
      "AuthKit actions use the same header but wait for a decision: they are no webhooks.",
    ),
  },
  {
    key: "sanity",
    name: "Sanity",
    scheme: hmacScheme({
      algorithm: "sha256",
      encoding: "base64url",
      header: "sanity-webhook-signature",
      layout: pairs(/[ ,]+/, "t", "v1"),
      content: "{timestamp}.{body}",
      timestamp: { unit: "ms" },
    }),
    secretFrom: "source",
    typeExample: "update",
    eventType: header("sanity-operation"),
    deliveryId: firstOf(header("idempotency-key"), bodyHash),
    verifiedWith: officialSdk("@sanity/webhook", "4.0.4"),
    docs: docs(
      "sanity.io/manage: the project, API, Webhooks, Create webhook.",
      "The same form, Advanced settings, Secret: paste the source's.",
      "https://www.sanity.io/docs/content-lake/webhook-best-practices",
      "The body is what the webhook's projection makes of the document.",
    ),
  },
  {
    key: "mux",
    name: "Mux",
    scheme: hmacScheme({
      ...LIKE_STRIPE,
      header: "mux-signature",
      timestamp: { unit: "s", window: within(300) },
    }),
    secretFrom: "customer",
    typeExample: "video.asset.ready",
    eventType: field("type"),
    deliveryId: field("id"),
    verifiedWith: officialSdk("@mux/mux-node", "15.3.0"),
    docs: checkedDocs(
      "Mux Dashboard: Settings, Webhooks, of the environment; or POST /system/v1/webhooks of the Mux API, field address.",
      "The same page, the webhook's signing secret; or signing_secret in the answer of that call.",
      "https://www.mux.com/docs/core/manage-webhooks",
      "Each environment has webhooks and secrets of its own.",
    ),
  },
  {
    key: "retell",
    name: "Retell AI",
    scheme: hmacScheme({
      ...HEX256,
      header: "x-retell-signature",
      layout: pairs(",", "v", "d"),
      content: "{body}{timestamp}",
      timestamp: { unit: "ms", window: within(300) },
    }),
    secretFrom: "customer",
    secretLabel: "API key",
    typeExample: "call_ended",
    eventType: field("event"),
    deliveryId: firstOf(all(field("event"), field("call.call_id"), bodyDigest), bodyHash),
    verifiedWith: officialSdk("retell-sdk", "5.66.1"),
    docs: docs(
      "Retell dashboard: Settings, Webhooks; or the agent's own Webhook URL.",
      "Retell dashboard: Settings, API Keys, the key with the webhook badge.",
      "https://docs.retellai.com/features/secure-webhook",
      "Only the API key that bears the webhook badge signs.",
    ),
  },
  {
    key: "elevenlabs",
    name: "ElevenLabs",
    scheme: hmacScheme({
      ...LIKE_STRIPE,
      header: "elevenlabs-signature",
      layout: pairs(",", "t", "v0"),
      timestamp: { unit: "s", window: within(1800) },
    }),
    secretFrom: "customer",
    secretLabel: "Shared secret",
    typeExample: "post_call_transcription",
    eventType: field("type"),
    deliveryId: firstOf(all(field("type"), field("data.conversation_id")), bodyHash),
    verifiedWith: documentation("https://elevenlabs.io/docs/product-guides/administration/webhooks"),
    docs: checkedDocs(
      "ElevenLabs: the general settings page, Webhooks; then select it where its events arise (post-call webhooks of agents).",
      "Shown when the webhook is saved there.",
      "https://elevenlabs.io/docs/product-guides/administration/webhooks",
      "The entry is called v0, not v1.",
      "A webhook that fails again and again is disabled by ElevenLabs.",
    ),
  },
  {
    key: "webflow",
    name: "Webflow",
    scheme: hmacScheme({
      ...HEX256,
      header: "x-webflow-signature",
      content: "{timestamp}:{body}",
      timestamp: { header: "x-webflow-timestamp", unit: "ms", window: within(300) },
    }),
    secretFrom: "customer",
    secretLabel: "Client secret or webhook secret key",
    typeExample: "form_submission",
    eventType: field("triggerType"),
    deliveryId: except(
      "changes of stock (4, 5, then 4 again)",
      ({ body }) => readPath(body, "triggerType") === "ecomm_inventory_changed",
      firstOf(all(field("triggerType"), field("payload.id"), bodyDigest), bodyHash),
    ),
    verifiedWith: officialSdk("webflow-api", "3.3.4"),
    docs: checkedDocs(
      "POST /sites/{site_id}/webhooks of the Webflow API, field url.",
      "For an OAuth app its client secret; with a site token the secret key that is made with the webhook.",
      "https://github.com/webflow/js-webflow-api/blob/master/src/wrapper/WebhooksClient.ts",
      "A webhook made in the dashboard before April 2025 is not signed.",
    ),
  },
  {
    key: "zendesk",
    name: "Zendesk",
    scheme: hmacScheme({
      ...BASE64_256,
      header: "x-zendesk-webhook-signature",
      content: "{timestamp}{body}",
      timestamp: { header: "x-zendesk-webhook-signature-timestamp", unit: "iso" },
    }),
    secretFrom: "customer",
    typeExample: "zen.event-type.user.created",
    eventType: field("type"),
    deliveryId: firstOf(header("X-Zendesk-Webhook-Invocation-Id"), bodyHash),
    verifiedWith: documentation("https://developer.zendesk.com/documentation/webhooks/verifying/"),
    docs: checkedDocs(
      "POST /api/v2/webhooks of the Zendesk API, field endpoint, with http_method POST and request_format json.",
      "The field signing_secret of that webhook.",
      "https://developer.zendesk.com/api-reference/event-connectors/webhooks/webhooks/",
      "Test webhook, before the webhook is saved, signs with a static secret and is refused here.",
      "Use POST with a JSON body.",
    ),
  },
  {
    key: "customerio",
    name: "Customer.io (reporting webhooks)",
    scheme: hmacScheme({
      ...HEX256,
      header: "x-cio-signature",
      content: "v0:{timestamp}:{body}",
      timestamp: { header: "x-cio-timestamp", unit: "s" },
    }),
    secretFrom: "customer",
    secretLabel: "Webhook signing key",
    typeExample: "email_opened",
    eventType: derived("body object_type + _ + metric", readMetric),
    deliveryId: field("event_id"),
    verifiedWith: documentation("https://docs.customer.io/integrations/data-out/connections/webhooks/"),
    docs: docs(
      "Customer.io: Data & Integrations, Integrations, Reporting Webhooks, Add Reporting Webhook.",
      "The same page of the reporting webhook, Webhook Signing Key.",
      "https://docs.customer.io/integrations/data-out/connections/webhooks/",
      "The signed text begins with v0:, the header does not.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Secret key": "Geheimer Schlüssel",
  "Webhook signing key": "Signaturschlüssel der Webhooks",
  "Client secret or webhook secret key": "Client-Geheimnis oder geheimer Schlüssel des Webhooks",
  "The endpoint's page in Recurly, HMAC secret key.":
    "Auf der Seite des Endpunkts in Recurly: HMAC secret key.",
  "Cashfree Merchant Dashboard: Developers, API Keys, the client secret of the newest key.":
    "Cashfree Merchant Dashboard: Developers, API Keys, das client secret des neuesten Schlüssels.",
  "The endpoint's page in Orb, Signing secret.": "Auf der Seite des Endpunkts in Orb: Signing secret.",
  "signing_secret in the answer of that call (wsk_…).":
    "signing_secret in der Antwort jenes Aufrufs (wsk_…).",
  "Field signing_key of that call: send the source's secret.":
    "Feld signing_key jenes Aufrufs: das Geheimnis der Quelle senden.",
  "The webhook's page in the Persona Dashboard, Webhook secret (wbhsec_…).":
    "Auf der Seite des Webhooks im Persona Dashboard: Webhook secret (wbhsec_…).",
  "The same form, Advanced settings, Secret: paste the source's.":
    "Im selben Formular, Advanced settings, Secret: das der Quelle einfügen.",
  "The same page, the webhook's signing secret; or signing_secret in the answer of that call.":
    "Auf derselben Seite das signing secret des Webhooks; oder signing_secret in der Antwort jenes Aufrufs.",
  "Retell dashboard: Settings, API Keys, the key with the webhook badge.":
    "Retell-Dashboard: Settings, API Keys, der Schlüssel mit der Marke webhook.",
  "Shown when the webhook is saved there.": "Gezeigt, wenn der Webhook dort gespeichert wird.",
  "The field signing_secret of that webhook.": "Das Feld signing_secret dieses Webhooks.",
  "The same page of the reporting webhook, Webhook Signing Key.":
    "Auf derselben Seite des Reporting-Webhooks: Webhook Signing Key.",
  "An OAuth app has a webhook signing key of its own instead, made with the app.":
    "Eine OAuth-App hat stattdessen einen eigenen Signaturschlüssel für Webhooks, der mit ihr entsteht.",
  "The endpoint there: copy its webhook secret; or the field secret in the API's answer.":
    "Dort beim Endpunkt: sein webhook secret kopieren; oder das Feld secret in der Antwort der API.",
  "The endpoint's own secret (whsec_…): its prefix belongs to the key.":
    "Das eigene Geheimnis des Endpunkts (whsec_…): Sein Präfix gehört zum Schlüssel.",
  "Where the API made the endpoint, the answer to that call alone shows it, as secret.":
    "Wurde der Endpunkt über die API angelegt, zeigt es nur die Antwort auf jenen Aufruf, als secret.",
  "The same destination: edit it and copy its secret key (pdl_ntfset_…).":
    "Dasselbe Ziel: bearbeiten und den secret key (pdl_ntfset_…) kopieren.",
  "For an OAuth app its client secret; with a site token the secret key that is made with the webhook.":
    "Bei einer OAuth-App ihr client secret; mit einem site token der secret key, der mit dem Webhook entsteht.",
};
