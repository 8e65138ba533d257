import { emptyHandshake, textHandshake } from "../answers.ts";
import { readUnparsedFields } from "../body.ts";
import { credential } from "../config.ts";
import { docs, officialSdk } from "../define.ts";
import { hmac, isAnySame } from "../digest.ts";
import { derived, type Facts, readPath, signedText } from "../facts.ts";
import { onlyOne } from "../form.ts";
import type { Reception } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Arrival, refused, type Scheme, VERIFIED, type Verdict } from "../schemes/scheme.ts";

/** Braintree: a form with base64 of XML, signed by HMAC-SHA1 under the SHA-1 of the private key. */

const CHALLENGE = /^[a-f0-9]{20,32}$/;
const PAYLOAD = /^[A-Za-z0-9+=/\n]+$/;

/**
 * Anyone may have a challenge signed, and events are signed alike. So no text is both: base64 of XML begins
 * with P, which no challenge does.
 */
function isPayload(text: string): boolean {
  return PAYLOAD.test(text) && !CHALLENGE.test(text.trim());
}

function sign(privateKey: string, content: string): string {
  const key = new Bun.CryptoHasher("sha1").update(privateKey).digest();
  return hmac("sha1", key, [content], "hex");
}

/** The signature beside our public key in `<public key>|<hex>&…`. */
function signatureFor(publicKey: string, signatures: string): string | undefined {
  const pairs = signatures.split("&", 20).map((pair) => pair.split("|"));
  return pairs.find(([name]) => name === publicKey)?.[1];
}

function verify({ request, material }: Arrival): Verdict {
  const { public_key, private_key } = material.credentials;
  const fields = readUnparsedFields(request);
  const proof = ["bt_signature", "bt_payload"].map((name) => fields?.get(name));
  if (proof.includes(undefined)) return refused("missing_header");
  if (public_key === undefined || private_key === undefined) return refused("awaiting_secret");
  // Of two fields of one name a reader of the event may take the one that is not signed.
  const [signatures = null, payload = null] = proof.map((values) => onlyOne(values));
  if (signatures === null || payload === null || !isPayload(payload)) return refused("malformed");
  const signature = signatureFor(public_key, signatures);
  if (signature === undefined) return refused("unknown_key");
  const expected = [payload, `${payload}\n`].map((content) => sign(private_key, content));
  return isAnySame(expected, [signature]) ? VERIFIED : refused("bad_signature");
}

const scheme: Scheme = {
  name: "signed_body",
  headers: [],
  needsPublicUrl: false,
  window: null,
  checks: "HMAC with SHA-1 in hex, inside the body: bt_signature over bt_payload",
  covers: { body: "part", but: "Fields of the form beside bt_payload are not signed." },
  secretHelp: "",
  secretExample: "",
  checkSecret: () => "Enter public_key and private_key as credentials.",
  verify,
};

function answerChallenge({ request, material }: Arrival): Reception | null {
  const challenge = request.query.get("bt_challenge");
  if (request.method !== "GET" || challenge === null) return null;
  const { public_key, private_key } = material.credentials;
  if (public_key === undefined || private_key === undefined)
    return { kind: "refused", reason: "awaiting_secret" };
  if (!CHALLENGE.test(challenge)) return { kind: "refused", reason: "malformed" };
  return textHandshake(`${public_key}|${sign(private_key, challenge)}`);
}

/** Of a verified request, whose form has the field once. */
function xmlOf({ body }: Facts): string {
  return Buffer.from(readPath(body, "bt_payload") ?? "", "base64").toString("utf8");
}

/** A tag that is short: of many that never end, each would be read on to the end of the text. */
const TAG = /<(\/?)([a-z][a-z-]{0,63})(?: [^<>]{0,256})?>/g;
/** What decides stands at the front: a notification of some KB is a large one. */
const READ_MAX = 100_000;

/**
 * The text of the outermost element of this name, of several the first: what stands inside another may have
 * its name too.
 */
function elementIn(xml: string, name: string): string | null {
  const read = xml.slice(0, READ_MAX);
  let found: string | null = null;
  let [depth, foundAt] = [0, Number.POSITIVE_INFINITY];
  for (const { 0: tag, 1: end, 2: of, index } of read.matchAll(TAG)) {
    if (end === "/") depth--;
    else if (!tag.endsWith("/>")) {
      depth++;
      if (of !== name || depth >= foundAt) continue;
      const text = textBefore(read, index + tag.length, `</${name}>`);
      if (text !== null) [found, foundAt] = [text, depth];
    }
  }
  return found;
}

/** What stands from `at` on, up to this end; null where that is nothing, very long, or holds elements. */
function textBefore(xml: string, at: number, end: string): string | null {
  const until = xml.indexOf("<", at);
  const isText = until > at && until - at <= 256 && xml.startsWith(end, until);
  return isText ? xml.slice(at, until) : null;
}

export const BRAINTREE: ProviderRow = {
  key: "braintree",
  name: "Braintree",
  scheme,
  secretFrom: "customer",
  hasSigningSecret: false,
  credentials: [
    credential("public_key", "Public key", "Braintree Control Panel: the gear, API, API Keys, Public Key."),
    credential(
      "private_key",
      "Private key",
      "Braintree Control Panel: the gear, API, API Keys, Private Key, View.",
      {
        secret: true,
      },
    ),
  ],
  unsignedHandshakes: [{ text: "GET bt_challenge: answered with its HMAC", answer: answerChallenge }],
  signedHandshakes: [
    {
      text: "test notification of kind check",
      answer: (facts) => (elementIn(xmlOf(facts), "kind") === "check" ? emptyHandshake() : null),
    },
  ],
  proofs: ["bt_signature"],
  form: "always",
  typeExample: "subscription_went_past_due",
  eventType: derived("kind of the XML in bt_payload", (facts) => elementIn(xmlOf(facts), "kind")),
  // A snapshot of what it happened to, as of when it happened, whose own time counts whole seconds.
  deliveryId: signedText(xmlOf),
  verifiedWith: officialSdk("braintree", "3.40.0"),
  docs: docs(
    "Braintree Control Panel: the gear, API, Webhooks, Create new webhook, Destination URL.",
    "Braintree Control Panel: the gear, API, API Keys: public and private key.",
    "https://developer.paypal.com/braintree/docs/guides/webhooks/parse",
    "The event itself is XML in base64: data.bt_payload.",
    "The private key opens the whole account: it is stored encrypted and never shown.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Private key": "Privater Schlüssel",
  "Braintree Control Panel: the gear, API, API Keys, Public Key.":
    "Braintree Control Panel: das Zahnrad, API, API Keys, Public Key.",
  "Braintree Control Panel: the gear, API, API Keys, Private Key, View.":
    "Braintree Control Panel: das Zahnrad, API, API Keys, Private Key, View.",
};
