import { answerEmpty, emptyHandshake, jsonHandshake } from "../answers.ts";
import { checkedDocs, docs, documentation, officialSdk } from "../define.ts";
import { all, bodyDigest, bodyHash, derived, type Facts, field, firstOf, header, joined } from "../facts.ts";
import type { Reception } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Arrival, keylessScheme, VERIFIED } from "../schemes/scheme.ts";
import { basicScheme, tokenScheme } from "../schemes/token.ts";
import type { SecretForm } from "../secrets.ts";

/** Providers that send a secret with every request instead of signing it. */

const AUTHORIZATION = tokenScheme([{ name: "authorization" }]);

const TELEGRAM_SECRET: SecretForm = {
  help: "1 to 256 characters A-Z a-z 0-9 _ -.",
  example: "a-secret-of-your-choice",
  decode: (secret) => (/^[A-Za-z0-9_-]{1,256}$/.test(secret) ? secret : null),
};

/** The one member beside `update_id`. */
function readUpdateKind({ body }: Facts): string | null {
  const { value } = body;
  if (typeof value !== "object" || value === null) return null;
  return Object.keys(value).find((name) => name !== "update_id") ?? null;
}

function answerOkta({ request }: Arrival): Reception | null {
  const verification = request.headers.get("x-okta-verification-challenge");
  return request.method === "GET" && verification !== undefined ? jsonHandshake({ verification }) : null;
}

function answerMailchimp({ request }: Arrival): Reception | null {
  return request.method === "GET" ? emptyHandshake() : null;
}

/** Mailchimp signs nothing: whoever knows the unguessable address may send. */
const ADDRESS_ONLY = keylessScheme({
  name: "address",
  headers: [],
  window: null,
  checks: "Nothing but the address, which nobody can guess",
  covers: {
    body: "nothing",
    but: "Whoever reads the source's id, as every key with scope read does, has its address and can send anything.",
  },
  verify: () => VERIFIED,
});

export const TOKEN: readonly ProviderRow[] = [
  {
    key: "gitlab",
    name: "GitLab (secret token)",
    scheme: tokenScheme([{ name: "x-gitlab-token" }]),
    secretFrom: "source",
    secretLabel: "Secret token",
    typeExample: "Push_Hook",
    eventType: header("X-Gitlab-Event"),
    deliveryId: firstOf(header("Idempotency-Key"), bodyHash),
    verifiedWith: documentation("gitlabhq/gitlabhq app/services/web_hook_service.rb"),
    docs: checkedDocs(
      "GitLab project or group: Settings, Webhooks, Add new webhook, URL.",
      "The same form, Secret token: paste the source's.",
      "https://docs.gitlab.com/user/project/integrations/webhooks/",
      "Newer GitLab can sign: use the provider gitlab_signed for it.",
    ),
  },
  {
    key: "flutterwave",
    name: "Flutterwave v3",
    scheme: tokenScheme([{ name: "verif-hash" }]),
    secretFrom: "source",
    secretLabel: "Secret hash",
    typeExample: "charge.completed",
    eventType: firstOf(field("event"), field("event\\.type")),
    deliveryId: firstOf(
      // A charge may be told of twice, pending and then successful.
      all(field("event"), field("data.id"), field("data.status")),
      all(field("event"), field("data.id")),
      bodyHash,
    ),
    verifiedWith: documentation("https://developer.flutterwave.com/v3.0/docs/webhooks"),
    docs: docs(
      "Flutterwave dashboard (v3): Settings, Webhooks, URL.",
      "The same page, Secret hash: type the source's secret.",
      "https://developer.flutterwave.com/v3.0/docs/webhooks",
      "The header holds the secret hash itself: version 4 signs, use the provider flutterwave_v4 for it.",
    ),
  },
  {
    key: "chargebee",
    name: "Chargebee",
    scheme: basicScheme(),
    secretFrom: "customer",
    secretLabel: "User name and password",
    typeExample: "subscription_created",
    eventType: field("event_type"),
    deliveryId: field("id"),
    verifiedWith: officialSdk("chargebee", "3.33.0"),
    docs: checkedDocs(
      "Chargebee: Settings, Webhooks (the Webhook Settings page), the webhook URL.",
      "The same page, My webhook URL is protected by basic authentication: user name and password of your choice.",
      "https://github.com/chargebee/openapi/blob/main/spec/chargebee_api_v1_spec.yaml",
    ),
  },
  {
    key: "postmark",
    name: "Postmark",
    scheme: basicScheme(),
    secretFrom: "customer",
    secretLabel: "User name and password",
    typeExample: "Bounce",
    eventType: field("RecordType"),
    deliveryId: firstOf(
      all(field("RecordType"), field("ID")),
      all(
        field("RecordType"),
        field("MessageID"),
        firstOf(field("DeliveredAt"), field("ReceivedAt"), field("ChangedAt"), field("BouncedAt")),
        // A message has several recipients, and several links that are clicked in one second.
        bodyDigest,
      ),
      // Inbound mail, which is sent again for ten hours. No record has `FromFull`.
      all(field("FromFull.Email"), field("MessageID")),
      bodyHash,
    ),
    verifiedWith: documentation("https://postmarkapp.com/developer/webhooks/webhooks-overview"),
    docs: checkedDocs(
      "POST /webhooks of the Postmark API, field Url; for inbound mail the server's Inbound Webhook URL.",
      "Field HttpAuth of that call: Username and Password of your choice.",
      "https://github.com/ActiveCampaign/postmark.js/blob/master/src/client/models/webhooks/Webhook.ts",
      "Inbound mail has no RecordType.",
    ),
  },
  {
    key: "telegram",
    name: "Telegram Bot API",
    scheme: tokenScheme([{ name: "x-telegram-bot-api-secret-token" }], TELEGRAM_SECRET),
    secretFrom: "source",
    secretLabel: "Secret token",
    secretAlphabet: "base64url",
    typeExample: "message",
    eventType: derived("the key beside update_id in the body", readUpdateKind),
    deliveryId: field("update_id"),
    answer: () => answerEmpty(),
    verifiedWith: documentation("https://core.telegram.org/bots/api#setwebhook"),
    docs: checkedDocs(
      "setWebhook of the Telegram Bot API, parameter url.",
      "Parameter secret_token of setWebhook: send the source's secret.",
      "https://core.telegram.org/bots/api#setwebhook",
      "A reply to the bot's user goes by Telegram's API: the answer to the webhook is empty.",
    ),
  },
  {
    key: "auth0",
    name: "Auth0 (log streams)",
    scheme: AUTHORIZATION,
    secretFrom: "source",
    secretLabel: "Authorization token",
    typeExample: "s",
    eventType: firstOf(field("0.data.type"), field("data.type"), field("logs.0.data.type")),
    deliveryId: firstOf(field("*.log_id"), field("log_id"), field("logs.*.log_id"), bodyHash),
    verifiedWith: documentation("https://auth0.com/docs/customize/log-streams/custom-log-streams"),
    docs: checkedDocs(
      "Auth0 Dashboard: Monitoring, Streams, Create Stream, Custom Webhook, Payload URL.",
      "The same form, Authorization Token: paste the source's secret, without Bearer.",
      "https://auth0.com/docs/customize/log-streams/custom-log-streams",
      "Choose the content format JSON Array; JSON Lines come as raw text.",
    ),
  },
  {
    key: "okta",
    name: "Okta event hooks",
    scheme: AUTHORIZATION,
    secretFrom: "source",
    secretLabel: "Authentication secret",
    unsignedHandshakes: [{ text: "GET X-Okta-Verification-Challenge: echoed as JSON", answer: answerOkta }],
    typeExample: "user.lifecycle.create",
    eventType: field("data.events.0.eventType"),
    deliveryId: firstOf(field("data.events.*.uuid"), field("eventId")),
    verifiedWith: documentation("https://developer.okta.com/docs/concepts/event-hooks/"),
    docs: checkedDocs(
      "Okta Admin Console: Workflow, Event Hooks, Create Event Hook, the dialog Add Event Hook Endpoint, URL.",
      "The same form, Authentication field: Authorization; Authentication secret: paste the source's.",
      "https://developer.okta.com/docs/concepts/event-hooks/",
      "The authentication field must be called Authorization.",
    ),
  },
  {
    key: "mailchimp",
    name: "Mailchimp Marketing",
    scheme: ADDRESS_ONLY,
    secretFrom: "none",
    unsignedHandshakes: [{ text: "GET when the address is entered: answered 200", answer: answerMailchimp }],
    form: "always",
    typeExample: "subscribe",
    eventType: field("type"),
    deliveryId: firstOf(
      all(joined(field("type"), field("fired_at"), field("data[id]"), field("data[email]")), bodyDigest),
      bodyHash,
    ),
    verifiedWith: documentation(
      "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
    ),
    docs: docs(
      "Mailchimp: Audience, Manage contacts, Settings, Webhooks, Create new webhook, Callback URL.",
      "Nothing to enter: Mailchimp signs nothing.",
      "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
      "Only the unguessable address protects the source: keep it secret, and fetch what matters from Mailchimp's API.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "1 to 256 characters A-Z a-z 0-9 _ -.": "1 bis 256 Zeichen aus A-Z a-z 0-9 _ -.",
  "User name and password": "Benutzername und Passwort",
  "Authorization token": "Autorisierungs-Token",
  "Authentication secret": "Authentifizierungs-Geheimnis",
  "The same form, Secret token: paste the source's.":
    "Im selben Formular, Secret token: das der Quelle einfügen.",
  "The same page, Secret hash: type the source's secret.":
    "Auf derselben Seite, Secret hash: das Geheimnis der Quelle eintippen.",
  "Parameter secret_token of setWebhook: send the source's secret.":
    "Parameter secret_token von setWebhook: das Geheimnis der Quelle senden.",
  "The same form, Authorization Token: paste the source's secret, without Bearer.":
    "Im selben Formular, Authorization Token: das Geheimnis der Quelle einfügen, ohne Bearer.",
  "The same form, Authentication field: Authorization; Authentication secret: paste the source's.":
    "Im selben Formular, Authentication field: Authorization; Authentication secret: das der Quelle einfügen.",
  "The same page, My webhook URL is protected by basic authentication: user name and password of your choice.":
    "Auf derselben Seite, My webhook URL is protected by basic authentication: Benutzername und Passwort Ihrer Wahl.",
  "Field HttpAuth of that call: Username and Password of your choice.":
    "Feld HttpAuth jenes Aufrufs: Username und Password Ihrer Wahl.",
};
