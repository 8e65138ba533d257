import { createPublicKey, type KeyObject } from "node:crypto";
import { isObject } from "../../core/json/value.ts";
import { textConfig } from "../config.ts";
import { checkedDocs, documentation } from "../define.ts";
import { hash } from "../digest.ts";
import { field, signedHeader } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { parseJson } from "../schemes/jwt.ts";
import { isSignedWith } from "../schemes/public-key.ts";
import {
  type Arrival,
  faultOfTime,
  headerOf,
  keylessScheme,
  refused,
  type Verdict,
  WHOLE_BODY,
  withoutKeys,
} from "../schemes/scheme.ts";
import { within } from "../window.ts";

/** fal.ai signs by Ed25519 with keys that it publishes; they are the same for all its customers. */

const KEYS = { url: "https://rest.fal.ai/.well-known/jwks.json" };
const SIGNATURE = "x-fal-webhook-signature";
const REQUEST_ID = "x-fal-webhook-request-id";
const USER_ID = "x-fal-webhook-user-id";
const TIMESTAMP = "x-fal-webhook-timestamp";
const HEADERS = [SIGNATURE, REQUEST_ID, USER_ID, TIMESTAMP];
const WINDOW = within(300);

/** Every Ed25519 key of the set; null where the document is none. */
function keysIn(text: string): KeyObject[] | null {
  const value = parseJson(text);
  const list = isObject(value) ? value["keys"] : undefined;
  if (!Array.isArray(list)) return null;
  const points = list.map((jwk: unknown) => (isObject(jwk) && jwk["kty"] === "OKP" ? jwk["x"] : undefined));
  return points
    .filter((x) => typeof x === "string" && Buffer.from(x, "base64url").length === 32)
    .map((x) => createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: String(x) }, format: "jwk" }));
}

function contentOf({ request }: Arrival): Buffer {
  const parts = [REQUEST_ID, USER_ID, TIMESTAMP].map((name) => headerOf(request, name));
  return Buffer.from([...parts, hash("sha256", [request.body], "hex")].join("\n"));
}

/** 64 bytes. */
const SIGNATURE_HEX = /^[0-9a-f]{128}$/i;

function faultOf(arrival: Arrival): RefusalReason | null {
  const { request, material } = arrival;
  if (HEADERS.some((name) => headerOf(request, name) === "")) return "missing_header";
  if (!SIGNATURE_HEX.test(headerOf(request, SIGNATURE))) return "malformed";
  const wanted = material.config["user_id"];
  if (typeof wanted === "string" && headerOf(request, USER_ID) !== wanted) return "unknown_key";
  return faultOfTime(headerOf(request, TIMESTAMP), "s", WINDOW, arrival);
}

async function isGenuine(arrival: Arrival, isRenewal: boolean): Promise<boolean | null> {
  const answer = await arrival.keys.read(KEYS, isRenewal);
  const keys = answer.kind === "document" ? keysIn(answer.text) : null;
  const signature = Buffer.from(headerOf(arrival.request, SIGNATURE), "hex");
  return keys && keys.some((key) => isSignedWith(key, null, contentOf(arrival), signature));
}

async function verify(arrival: Arrival): Promise<Verdict> {
  const fault = faultOf(arrival);
  if (fault !== null) return refused(fault);
  const genuine = (await isGenuine(arrival, false)) || (await isGenuine(arrival, true));
  if (genuine === null) return withoutKeys("unavailable", "fal");
  if (!genuine) return refused("bad_signature");
  return { kind: "verified", signedHeaders: new Map([[REQUEST_ID, headerOf(arrival.request, REQUEST_ID)]]) };
}

const scheme = keylessScheme({
  name: "public_key",
  headers: HEADERS,
  window: WINDOW,
  checks:
    "Ed25519 in hex, by fal's published keys, over request id, user id, timestamp and the body's SHA-256",
  covers: WHOLE_BODY,
  verify,
});

export const FAL: ProviderRow = {
  key: "fal",
  name: "fal.ai",
  scheme,
  secretFrom: "provider",
  config: [
    {
      ...textConfig(
        "user_id",
        "User id",
        "Your fal user id: without it every fal customer can call this source.",
      ),
      isAdvised: true,
    },
  ],
  typeExample: "OK",
  eventType: field("status"),
  deliveryId: signedHeader("X-Fal-Webhook-Request-Id"),
  verifiedWith: documentation("https://docs.fal.ai/model-endpoints/webhooks"),
  docs: checkedDocs(
    "The option webhookUrl of fal's client, or the parameter fal_webhook, of each request to the queue.",
    "Nothing secret to enter; set user_id to your own fal user id.",
    "https://github.com/fal-ai/fal-js/blob/main/libs/client/src/queue.ts",
    "Its keys are the same for all customers: set user_id.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "User id": "Benutzer-Id",
  "Your fal user id: without it every fal customer can call this source.":
    "Ihre Benutzer-Id bei fal: Ohne sie kann jeder Kunde von fal diese Quelle rufen.",
};
