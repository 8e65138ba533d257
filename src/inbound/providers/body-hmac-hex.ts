import { checkedDocs, docs, documentation, officialSdk, vector } from "../define.ts";
import { all, bodyDigest, bodyHash, except, field, firstOf, header, joined, readPath } from "../facts.ts";
import { ping } from "../handshakes.ts";
import type { ProviderRow } from "../row.ts";
import { type DigestRule, hmacScheme } from "../schemes/hmac.ts";
import { listed, whole } from "../schemes/layouts.ts";
import { base64Secret, normalisedSecret } from "../secrets.ts";
import { within } from "../window.ts";

/** HMAC-SHA256 of the raw body in hex, in one header, after a prefix. */
function bodyHmac(headerName: string, prefix = "", rest: Partial<DigestRule> = {}) {
  return hmacScheme({
    header: headerName,
    layout: whole(prefix),
    algorithm: "sha256",
    encoding: "hex",
    ...rest,
  });
}

/** Providers that sign the body alone: no timestamp, so only the delivery's identity stops a replay. */
export const BODY_HMAC_HEX: readonly ProviderRow[] = [
  {
    key: "razorpay",
    name: "Razorpay",
    scheme: bodyHmac("x-razorpay-signature"),
    secretFrom: "source",
    typeExample: "payment.captured",
    eventType: field("event"),
    deliveryId: header("x-razorpay-event-id"),
    verifiedWith: officialSdk("razorpay", "2.9.8"),
    docs: checkedDocs(
      "Razorpay Dashboard: Accounts & Settings, Website and app settings, Webhooks, + Add New Webhook, Webhook URL.",
      "The same form, Secret: choose it there, or paste the source's.",
      "https://razorpay.com/docs/payments/dashboard/account-settings/webhooks/",
      "After a change the old secret keeps signing retries of older events: keep it as the previous one.",
    ),
  },
  {
    key: "paystack",
    name: "Paystack",
    scheme: bodyHmac("x-paystack-signature", "", { algorithm: "sha512" }),
    secretFrom: "customer",
    secretLabel: "API secret key",
    typeExample: "charge.success",
    eventType: field("event"),
    // What happens to one dispute again, a reminder for one, has its event and its id.
    deliveryId: firstOf(
      all(field("event"), field("data.id"), bodyDigest),
      all(field("event"), field("data.reference"), bodyDigest),
      bodyHash,
    ),
    verifiedWith: documentation("https://paystack.com/docs/payments/webhooks/"),
    docs: docs(
      "Paystack Dashboard: Settings, API Keys & Webhooks, Webhook URL.",
      "Paystack Dashboard: Settings, API Keys & Webhooks, Secret Key (sk_…).",
      "https://paystack.com/docs/payments/webhooks/",
      "Test and live mode have different keys and addresses.",
      "The reminders of a dispute share its id; each is an event of its own.",
    ),
  },
  {
    key: "coinbase_commerce",
    name: "Coinbase Commerce",
    scheme: bodyHmac("x-cc-webhook-signature"),
    secretFrom: "customer",
    secretLabel: "Webhook shared secret",
    typeExample: "charge.created",
    eventType: field("event.type"),
    deliveryId: field("event.id"),
    verifiedWith: officialSdk("coinbase-commerce-node", "1.0.4"),
    docs: checkedDocs(
      "Coinbase Commerce: settings, Webhook subscriptions, Add an endpoint.",
      "The same section, Show shared secret.",
      "https://github.com/coinbase/coinbase-commerce-woocommerce",
      "The id at the top of the body counts deliveries; the event's own is event.id.",
    ),
  },
  {
    key: "lemonsqueezy",
    secretLengthMax: 40,
    name: "Lemon Squeezy",
    scheme: bodyHmac("x-signature"),
    secretFrom: "source",
    typeExample: "order_created",
    eventType: firstOf(field("meta.event_name"), header("X-Event-Name")),
    // `updated_at` counts whole seconds.
    deliveryId: firstOf(
      all(field("meta.event_name"), field("data.id"), field("data.attributes.updated_at"), bodyDigest),
      bodyHash,
    ),
    verifiedWith: documentation("https://docs.lemonsqueezy.com/help/webhooks/signing-requests"),
    docs: checkedDocs(
      "Lemon Squeezy: Settings, Webhooks: create a webhook with this address.",
      "The same form, signing secret (6 to 40 characters): paste the source's.",
      "https://github.com/lmsqueezy/nextjs-billing#how-to-set-up-webhooks",
      "The source's own secret is cut to the 40 characters that the form takes.",
    ),
  },
  {
    key: "gocardless",
    name: "GoCardless",
    scheme: bodyHmac("webhook-signature"),
    secretFrom: "source",
    typeExample: "mandates.cancelled",
    eventType: joined(field("events.0.resource_type"), field("events.0.action")),
    deliveryId: firstOf(field("meta.webhook_id"), field("events.*.id")),
    verifiedWith: officialSdk("gocardless-nodejs", "10.1.2"),
    docs: checkedDocs(
      "GoCardless Dashboard: create webhook endpoint, and paste this address.",
      "The same form, its secret: paste the source's.",
      "https://github.com/gocardless/woocommerce-gateway-gocardless",
      "One request holds up to 250 events; it stays one event here, named after its first.",
    ),
  },
  {
    key: "modern_treasury",
    name: "Modern Treasury",
    scheme: bodyHmac("x-signature"),
    secretFrom: "customer",
    secretLabel: "Webhook key",
    typeExample: "payment_order.created",
    eventType: joined(header("X-Topic"), field("event")),
    deliveryId: firstOf(header("X-Event-ID"), bodyHash),
    verifiedWith: officialSdk("modern-treasury", "3.3.0"),
    docs: docs(
      "Modern Treasury: Developers, Webhooks, Add Endpoint.",
      "Modern Treasury: Developers, Webhooks, the endpoint's Webhook Key.",
      "https://docs.moderntreasury.com/platform/docs/webhooks",
      "Sandbox and production have keys of their own.",
    ),
  },
  {
    key: "easypost",
    name: "EasyPost",
    scheme: bodyHmac("x-hmac-signature", "hmac-sha256-hex=", { secret: normalisedSecret }),
    secretFrom: "source",
    typeExample: "tracker.updated",
    eventType: field("description"),
    deliveryId: field("id"),
    verifiedWith: officialSdk("@easypost/api", "8.9.0"),
    docs: checkedDocs(
      "POST /v2/webhooks of the EasyPost API, field url.",
      "Field webhook_secret of that call: send the source's secret; a PATCH of the webhook sets it later.",
      "https://docs.easypost.com/docs/webhooks",
      "Without a webhook_secret EasyPost sends no signature.",
    ),
  },
  {
    key: "bitbucket",
    name: "Bitbucket Cloud",
    scheme: bodyHmac("x-hub-signature", "sha256="),
    secretFrom: "source",
    typeExample: "repo.push",
    eventType: header("X-Event-Key"),
    deliveryId: header("X-Request-UUID"),
    verifiedWith: vector("https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/"),
    docs: checkedDocs(
      "POST /2.0/repositories/{workspace}/{repo_slug}/hooks of the Bitbucket API, field url.",
      "Field secret of that call: send the source's secret; without one nothing is signed.",
      "https://developer.atlassian.com/cloud/bitbucket/rest/api-group-repositories/",
      "A webhook without a secret is not signed.",
    ),
  },
  {
    key: "jira",
    name: "Jira Cloud",
    scheme: bodyHmac("x-hub-signature", "sha256="),
    secretFrom: "source",
    typeExample: "jira.issue_created",
    eventType: field("webhookEvent"),
    deliveryId: header("X-Atlassian-Webhook-Identifier"),
    verifiedWith: documentation("https://developer.atlassian.com/cloud/jira/platform/webhooks/"),
    docs: docs(
      "Jira: Settings, System, WebHooks, Create a WebHook, URL.",
      "Jira's webhook form, Secret: paste the source's, or generate one there.",
      "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
      "Only webhooks made by an administrator are signed; those of Connect apps carry a JWT.",
    ),
  },
  {
    key: "linear",
    name: "Linear",
    scheme: bodyHmac("linear-signature"),
    secretFrom: "customer",
    typeExample: "Issue.create",
    eventType: joined(field("type"), field("action")),
    deliveryId: header("Linear-Delivery"),
    bodyTimestamp: { path: "webhookTimestamp", unit: "ms", window: within(60) },
    verifiedWith: officialSdk("@linear/sdk", "98.0.0"),
    docs: checkedDocs(
      "Linear's settings; or webhookCreate of the Linear API, field url.",
      "The webhook's secret, which Linear makes where none is given.",
      "https://github.com/linear/linear/blob/master/packages/sdk/src/schema.graphql",
      "The timestamp inside the body may be 60 s old: the clock must be right.",
    ),
  },
  {
    key: "sentry",
    name: "Sentry",
    scheme: bodyHmac("sentry-hook-signature"),
    secretFrom: "customer",
    secretLabel: "Client secret",
    typeExample: "issue.created",
    eventType: joined(header("Sentry-Hook-Resource"), field("action")),
    deliveryId: header("Request-ID"),
    verifiedWith: documentation(
      "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
    ),
    docs: checkedDocs(
      "Sentry: Settings, Developer Settings, Create New Integration (internal, or public), Webhook URL.",
      "The same integration's page, Client Secret.",
      "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
      "Sentry waits one second for the answer.",
    ),
  },
  {
    key: "pagerduty",
    name: "PagerDuty",
    scheme: bodyHmac("x-pagerduty-signature", "", { layout: listed(",", "v1=") }),
    secretFrom: "customer",
    signedHandshakes: [ping("event.event_type", "pagey.ping")],
    typeExample: "incident.triggered",
    eventType: field("event.event_type"),
    deliveryId: field("event.id"),
    verifiedWith: vector("PagerDuty/go-pagerduty webhookv3/webhookv3_test.go"),
    docs: checkedDocs(
      "POST /webhook_subscriptions of the PagerDuty API, field delivery_method.url.",
      "The answer to that call holds the secret, and only that one.",
      "https://developer.pagerduty.com/docs/webhooks-overview",
      "The secret looks like base64 but is used as text.",
    ),
  },
  {
    key: "circleci",
    name: "CircleCI",
    scheme: bodyHmac("circleci-signature", "", { layout: listed(",", "v1=") }),
    secretFrom: "source",
    secretLabel: "Secret token",
    signedHandshakes: [ping("type", "ping")],
    typeExample: "job-completed",
    eventType: field("type"),
    deliveryId: field("id"),
    verifiedWith: vector("https://circleci.com/docs/outbound-webhooks/"),
    docs: checkedDocs(
      "CircleCI: Project Settings, Webhooks, Add Webhook, Receiver URL.",
      "CircleCI's webhook form, Secret token: paste the source's.",
      "https://circleci.com/docs/outbound-webhooks/",
      "Without a secret token CircleCI sends no signature.",
    ),
  },
  {
    key: "vercel",
    name: "Vercel",
    scheme: bodyHmac("x-vercel-signature", "", { algorithm: "sha1" }),
    secretFrom: "customer",
    typeExample: "deployment.created",
    eventType: field("type"),
    deliveryId: field("id"),
    verifiedWith: documentation("https://vercel.com/docs/webhooks/webhooks-api"),
    docs: checkedDocs(
      "POST /v1/webhooks of the Vercel API, field url; for a team also teamId.",
      "The field secret in the answer to that call; integrations sign with their client secret.",
      "https://github.com/vercel/sdk/blob/main/docs/sdks/webhooks/README.md",
      "SHA-1 without a prefix.",
      "Log drains use the same header but another set-up.",
    ),
  },
  {
    key: "clickup",
    name: "ClickUp",
    scheme: bodyHmac("x-signature"),
    secretFrom: "customer",
    secretLabel: "Webhook secret",
    typeExample: "taskCreated",
    eventType: field("event"),
    deliveryId: except(
      "changes without history_items (of spaces, folders and goals), which are the same to the byte",
      ({ body }) =>
        readPath(body, "history_items.*.id") === null &&
        readPath(body, "event")?.endsWith("Updated") === true,
      firstOf(all(field("event"), field("history_items.*.id")), bodyHash),
    ),
    verifiedWith: documentation("https://developer.clickup.com/docs/webhooksignature"),
    docs: checkedDocs(
      "POST /team/{team_id}/webhook (Create Webhook) of the ClickUp API, field endpoint.",
      "The field secret in the answer of that call: each webhook has its own.",
      "https://developer.clickup.com/docs/webhooks",
      "Webhooks made by Automations are not signed.",
      "Changes of a space, folder or goal carry no id: each request is an event, a retry too.",
    ),
  },
  {
    key: "calcom",
    name: "Cal.com",
    scheme: bodyHmac("x-cal-signature-256"),
    secretFrom: "source",
    typeExample: "BOOKING_CREATED",
    eventType: field("triggerEvent"),
    deliveryId: firstOf(all(field("triggerEvent"), field("payload.uid"), field("createdAt")), bodyHash),
    verifiedWith: documentation("calcom/cal.com packages/features/webhooks/lib/sendPayload.ts"),
    docs: checkedDocs(
      "Cal.com: Settings, Developer, Webhooks, New, Subscriber URL.",
      "Cal.com's webhook form, Secret: paste the source's.",
      "https://cal.com/docs/core-features/webhooks",
      "Without a secret the header says no-secret-provided, which is refused.",
      "A custom payload template may lack triggerEvent.",
    ),
  },
  {
    key: "airtable",
    name: "Airtable",
    scheme: bodyHmac("x-airtable-content-mac", "hmac-sha256=", { secret: base64Secret }),
    secretFrom: "customer",
    secretLabel: "macSecretBase64",
    typeExample: "unknown",
    eventType: field("type"),
    deliveryId: firstOf(all(field("webhook.id"), field("timestamp")), bodyHash),
    verifiedWith: documentation("https://airtable.com/developers/web/api/webhooks-overview"),
    docs: checkedDocs(
      "POST /v0/bases/{baseId}/webhooks of the Airtable API, field notificationUrl.",
      "macSecretBase64 in the answer of that call, shown only there.",
      "https://airtable.com/developers/web/api/webhooks-overview",
      "The request only says that something changed: fetch the payloads from Airtable's API.",
      "A webhook expires after seven days unless it is refreshed.",
    ),
  },
  {
    key: "onfido",
    name: "Onfido",
    scheme: bodyHmac("x-sha2-signature"),
    secretFrom: "customer",
    secretLabel: "Webhook token",
    typeExample: "check.completed",
    eventType: field("payload.action"),
    deliveryId: firstOf(all(field("payload.action"), field("payload.object.id"), bodyDigest), bodyHash),
    verifiedWith: officialSdk("@onfido/api", "6.2.0"),
    docs: checkedDocs(
      "POST /webhooks of the Onfido API, field url.",
      "The field token in the answer to that call.",
      "https://github.com/onfido/onfido-openapi-spec/blob/master/paths/webhooks.yaml",
      "Sandbox and live webhooks have tokens of their own.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "API secret key": "Geheimer API-Schlüssel",
  "Webhook shared secret": "Gemeinsames Webhook-Geheimnis",
  macSecretBase64: "macSecretBase64",
  "Webhook token": "Webhook-Token",
  "The same form, Secret: choose it there, or paste the source's.":
    "Im selben Formular, Secret: dort wählen, oder das der Quelle einfügen.",
  "Paystack Dashboard: Settings, API Keys & Webhooks, Secret Key (sk_…).":
    "Paystack Dashboard: Settings, API Keys & Webhooks, Secret Key (sk_…).",
  "Modern Treasury: Developers, Webhooks, the endpoint's Webhook Key.":
    "Modern Treasury: Developers, Webhooks, beim Endpunkt: Webhook Key.",
  "Jira's webhook form, Secret: paste the source's, or generate one there.":
    "Im Webhook-Formular von Jira, Secret: das der Quelle einfügen, oder dort eines erzeugen.",
  "CircleCI's webhook form, Secret token: paste the source's.":
    "Im Webhook-Formular von CircleCI, Secret token: das der Quelle einfügen.",
  "Cal.com's webhook form, Secret: paste the source's.":
    "Im Webhook-Formular von Cal.com, Secret: das der Quelle einfügen.",
  "The same form, signing secret (6 to 40 characters): paste the source's.":
    "Im selben Formular, signing secret (6 bis 40 Zeichen): das der Quelle einfügen.",
  "Field webhook_secret of that call: send the source's secret; a PATCH of the webhook sets it later.":
    "Feld webhook_secret jenes Aufrufs: das Geheimnis der Quelle senden; ein PATCH des Webhooks setzt es später.",
  "The answer to that call holds the secret, and only that one.":
    "Die Antwort auf jenen Aufruf enthält das Geheimnis, und nur sie.",
  "The field secret in the answer to that call; integrations sign with their client secret.":
    "Das Feld secret in der Antwort auf jenen Aufruf; Integrationen signieren mit ihrem client secret.",
  "The field secret in the answer of that call: each webhook has its own.":
    "Das Feld secret in der Antwort jenes Aufrufs: Jeder Webhook hat sein eigenes.",
  "The field token in the answer to that call.": "Das Feld token in der Antwort auf jenen Aufruf.",
  "The same section, Show shared secret.": "Im selben Abschnitt: Show shared secret.",
  "The same form, its secret: paste the source's.":
    "Im selben Formular sein secret: das der Quelle einfügen.",
  "Field secret of that call: send the source's secret; without one nothing is signed.":
    "Feld secret jenes Aufrufs: das Geheimnis der Quelle senden; ohne eines wird nichts signiert.",
  "The webhook's secret, which Linear makes where none is given.":
    "Das Geheimnis des Webhooks, das Linear erzeugt, wenn keines angegeben wird.",
  "The same integration's page, Client Secret.": "Auf der Seite derselben Integration: Client Secret.",
  "macSecretBase64 in the answer of that call, shown only there.":
    "macSecretBase64 in der Antwort jenes Aufrufs, nur dort gezeigt.",
};
