import { jsonHandshake } from "../answers.ts";
import { readJson } from "../body.ts";
import { credential } from "../config.ts";
import { checkedDocs, docs, documentation, officialSdk } from "../define.ts";
import { hash, isSame } from "../digest.ts";
import { all, bodyHash, claim, field, firstOf, header, nothing, readPath } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { type JwtRule, publishedJwtScheme, sharedJwtScheme } from "../schemes/jwt.ts";
import type { Arrival } from "../schemes/scheme.ts";
import { type Coverage, WHOLE_BODY } from "../schemes/scheme.ts";
import { isWithin, narrowed, UNSTATED_WINDOW } from "../window.ts";

/** Sent once and unsigned, when the webhook is made. */
function answerMonday({ request }: Arrival) {
  const body = readJson(request.body.subarray(0, 4096));
  const challenge = body && readPath(body, "challenge");
  return body && challenge !== null && readPath(body, "event.type") === null
    ? jsonHandshake({ challenge })
    : null;
}

/** Providers that send a signed token, most of them with a hash of the body in it. */

/** Compares a claim with the body's hash; padding is optional where it is base64. */
function checkHash(claimed: unknown, { request }: Arrival, encoding: "hex" | "base64" | "base64url") {
  const wanted = hash("sha256", [request.body], encoding).replace(/(?<!=)=+$/, "");
  return typeof claimed === "string" && isSame(claimed.replace(/(?<!=)=+$/, ""), wanted)
    ? null
    : "body_altered";
}

/** Until it expires, a token holds for any body. */
const SECRET_TOKEN: Coverage = {
  body: "nothing",
  but: "The token does not cover the body: whoever has one can send anything until it expires.",
};

const NETLIFY: JwtRule = {
  header: "x-webhook-signature",
  algorithm: "HS256",
  issuer: "netlify",
  required: ["sha256"],
  checks: "JWT by HS256 of issuer netlify, whose claim sha256 is the body's hash",
  covers: WHOLE_BODY,
  check: (claims, arrival) => checkHash(claims["sha256"], arrival, "hex"),
};

const QSTASH: JwtRule = {
  header: "upstash-signature",
  algorithm: "HS256",
  issuer: "Upstash",
  required: ["sub", "exp", "nbf", "body"],
  checks:
    "JWT by HS256 of issuer Upstash, valid now, whose claim sub is the address and body the body's hash",
  covers: WHOLE_BODY,
  needsPublicUrl: true,
  check: (claims, arrival) =>
    claims.sub === arrival.request.url ? checkHash(claims["body"], arrival, "base64url") : "unknown_key",
};

const LIVEKIT: JwtRule = {
  header: "authorization",
  algorithm: "HS256",
  required: ["iss", "exp", "sha256"],
  checks: "JWT by HS256, not expired, whose issuer is the API key and whose claim sha256 is the body's hash",
  covers: WHOLE_BODY,
  check: (claims, arrival) =>
    claims.iss === arrival.material.credentials["api_key"]
      ? checkHash(claims["sha256"], arrival, "base64")
      : "unknown_key",
};

const VONAGE: JwtRule = {
  header: "authorization",
  algorithm: "HS256",
  issuer: "Vonage",
  required: ["iat", "jti", "payload_hash"],
  checks: "JWT by HS256 of issuer Vonage, whose claim payload_hash is the body's hash",
  covers: WHOLE_BODY,
  check: (claims, arrival) => {
    const { api_key } = arrival.material.credentials;
    if (api_key !== undefined && claims["api_key"] !== api_key) return "unknown_key";
    // Without `exp` the age of `iat` counts.
    const window = narrowed(UNSTATED_WINDOW, arrival.material.config);
    if (!isWithin(window, (claims.iat ?? 0) * 1000, arrival.nowMs)) return "stale_timestamp";
    return checkHash(claims["payload_hash"], arrival, "hex");
  },
};

const GOOGLE: JwtRule = {
  header: "authorization",
  algorithm: "RS256",
  issuer: ["https://accounts.google.com", "accounts.google.com"],
  required: ["aud", "email", "exp"],
  checks: "JWT by RS256 of Google's published keys, not expired, of this audience and service account",
  covers: SECRET_TOKEN,
  needsPublicUrl: true,
  check: (claims, { request, material }) => {
    const audience = material.credentials["audience"] ?? request.url;
    const isOurs = claims.aud === audience && claims["email_verified"] === true;
    return isOurs && claims["email"] === material.credentials["service_account_email"] ? null : "unknown_key";
  },
};
const GOOGLE_KEYS = { url: "https://www.googleapis.com/oauth2/v3/certs" };

export const JWT: readonly ProviderRow[] = [
  {
    key: "netlify",
    name: "Netlify",
    scheme: sharedJwtScheme(NETLIFY),
    secretFrom: "source",
    secretLabel: "JWS secret token",
    typeExample: "deploy_created",
    eventType: firstOf(header("X-Netlify-Event"), field("state")),
    deliveryId: firstOf(
      all(field("id"), field("state"), field("updated_at")),
      all(field("id"), field("state")),
      bodyHash,
    ),
    verifiedWith: documentation("https://docs.netlify.com/deploy/deploy-notifications/"),
    docs: docs(
      "Netlify project: Project configuration, Notifications, Add notification, HTTP POST request, URL to notify.",
      "The same form, JWS secret token: paste the source's.",
      "https://docs.netlify.com/deploy/deploy-notifications/",
      "The token has no time in it: only the deploy's id and state stop a replay.",
    ),
  },
  {
    key: "qstash",
    name: "Upstash QStash",
    scheme: sharedJwtScheme(QSTASH, ({ material }) => {
      const next = material.credentials["next_signing_key"];
      return next === undefined ? [] : [next];
    }),
    secretFrom: "customer",
    secretLabel: "Current signing key",
    credentials: [
      credential(
        "next_signing_key",
        "Next signing key",
        "Upstash Console: QStash, Signing Keys, Next Signing Key.",
        {
          required: false,
          secret: true,
        },
      ),
    ],
    typeExample: "unknown",
    eventType: nothing,
    deliveryId: header("Upstash-Message-Id"),
    verifiedWith: officialSdk("@upstash/qstash", "2.12.0"),
    docs: checkedDocs(
      "The destination of each message or schedule that you publish to QStash.",
      "Upstash Console: QStash, the current signing key (sig_…).",
      "https://upstash.com/docs/qstash/howto/signature",
      "The address is signed: publish to it exactly as shown here, or set public_url.",
    ),
  },
  {
    key: "livekit",
    name: "LiveKit",
    scheme: sharedJwtScheme(LIVEKIT),
    secretFrom: "customer",
    secretLabel: "API secret",
    credentials: [credential("api_key", "API key", "LiveKit Cloud: Settings, API keys, the key (API…).")],
    typeExample: "room_started",
    eventType: field("event"),
    deliveryId: field("id"),
    verifiedWith: officialSdk("livekit-server-sdk", "2.19.2"),
    docs: checkedDocs(
      "LiveKit Cloud: the Settings section of the project's dashboard; self-hosted: webhook.urls in the config.",
      "The secret of the API key that signs: self-hosted it is the one that webhook.api_key names.",
      "https://docs.livekit.io/home/server/webhooks/",
      "The Authorization header has no Bearer.",
    ),
  },
  {
    key: "vonage",
    name: "Vonage",
    scheme: { ...sharedJwtScheme(VONAGE), window: UNSTATED_WINDOW },
    secretFrom: "customer",
    secretLabel: "Signature secret",
    credentials: [
      credential(
        "api_key",
        "API key",
        "Vonage API Dashboard: API Settings. Where it is entered, only this account is accepted.",
        {
          required: false,
        },
      ),
    ],
    typeExample: "delivered",
    eventType: field("status"),
    deliveryId: firstOf(claim("jti"), all(field("message_uuid"), field("status")), bodyHash),
    verifiedWith: officialSdk("@vonage/jwt", "1.17.1"),
    docs: checkedDocs(
      "Vonage API Dashboard: Your Applications, Edit, Messages capabilities, Status URL and Inbound URL.",
      "Vonage API Dashboard: Settings, the signature secret of the API key that the token names.",
      "https://github.com/Nexmo/nexmo-developer/blob/main/_documentation/en/messages/concepts/signed-webhooks.md",
      "Use POST with a JSON body; GET carries no hash of what was sent.",
    ),
  },
  {
    key: "monday",
    name: "monday.com",
    scheme: sharedJwtScheme({
      header: "authorization",
      algorithm: "HS256",
      required: ["aud", "exp"],
      checks: "JWT by HS256, not expired, whose audience is the address",
      covers: SECRET_TOKEN,
      needsPublicUrl: true,
      check: (claims, { request }) => (claims.aud === request.url ? null : "unknown_key"),
    }),
    secretFrom: "customer",
    unsignedHandshakes: [{ text: "challenge: echoed as JSON", answer: answerMonday }],
    typeExample: "create_pulse",
    eventType: field("event.type"),
    deliveryId: firstOf(
      all(field("event.triggerUuid"), field("event.subscriptionId")),
      field("event.triggerUuid"),
      bodyHash,
    ),
    verifiedWith: documentation("https://developer.monday.com/apps/docs/authorization-header"),
    docs: checkedDocs(
      "create_webhook of the monday.com API with an app's token, argument url.",
      "monday.com: Developers, the app, Basic Information, Signing Secret.",
      "https://github.com/mondaycom/welcome-apps",
      "Webhooks that were not made with an app's token carry no token and are refused.",
      "Of two webhooks that lead to one address each makes an event of the same change.",
    ),
  },
  {
    key: "google_pubsub",
    name: "Google Cloud Pub/Sub push",
    scheme: publishedJwtScheme(GOOGLE, { documentFor: () => GOOGLE_KEYS }),
    secretFrom: "provider",
    credentials: [
      credential(
        "service_account_email",
        "Service account",
        "The service account of the push subscription's authentication.",
      ),
      credential("audience", "Audience", "The subscription's audience; left out, the source's address.", {
        required: false,
      }),
    ],
    typeExample: "OBJECT_FINALIZE",
    eventType: firstOf(
      field("message.attributes.eventType"),
      field("message.attributes.type"),
      field("message.attributes.ce-type"),
    ),
    // The id is unique within its topic; subscriptions of several may lead to one address.
    // A push without a wrapper has no id, and two of them may be the same to the byte.
    deliveryId: firstOf(
      all(field("subscription"), field("message.messageId")),
      field("message.messageId"),
      nothing,
    ),
    verifiedWith: officialSdk("google-auth-library", "10.5.0"),
    docs: checkedDocs(
      "gcloud pubsub subscriptions create, options --push-endpoint, --push-auth-service-account and --push-auth-token-audience.",
      "Nothing secret to enter: the service account and the audience of that command.",
      "https://github.com/GoogleCloudPlatform/nodejs-docs-samples/blob/main/appengine/pubsub/README.md",
      "Any Google account could sign: the service account is what proves the sender.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "JWS secret token": "Geheimes JWS-Token",
  "Current signing key": "Aktueller Signaturschlüssel",
  "Next signing key": "Nächster Signaturschlüssel",
  "Signature secret": "Signaturgeheimnis",
  "Service account": "Dienstkonto",
  Audience: "Audience",
  "The same form, JWS secret token: paste the source's.":
    "Im selben Formular, JWS secret token: das der Quelle einfügen.",
  "Upstash Console: QStash, the current signing key (sig_…).":
    "Upstash Console: QStash, der aktuelle Signaturschlüssel (sig_…).",
  "Upstash Console: QStash, Signing Keys, Next Signing Key.":
    "Upstash Console: QStash, Signing Keys, Next Signing Key.",
  "LiveKit Cloud: Settings, API keys, the key (API…).":
    "LiveKit Cloud: Settings, API keys, der Schlüssel (API…).",
  "Vonage API Dashboard: API Settings. Where it is entered, only this account is accepted.":
    "Vonage API Dashboard: API Settings. Ist er eingetragen, wird nur dieses Konto angenommen.",
  "The service account of the push subscription's authentication.":
    "Das Dienstkonto aus der Authentifizierung des Push-Abonnements.",
  "The subscription's audience; left out, the source's address.":
    "Die Audience des Abonnements; ohne Angabe die Adresse der Quelle.",
  "monday.com: Developers, the app, Basic Information, Signing Secret.":
    "monday.com: Developers, die App, Basic Information, Signing Secret.",
  "The secret of the API key that signs: self-hosted it is the one that webhook.api_key names.":
    "Das Geheimnis des API-Schlüssels, der signiert: selbst betrieben der, den webhook.api_key nennt.",
  "Vonage API Dashboard: Settings, the signature secret of the API key that the token names.":
    "Vonage API Dashboard: Settings, das signature secret des API-Schlüssels, den das Token nennt.",
};
