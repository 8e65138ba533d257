import { credential } from "../config.ts";
import { docs, documentation } from "../define.ts";
import { field } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { certifiedKey } from "../schemes/certificate.ts";
import { isSignedWith } from "../schemes/public-key.ts";
import {
  type Attempt,
  headerOf,
  refused,
  type Scheme,
  VERIFIED,
  type Verdict,
  withoutKeys,
} from "../schemes/scheme.ts";
import { isWithin, narrowed, readTimestamp, UNSTATED_WINDOW } from "../window.ts";

/** PayPal signs its transmission's id and time, the webhook's id and the CRC-32 of the body, by the key of a certificate. */

const SIGNATURE = "paypal-transmission-sig";
const ID = "paypal-transmission-id";
const TIME = "paypal-transmission-time";
const CERTIFICATE = "paypal-cert-url";
const ALGORITHM = "paypal-auth-algo";
const HEADERS = [SIGNATURE, ID, TIME, CERTIFICATE, ALGORITHM];

const CERTIFICATE_URL =
  /^https:\/\/api(?:-m)?(?:\.sandbox)?\.paypal\.com\/v1\/notifications\/certs\/[A-Za-z0-9._-]+$/;
const COMMON_NAME = /^messageverificationcerts(?:\.sandbox)?\.paypal\.com$/;

function judgeTime({ request, material, nowMs }: Attempt): Verdict {
  const atMs = readTimestamp(headerOf(request, TIME), "iso");
  if (atMs === null) return refused("malformed");
  return isWithin(narrowed(UNSTATED_WINDOW, material.config), atMs, nowMs)
    ? VERIFIED
    : refused("stale_timestamp");
}

async function verify(attempt: Attempt): Promise<Verdict> {
  const { request, material, nowMs, keys } = attempt;
  const { webhook_id } = material.credentials;
  if (HEADERS.some((name) => headerOf(request, name) === "")) return refused("missing_header");
  if (webhook_id === undefined) return refused("awaiting_secret");
  const url = headerOf(request, CERTIFICATE);
  const isKnown = CERTIFICATE_URL.test(url) && headerOf(request, ALGORITHM) === "SHA256withRSA";
  if (!isKnown) return refused("wrong_key_id");
  const time = judgeTime(attempt);
  if (time.kind !== "verified") return time;
  const answer = await keys.read({ url, isNamedBySender: true });
  if (answer.kind !== "document") return withoutKeys(answer.kind, "PayPal");
  const key = certifiedKey(answer.text, COMMON_NAME, nowMs);
  const checksum = Bun.hash.crc32(request.body);
  const content = [headerOf(request, ID), headerOf(request, TIME), webhook_id, checksum].join("|");
  const signature = Buffer.from(headerOf(request, SIGNATURE), "base64");
  const isCanonical = signature.toString("base64") === headerOf(request, SIGNATURE);
  const isGenuine =
    key !== null && isCanonical && isSignedWith(key, "sha256", Buffer.from(content), signature);
  return isGenuine ? VERIFIED : refused("bad_signature");
}

const scheme: Scheme = {
  name: "public_key",
  headers: HEADERS,
  needsPublicUrl: false,
  window: UNSTATED_WINDOW,
  checks:
    "SHA-256 signature with RSA, by PayPal's certificate, over transmission id, time, webhook id and the CRC-32 of the body",
  secretHelp: "",
  secretExample: "",
  checkSecret: () => "Enter webhook_id as credentials.",
  verify,
};

export const PAYPAL: ProviderRow = {
  key: "paypal",
  name: "PayPal",
  scheme,
  secretFrom: "provider",
  credentials: [
    credential(
      "webhook_id",
      "Webhook ID",
      "PayPal Developer Dashboard: the app, Webhooks, the column Webhook ID.",
    ),
  ],
  typeExample: "PAYMENT.SALE.COMPLETED",
  eventType: field("event_type"),
  deliveryId: field("id"),
  verifiedWith: documentation(
    "https://developer.paypal.com/api/rest/webhooks/rest/#link-selfverificationmethod",
  ),
  docs: docs(
    "PayPal Developer Dashboard: Apps & Credentials, the app, Webhooks, Add Webhook, Webhook URL.",
    "The same page, column Webhook ID: it appears once the webhook is saved.",
    "https://developer.paypal.com/api/rest/webhooks/rest/",
    "The webhook simulator signs for the id WEBHOOK_ID, so its requests are refused.",
    "Only a CRC-32 of the body is signed, which is not collision resistant: fetch what matters by its id.",
  ),
};
