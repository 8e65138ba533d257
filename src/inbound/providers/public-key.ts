import { answerEmpty, emptyHandshake, jsonHandshake } from "../answers.ts";
import { checkedDocs, officialSdk } from "../define.ts";
import { all, bodyDigest, bodyHash, type Facts, field, firstOf, readPath } from "../facts.ts";
import type { Reception } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { p256Key, publicKeyScheme, rawEd25519 } from "../schemes/public-key.ts";
import { within } from "../window.ts";

/** Providers that sign with a key of their own, whose public half the customer enters. */

/** An interaction's PING is type 1, that of webhook events type 0. */
function answerPing({ body }: Facts): Reception | null {
  if (readPath(body, "event.type") !== null) return null;
  const type = readPath(body, "type");
  if (type === "1") return jsonHandshake({ type: 1 });
  return type === "0" ? emptyHandshake(204, { "content-type": "application/json" }) : null;
}

export const PUBLIC_KEY: readonly ProviderRow[] = [
  {
    key: "discord",
    name: "Discord",
    scheme: publicKeyScheme({
      header: "x-signature-ed25519",
      key: rawEd25519("hex"),
      algorithm: null,
      encoding: "hex",
      content: "{timestamp}{body}",
      timestamp: { header: "x-signature-timestamp", unit: "s" },
    }),
    secretFrom: "customer",
    secretLabel: "Public key",
    isSecretPublic: true,
    signedHandshakes: [
      { text: "PING: type 1 is answered {type: 1}, type 0 is answered 204", answer: answerPing },
    ],
    typeExample: "APPLICATION_AUTHORIZED",
    eventType: firstOf(field("event.type"), field("type")),
    deliveryId: firstOf(
      all(field("event.timestamp"), field("event.type"), bodyDigest),
      field("id"),
      bodyHash,
    ),
    answer: () => answerEmpty(204),
    verifiedWith: officialSdk("discord-interactions", "4.4.0"),
    docs: checkedDocs(
      "Discord Developer Portal: the application, Webhooks, Endpoint URL (or General Information, Interactions Endpoint URL).",
      "Discord Developer Portal: the application, General Information, Public Key.",
      "https://discord.com/developers/docs/events/webhook-events",
      "Discord also sends badly signed requests, which must be refused: they are.",
      "An interaction expects a reply that Sealpost does not give; take webhook events.",
    ),
  },
  {
    key: "telnyx",
    name: "Telnyx",
    scheme: publicKeyScheme({
      header: "telnyx-signature-ed25519",
      key: rawEd25519("base64"),
      algorithm: null,
      encoding: "base64",
      content: "{timestamp}|{body}",
      timestamp: { header: "telnyx-timestamp", unit: "s", window: within(300) },
    }),
    secretFrom: "customer",
    secretLabel: "Public key",
    isSecretPublic: true,
    typeExample: "message.received",
    eventType: field("data.event_type"),
    deliveryId: field("data.id"),
    verifiedWith: officialSdk("telnyx", "1.27.0"),
    docs: checkedDocs(
      "The field webhook_url of a Telnyx messaging profile or call control application.",
      "Telnyx Portal: Account Settings, Keys & Credentials, Public Key.",
      "https://github.com/team-telnyx/skills",
      "API version 1 of a profile signs otherwise: choose version 2.",
    ),
  },
  {
    key: "sendgrid",
    name: "SendGrid Event Webhook",
    scheme: publicKeyScheme({
      header: "x-twilio-email-event-webhook-signature",
      key: p256Key,
      algorithm: "sha256",
      encoding: "base64",
      content: "{timestamp}{body}",
      timestamp: { header: "x-twilio-email-event-webhook-timestamp", unit: "s" },
    }),
    secretFrom: "customer",
    secretLabel: "Verification key",
    isSecretPublic: true,
    typeExample: "delivered",
    eventType: field("0.event"),
    deliveryId: firstOf(field("*.sg_event_id"), bodyHash),
    verifiedWith: officialSdk("@sendgrid/eventwebhook", "8.0.0"),
    docs: checkedDocs(
      "SendGrid: Settings, Mail Settings, Event Webhooks, the HTTP POST URL.",
      "The same page: switch the signed event webhook on, generate the verification key and copy it.",
      "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
      "One request holds many events; it stays one event here, named after its first.",
      "Without Signature Verification every request is refused.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The Ed25519 public key in base64.": "Der öffentliche Ed25519-Schlüssel in Base64.",
  "The Ed25519 public key in hex.": "Der öffentliche Ed25519-Schlüssel in hexadezimalen Ziffern.",
  "Verification key": "Prüfschlüssel",
  "Discord Developer Portal: the application, General Information, Public Key.":
    "Discord Developer Portal: die Anwendung, General Information, Public Key.",
  "Telnyx Portal: Account Settings, Keys & Credentials, Public Key.":
    "Telnyx-Portal: Account Settings, Keys & Credentials, Public Key.",
  "The same page: switch the signed event webhook on, generate the verification key and copy it.":
    "Auf derselben Seite: den signed event webhook einschalten, den verification key erzeugen und kopieren.",
};
