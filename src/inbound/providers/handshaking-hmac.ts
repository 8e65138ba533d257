import { emptyHandshake, jsonHandshake, textHandshake } from "../answers.ts";
import { credential } from "../config.ts";
import { checkedDocs, docs, documentation, officialSdk } from "../define.ts";
import { hmac, isSame } from "../digest.ts";
import {
  all,
  bodyDigest,
  bodyHash,
  derived,
  type Facts,
  field,
  firstOf,
  header,
  joined,
  nothing,
  readPath,
  signedHeader,
} from "../facts.ts";
import { emptyBatch, headProbe, ping } from "../handshakes.ts";
import type { Reception } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";
import { whole } from "../schemes/layouts.ts";
import type { Arrival } from "../schemes/scheme.ts";
import { decodeUtf8 } from "../utf8.ts";
import { within } from "../window.ts";

/** Providers that sign by HMAC and first want their address proven. */

const HEX256 = { algorithm: "sha256", encoding: "hex" } as const;

function answerTwitch({ arrival, body }: Facts): Reception | null {
  const kind = arrival.request.headers.get("twitch-eventsub-message-type");
  const challenge = readPath(body, "challenge");
  if (kind === "webhook_callback_verification" && challenge !== null) return textHandshake(challenge);
  return null;
}

function answerRevocation({ arrival }: Facts): Reception | null {
  return arrival.request.headers.get("twitch-eventsub-message-type") === "revocation"
    ? emptyHandshake()
    : null;
}

/** The plain token, and the token signed with the newest secret. */
function answerZoom({ arrival, body }: Facts): Reception | null {
  const plainToken = readPath(body, "payload.plainToken");
  const [secret] = arrival.material.secrets;
  // A token that is the text of an event would be answered with that event's signature.
  if (plainToken?.startsWith("v0:")) return { kind: "refused", reason: "malformed" };
  if (readPath(body, "event") !== "endpoint.url_validation" || plainToken === null || secret === undefined)
    return null;
  return jsonHandshake({ plainToken, encryptedToken: hmac("sha256", secret, [plainToken], "hex") });
}

/** The verify token is no signing secret: it stands in the query of this GET only. */
function answerMeta({ request, material }: Arrival): Reception | null {
  const challenge = request.query.get("hub.challenge");
  if (request.method !== "GET" || request.query.get("hub.mode") !== "subscribe" || challenge === null)
    return null;
  const wanted = material.credentials["verify_token"];
  if (wanted === undefined) return { kind: "refused", reason: "awaiting_secret" };
  const isOurs = isSame(wanted, request.query.get("hub.verify_token") ?? "");
  return isOurs ? textHandshake(challenge) : { kind: "refused", reason: "bad_signature" };
}

/**
 * X asks for the signature of any token, and signs its events alike: whoever may choose the token could have
 * an event signed. So no text is both: a token holds no bracket, an event (a JSON object) does.
 */
const CRC_TOKEN = /^[^[{]*$/;

const X_SCHEME = hmacScheme({
  header: "x-twitter-webhooks-signature",
  layout: whole("sha256="),
  algorithm: "sha256",
  encoding: "base64",
  signsOtherTexts: true,
});

function answerCrc({ request, material }: Arrival): Reception | null {
  const token = request.query.get("crc_token");
  if (request.method !== "GET" || token === null) return null;
  if (!CRC_TOKEN.test(token)) return { kind: "refused", reason: "malformed" };
  const [secret] = material.secrets;
  if (secret === undefined) return { kind: "refused", reason: "awaiting_secret" };
  return jsonHandshake({ response_token: `sha256=${hmac("sha256", secret, [token], "base64")}` });
}

function answerDropbox({ request }: Arrival): Reception | null {
  const challenge = request.query.get("challenge");
  return request.method === "GET" && challenge !== null ? textHandshake(challenge) : null;
}

/** The shop's first request is unsigned and holds nothing but the webhook's number. */
function answerWooCommerce({ request }: Arrival): Reception | null {
  const isPing = /^webhook_id=\d{1,20}$/.test(decodeUtf8(request.body.subarray(0, 64)) ?? "");
  return isPing && !request.headers.has("x-wc-webhook-signature") ? emptyHandshake() : null;
}

/** Printable, and no longer than what an owner may enter. */
const LEARNED_SECRET = /^[\x21-\x7e]{1,8192}$/;

/** The secret comes unsigned, so it is taken once only, while the source awaits it. */
function answerAsana({ request, material }: Arrival): Reception | null {
  const secret = request.headers.get("x-hook-secret");
  if (request.method !== "POST" || secret === undefined || secret === "") return null;
  if (material.secrets.length > 0) return { kind: "refused", reason: "unknown_key" };
  if (!LEARNED_SECRET.test(secret)) return { kind: "refused", reason: "malformed" };
  return { ...emptyHandshake(200, { "x-hook-secret": secret }), learnedSecret: secret };
}

/** Names the array of what happened: `tweet_create_events`. */
function readEventsKey({ body }: Facts): string | null {
  const { value } = body;
  if (typeof value !== "object" || value === null) return null;
  return Object.keys(value).find((name) => name.endsWith("_events")) ?? null;
}

export const HANDSHAKING_HMAC: readonly ProviderRow[] = [
  {
    key: "twitch",
    name: "Twitch EventSub",
    scheme: hmacScheme({
      ...HEX256,
      header: "twitch-eventsub-message-signature",
      layout: whole("sha256="),
      content: "{id}{timestamp}{body}",
      timestamp: { header: "twitch-eventsub-message-timestamp", unit: "iso", window: within(600) },
      idHeader: "twitch-eventsub-message-id",
    }),
    secretFrom: "source",
    signedHandshakes: [
      { text: "webhook_callback_verification: the challenge is echoed", answer: answerTwitch },
      { text: "revocation is answered 200", answer: answerRevocation },
    ],
    typeExample: "channel.follow",
    eventType: header("Twitch-Eventsub-Subscription-Type"),
    deliveryId: signedHeader("Twitch-Eventsub-Message-Id"),
    verifiedWith: documentation("https://dev.twitch.tv/docs/eventsub/handling-webhook-events/"),
    docs: checkedDocs(
      "POST /helix/eventsub/subscriptions (Create EventSub Subscription) of the Twitch API, field transport.callback.",
      "Field transport.secret of that call: send the source's secret.",
      "https://dev.twitch.tv/docs/eventsub/manage-subscriptions/",
      "A secret has 10 to 100 characters.",
    ),
  },
  {
    key: "zoom",
    name: "Zoom",
    scheme: hmacScheme({
      ...HEX256,
      header: "x-zm-signature",
      layout: whole("v0="),
      content: "v0:{timestamp}:{body}",
      timestamp: { header: "x-zm-request-timestamp", unit: "s", window: within(300) },
    }),
    secretFrom: "customer",
    secretLabel: "Secret token",
    signedHandshakes: [{ text: "endpoint.url_validation: the plain token and its HMAC", answer: answerZoom }],
    typeExample: "meeting.started",
    eventType: field("event"),
    deliveryId: firstOf(
      all(field("event"), field("event_ts"), bodyDigest),
      header("x-zm-trackingid"),
      bodyHash,
    ),
    verifiedWith: documentation("https://developers.zoom.us/docs/api/webhooks/"),
    docs: checkedDocs(
      "Zoom App Marketplace: Manage, the app, Features, Access, Event Subscriptions, Add New Event Subscription, Event notification endpoint URL.",
      "The same app's Features page, Secret Token.",
      "https://developers.zoom.us/docs/api/webhooks/",
      "Enter the secret token here before you press Validate there; Zoom validates again every 72 hours.",
    ),
  },
  {
    key: "meta",
    aliases: ["whatsapp", "facebook", "instagram", "messenger"],
    name: "Meta (WhatsApp, Facebook, Instagram, Messenger)",
    scheme: hmacScheme({
      ...HEX256,
      header: "x-hub-signature-256",
      layout: whole("sha256="),
      // What a browser is given at a login (signed_request), and the proof of a user's token.
      signsOtherTexts: true,
    }),
    secretFrom: "customer",
    secretLabel: "App secret",
    credentials: [
      credential(
        "verify_token",
        "Verify token",
        "A text of your choice; enter the same one in the App Dashboard.",
        {
          secret: true,
        },
      ),
    ],
    unsignedHandshakes: [
      { text: "GET hub.challenge: echoed where hub.verify_token is ours", answer: answerMeta },
    ],
    typeExample: "whatsapp_business_account.messages",
    eventType: joined(field("object"), field("entry.0.changes.0.field")),
    deliveryId: firstOf(
      field("entry.*.changes.*.value.messages.*.id"),
      // In a group each of its members has the states of one message.
      all(
        field("entry.*.changes.*.value.statuses.*.id"),
        field("entry.*.changes.*.value.statuses.*.status"),
        bodyDigest,
      ),
      // A message of Instagram that is taken back has the id of what it was.
      all(field("entry.*.messaging.*.message.mid"), bodyDigest),
      bodyHash,
    ),
    verifiedWith: documentation("https://developers.facebook.com/docs/graph-api/webhooks/getting-started"),
    docs: checkedDocs(
      "Meta App Dashboard: Webhooks (for WhatsApp: WhatsApp, Configuration), Callback URL.",
      "Meta App Dashboard: the app's Basic Settings, App Secret.",
      "https://github.com/fbsamples/whatsapp-business-jaspers-market#readme",
      "A message's states (sent, delivered, read) share its id; each is an event of its own.",
      "The older header X-Hub-Signature (SHA-1) is not read.",
    ),
  },
  {
    key: "x",
    aliases: ["twitter"],
    name: "X (Twitter)",
    scheme: X_SCHEME,
    secretFrom: "customer",
    secretLabel: "Consumer secret",
    unsignedHandshakes: [{ text: "GET crc_token: answered with its HMAC", answer: answerCrc }],
    typeExample: "tweet_create_events",
    eventType: derived("first key of the body that ends in _events", readEventsKey),
    deliveryId: bodyHash,
    verifiedWith: documentation("https://docs.x.com/x-api/webhooks/quickstart"),
    docs: checkedDocs(
      "POST /2/webhooks of the X API, field url.",
      "X Developer Console: the app, Keys and tokens, the API key's secret (the consumer secret).",
      "https://docs.x.com/x-api/webhooks/quickstart",
      "X repeats the CRC check every hour; a source without its secret loses the webhook.",
    ),
  },
  {
    key: "dropbox",
    name: "Dropbox",
    scheme: hmacScheme({ ...HEX256, header: "x-dropbox-signature" }),
    secretFrom: "customer",
    secretLabel: "App secret",
    unsignedHandshakes: [{ text: "GET challenge: echoed as text", answer: answerDropbox }],
    typeExample: "unknown",
    eventType: nothing,
    deliveryId: nothing,
    verifiedWith: documentation("https://www.dropbox.com/developers/reference/webhooks"),
    docs: checkedDocs(
      "Dropbox App Console: the app, its Webhooks section: the full address.",
      "Dropbox App Console: the app, its app secret.",
      "https://www.dropbox.com/developers/reference/webhooks",
      "The request only says whose files changed, and nothing in it tells two of them apart: each is an event.",
    ),
  },
  {
    key: "woocommerce",
    name: "WooCommerce",
    scheme: hmacScheme({ header: "x-wc-webhook-signature", algorithm: "sha256", encoding: "base64" }),
    secretFrom: "source",
    unsignedHandshakes: [
      { text: "webhook_id=<n>, unsigned, on creation: answered 200", answer: answerWooCommerce },
    ],
    typeExample: "order.created",
    eventType: header("X-WC-Webhook-Topic"),
    // The delivery's id is the same for all that one webhook sends within a second.
    deliveryId: firstOf(
      all(header("X-WC-Webhook-Delivery-ID"), header("X-WC-Webhook-Topic"), bodyDigest),
      bodyHash,
    ),
    verifiedWith: documentation("woocommerce/woocommerce plugins/woocommerce/includes/class-wc-webhook.php"),
    docs: checkedDocs(
      "WordPress: WooCommerce, Settings, Advanced, Webhooks, Add webhook, Delivery URL.",
      "The same form, Secret: paste the source's.",
      "https://woocommerce.com/document/webhooks/",
      "After five failures in a row the shop disables the webhook.",
      "A shop may filter the hash: only SHA-256 is verified.",
    ),
  },
  {
    key: "intercom",
    name: "Intercom",
    scheme: hmacScheme({
      header: "x-hub-signature",
      layout: whole("sha1="),
      algorithm: "sha1",
      encoding: "hex",
    }),
    secretFrom: "customer",
    secretLabel: "Client secret",
    unsignedHandshakes: [headProbe],
    signedHandshakes: [ping("topic", "ping")],
    typeExample: "conversation.user.created",
    eventType: field("topic"),
    deliveryId: field("id"),
    verifiedWith: documentation("https://developers.intercom.com/docs/webhooks/setting-up-webhooks"),
    docs: docs(
      "Intercom Developer Hub: the app, Webhooks, Endpoint URL.",
      "Intercom Developer Hub: the app, Basic information, Client secret.",
      "https://developers.intercom.com/docs/webhooks/setting-up-webhooks",
      "Answering 410 would unsubscribe; Sealpost never does.",
    ),
  },
  {
    key: "asana",
    name: "Asana",
    scheme: hmacScheme({ ...HEX256, header: "x-hook-signature" }),
    secretFrom: "provider",
    isSecretLearned: true,
    unsignedHandshakes: [{ text: "X-Hook-Secret: kept and echoed, once", answer: answerAsana }],
    signedHandshakes: [emptyBatch("events: [] is a heartbeat, answered 200")],
    typeExample: "task.added",
    eventType: joined(field("events.0.resource.resource_type"), field("events.0.action")),
    deliveryId: firstOf(
      all(field("events.*.created_at"), field("events.*.resource.gid"), field("events.*.action"), bodyDigest),
      bodyHash,
    ),
    verifiedWith: documentation("https://developers.asana.com/docs/webhooks-guide"),
    docs: checkedDocs(
      "POST /webhooks of the Asana API, field target.",
      "Nothing to enter: Asana brings the secret when that call is made.",
      "https://developers.asana.com/docs/webhooks-guide",
      "Each Asana webhook has a secret of its own, so it needs a source of its own.",
    ),
  },
  {
    key: "notion",
    name: "Notion",
    scheme: hmacScheme({ ...HEX256, header: "x-notion-signature", layout: whole("sha256=") }),
    secretFrom: "provider",
    isSecretLearned: true,
    unsignedHandshakes: [
      {
        text: "verification_token: kept, and shown to be copied to Notion until the first event",
        answer: answerNotion,
      },
    ],
    typeExample: "page.created",
    eventType: field("type"),
    deliveryId: field("id"),
    verifiedWith: officialSdk("@notionhq/client", "5.26.0"),
    docs: checkedDocs(
      "Notion's integration settings: the integration, Webhooks, + Create a subscription, Webhook URL.",
      "Nothing to enter here: copy pending_verification_token, which GET /v1/sources/… shows to a key with scope full until the first event, to the same Webhooks tab, where the subscription is verified.",
      "https://developers.notion.com/reference/webhooks",
      "The token comes once; for a new subscription open a new source.",
    ),
  },
];

/**
 * The token comes unsigned; it becomes the key, and the owner copies it back. Taken once, while the source
 * awaits it.
 */
function answerNotion({ request, material }: Arrival): Reception | null {
  if (material.secrets.length > 0 || request.method !== "POST") return null;
  const match = /^\s*\{\s*"verification_token"\s*:\s*"([A-Za-z0-9_-]{1,256})"\s*\}\s*$/.exec(
    decodeUtf8(request.body.subarray(0, 512)) ?? "",
  );
  const token = match?.[1];
  return token === undefined
    ? null
    : { ...emptyHandshake(), learnedSecret: token, pendingVerificationToken: token };
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Verify token": "Bestätigungs-Token",
  "Consumer secret": "Consumer-Geheimnis",
  "Field transport.secret of that call: send the source's secret.":
    "Feld transport.secret jenes Aufrufs: das Geheimnis der Quelle senden.",
  "A text of your choice; enter the same one in the App Dashboard.":
    "Ein Text Ihrer Wahl; denselben tragen Sie im App Dashboard ein.",
  "X Developer Console: the app, Keys and tokens, the API key's secret (the consumer secret).":
    "X Developer Console: die App, Keys and tokens, das Geheimnis des API-Schlüssels (consumer secret).",
  "Dropbox App Console: the app, its app secret.": "Dropbox App Console: die App, ihr App secret.",
  "The same form, Secret: paste the source's.": "Im selben Formular, Secret: das der Quelle einfügen.",
  "Intercom Developer Hub: the app, Basic information, Client secret.":
    "Intercom Developer Hub: die App, Basic information, Client secret.",
  "The same app's Features page, Secret Token.": "Auf der Seite Features derselben App: Secret Token.",
  "Meta App Dashboard: the app's Basic Settings, App Secret.":
    "Meta App Dashboard: Basic Settings der App, App Secret.",
};
