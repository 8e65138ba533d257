import { answerEmpty } from "../answers.ts";
import { checkedDocs, docs, library, officialSdk, vector } from "../define.ts";
import { field, firstOf, header, joined, nothing, signedHeader } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { eitherScheme } from "../schemes/scheme.ts";
import { standardWebhooks, svixScheme } from "../schemes/standard-webhooks.ts";
import { textSecret, whsecOrTextSecret } from "../secrets.ts";

/** What the senders of this file share: the scheme and its id. */
const STANDARD = {
  scheme: standardWebhooks(),
  secretFrom: "customer",
  eventType: field("type"),
  deliveryId: signedHeader("webhook-id"),
} as const;

/** Senders behind Svix, with its header names. */
const BY_SVIX = {
  ...STANDARD,
  scheme: svixScheme(),
  deliveryId: firstOf(signedHeader("svix-id"), signedHeader("webhook-id")),
} as const;

/** Named providers that send Standard Webhooks. */
export const STANDARD_WEBHOOKS: readonly ProviderRow[] = [
  {
    ...BY_SVIX,
    key: "clerk",
    typeExample: "user.created",
    name: "Clerk",
    verifiedWith: officialSdk("@clerk/backend", "3.25.0"),
    docs: checkedDocs(
      "Clerk Dashboard: Webhooks, Add Endpoint, Endpoint URL.",
      "The endpoint's page in the Clerk Dashboard, Signing Secret.",
      "https://clerk.com/docs/guides/development/webhooks/syncing",
      "Development and production instances have endpoints and secrets of their own.",
    ),
  },
  {
    ...BY_SVIX,
    key: "resend",
    typeExample: "email.sent",
    name: "Resend",
    verifiedWith: officialSdk("resend", "6.38.0"),
    docs: checkedDocs(
      "Resend dashboard: Webhooks, Add Webhook; or POST /webhooks of its API, field endpoint.",
      "Resend dashboard: Webhooks, the webhook once it is made; or signing_secret in the API's answer.",
      "https://github.com/resend/resend-skills/blob/main/skills/agent-email-inbox/references/webhook-setup.md",
      "One e-mail gives several events: sent, delivered, opened.",
    ),
  },
  {
    ...BY_SVIX,
    key: "stytch",
    typeExample: "user.CREATE",
    name: "Stytch",
    eventType: joined(field("object_type"), field("action")),
    verifiedWith: library("svix", "2.5.0"),
    docs: docs(
      "Stytch Dashboard: Webhooks, Add endpoint.",
      "The endpoint's page in the Stytch Dashboard, Signing Secret.",
      "https://stytch.com/docs/guides/dashboard/webhooks",
      "The type is made of object_type and action: user.CREATE.",
    ),
  },
  {
    ...STANDARD,
    key: "openai",
    typeExample: "response.completed",
    name: "OpenAI",
    scheme: standardWebhooks(whsecOrTextSecret),
    verifiedWith: vector("openai/openai-node tests/api-resources/webhooks.test.ts"),
    docs: checkedDocs(
      "POST /v1/webhook_endpoints of the OpenAI API, field url; or the project's settings at platform.openai.com, Webhooks.",
      "Shown once, when the webhook is created or its secret is rotated: signing_secret in the API's answer.",
      "https://developers.openai.com/api/reference/resources/webhooks",
      "A secret without whsec_ is used as text.",
    ),
  },
  {
    ...STANDARD,
    key: "anthropic",
    typeExample: "session.status_idled",
    name: "Anthropic (Managed Agents)",
    eventType: field("data.type"),
    verifiedWith: officialSdk("@anthropic-ai/sdk", "1.12.0"),
    docs: checkedDocs(
      "Claude Console: Manage, Webhooks: a new endpoint, HTTPS on port 443.",
      "Shown once when that endpoint is made, whsec_…; the same page rotates it.",
      "https://platform.claude.com/docs/en/managed-agents/webhooks",
      "The type at the top of the body is always event; the real one is data.type.",
    ),
  },
  {
    ...STANDARD,
    key: "replicate",
    typeExample: "succeeded",
    name: "Replicate",
    eventType: field("status"),
    verifiedWith: officialSdk("replicate", "1.4.0"),
    docs: checkedDocs(
      "The field webhook of each prediction or training that you create.",
      "GET https://api.replicate.com/v1/webhooks/default/secret with your API token.",
      "https://replicate.com/docs/topics/webhooks/verify-webhook",
      "The secret is one for the whole account.",
    ),
  },
  {
    ...STANDARD,
    key: "dodopayments",
    typeExample: "payment.succeeded",
    name: "Dodo Payments",
    verifiedWith: officialSdk("dodopayments", "2.52.0"),
    docs: checkedDocs(
      "Dodo Payments Dashboard: Settings, Webhooks, Add Webhook.",
      "Dodo Payments Dashboard: Settings, Webhooks, the webhook's Secret Key.",
      "https://docs.dodopayments.com/developer-resources/webhooks",
      "Test and live mode have webhooks of their own.",
    ),
  },
  {
    ...STANDARD,
    key: "liveblocks",
    typeExample: "roomCreated",
    name: "Liveblocks",
    verifiedWith: officialSdk("@liveblocks/node", "3.24.2"),
    docs: checkedDocs(
      "Liveblocks dashboard: the project, Webhooks, Create endpoint.",
      "The endpoint's page in the Liveblocks dashboard, Signing secret.",
      "https://liveblocks.io/docs/platform/webhooks",
      "Storage updates are throttled: one event stands for many changes.",
    ),
  },
  {
    ...STANDARD,
    key: "lithic",
    typeExample: "card.created",
    name: "Lithic",
    eventType: field("event_type"),
    verifiedWith: officialSdk("lithic", "0.145.0"),
    docs: checkedDocs(
      "POST /v1/event_subscriptions of the Lithic API, or Lithic dashboard: Developers, Webhooks.",
      "GET /v1/event_subscriptions/{token}/secret of the Lithic API.",
      "https://docs.lithic.com/docs/events-api",
      "Authorization Stream Access requests wait for a decision and are no webhooks.",
    ),
  },
  {
    ...STANDARD,
    key: "render",
    typeExample: "deploy_ended",
    name: "Render",
    verifiedWith: library("standardwebhooks", "1.1.1"),
    docs: docs(
      "Render Dashboard: Integrations, Webhooks, Create Webhook.",
      "The webhook's page in the Render Dashboard, Signing Secret.",
      "https://render.com/docs/webhooks",
      "The body only names what happened; details come from Render's API.",
    ),
  },
  {
    ...STANDARD,
    key: "brex",
    typeExample: "TRANSFER_PROCESSED",
    name: "Brex",
    eventType: field("event_type"),
    verifiedWith: library("standardwebhooks", "1.1.1"),
    docs: docs(
      "POST /v1/webhooks of the Brex API, field url.",
      "GET /v1/webhooks/secrets of the Brex API.",
      "https://developer.brex.com/docs/webhooks",
      "The secret is shown without whsec_; it is base64 all the same.",
    ),
  },
  {
    ...BY_SVIX,
    key: "recall_ai",
    typeExample: "bot.done",
    name: "Recall.ai",
    eventType: field("event"),
    verifiedWith: library("standardwebhooks", "1.1.1"),
    docs: checkedDocs(
      "Recall.ai dashboard of your region: Webhooks (/dashboard/webhooks), a webhook with this address.",
      "Recall.ai dashboard: Developers, API Keys & Secrets, the verification secret.",
      "https://github.com/recallai/sample-apps",
      "Accounts from before 15 December 2025 sign with svix-* headers and a secret for each endpoint: both are read.",
    ),
  },
  {
    ...STANDARD,
    key: "polar",
    typeExample: "order.paid",
    name: "Polar",
    scheme: eitherScheme(standardWebhooks(textSecret), standardWebhooks()),
    verifiedWith: officialSdk("@polar-sh/sdk", "1.0.1"),
    docs: checkedDocs(
      "Polar: organisation Settings, Webhooks, Add Endpoint, format Raw.",
      "The endpoint's form in Polar's Settings, Secret.",
      "https://polar.sh/docs/integrate/webhooks/endpoints",
      "Older secrets are used as text, newer ones as base64: both are tried, as in Polar's SDK.",
      "Slack and Discord formats of an endpoint carry no usable event.",
    ),
  },
  {
    ...STANDARD,
    key: "bigcommerce",
    typeExample: "store.order.created",
    name: "BigCommerce",
    scheme: standardWebhooks(textSecret),
    secretLabel: "App client secret",
    eventType: field("scope"),
    verifiedWith: library("standardwebhooks", "1.1.1"),
    docs: checkedDocs(
      "POST /stores/{store_hash}/v3/hooks of the BigCommerce API, field destination.",
      "BigCommerce Developer Portal: My Apps, the app, View Client ID: the client secret.",
      "https://developer.bigcommerce.com/docs/integrations/webhooks",
      "The hash in the body is no signature.",
      "The body names the object only; fetch it by its id.",
    ),
  },
  {
    ...STANDARD,
    key: "supabase",
    typeExample: "unknown",
    name: "Supabase (Auth hooks)",
    eventType: nothing,
    answer: () => answerEmpty(204),
    verifiedWith: library("standardwebhooks", "1.1.1"),
    docs: checkedDocs(
      "Supabase Dashboard: Authentication, Hooks: a hook of the kind HTTP, with this address; self-hosted: uri in config.toml.",
      "The secret of that hook (v1,whsec_…), made with it.",
      "https://supabase.com/docs/guides/auth/auth-hooks",
      "Auth waits for the answer: it is 204, so the hook decides nothing.",
      "Every retry has a new webhook-id, so a retry is an event of its own.",
      "Database webhooks are not signed: use the provider service for them.",
    ),
  },
  {
    ...STANDARD,
    key: "gitlab_signed",
    typeExample: "Push_Hook",
    name: "GitLab (signing token)",
    secretLabel: "Signing token",
    eventType: header("X-Gitlab-Event"),
    verifiedWith: library("standardwebhooks", "1.1.1"),
    docs: checkedDocs(
      "GitLab project or group: Settings, Webhooks, Add new webhook, URL, with a signing token.",
      "The same form, Signing token (GitLab 19.0 and later): it begins with whsec_.",
      "https://docs.gitlab.com/user/project/integrations/webhooks/",
      "A hook may carry a secret token beside it: use the provider gitlab for that one.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "For v1a: the public key with its prefix whpk_.":
    "Für v1a: der öffentliche Schlüssel mit dem Präfix whpk_.",
  "Signing token": "Signatur-Token",
  "The endpoint's page in the Clerk Dashboard, Signing Secret.":
    "Auf der Seite des Endpunkts im Clerk Dashboard: Signing Secret.",
  "The endpoint's page in the Stytch Dashboard, Signing Secret.":
    "Auf der Seite des Endpunkts im Stytch Dashboard: Signing Secret.",
  "Shown once, when the webhook is created or its secret is rotated: signing_secret in the API's answer.":
    "Einmal gezeigt, wenn der Webhook angelegt oder sein Geheimnis erneuert wird: signing_secret in der Antwort der API.",
  "GET https://api.replicate.com/v1/webhooks/default/secret with your API token.":
    "GET https://api.replicate.com/v1/webhooks/default/secret mit Ihrem API-Token.",
  "Dodo Payments Dashboard: Settings, Webhooks, the webhook's Secret Key.":
    "Dodo Payments Dashboard: Settings, Webhooks, beim Webhook: Secret Key.",
  "The endpoint's page in the Liveblocks dashboard, Signing secret.":
    "Auf der Seite des Endpunkts im Liveblocks-Dashboard: Signing secret.",
  "GET /v1/event_subscriptions/{token}/secret of the Lithic API.":
    "GET /v1/event_subscriptions/{token}/secret der Lithic-API.",
  "The webhook's page in the Render Dashboard, Signing Secret.":
    "Auf der Seite des Webhooks im Render Dashboard: Signing Secret.",
  "GET /v1/webhooks/secrets of the Brex API.": "GET /v1/webhooks/secrets der Brex-API.",
  "The endpoint's form in Polar's Settings, Secret.": "Im Formular des Endpunkts in Polars Settings: Secret.",
  "BigCommerce Developer Portal: My Apps, the app, View Client ID: the client secret.":
    "BigCommerce Developer Portal: My Apps, die App, View Client ID: das client secret.",
  "Resend dashboard: Webhooks, the webhook once it is made; or signing_secret in the API's answer.":
    "Resend-Dashboard: Webhooks, der Webhook, sobald er angelegt ist; oder signing_secret in der Antwort der API.",
  "Shown once when that endpoint is made, whsec_…; the same page rotates it.":
    "Einmal gezeigt, wenn jener Endpunkt angelegt wird, whsec_…; dieselbe Seite erneuert es.",
  "The same form, Signing token (GitLab 19.0 and later): it begins with whsec_.":
    "Im selben Formular, Signing token (ab GitLab 19.0): Es beginnt mit whsec_.",
  "Recall.ai dashboard: Developers, API Keys & Secrets, the verification secret.":
    "Recall.ai-Dashboard: Developers, API Keys & Secrets, das verification secret.",
  "The secret of that hook (v1,whsec_…), made with it.":
    "Das Geheimnis jenes Hooks (v1,whsec_…), das mit ihm entsteht.",
};
