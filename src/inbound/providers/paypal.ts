import { credential } from "../config.ts";
import { checkedDocs, documentation } from "../define.ts";
import { field, proven } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { verifyCertified } from "../schemes/certificate.ts";
import {
  type Arrival,
  type Coverage,
  faultOfTime,
  headerOf,
  keylessScheme,
  refused,
  type Verdict,
} from "../schemes/scheme.ts";
import { UNSTATED_WINDOW } from "../window.ts";

/**
 * PayPal signs its transmission's id and time, the webhook's id and the CRC-32 of the body, by the key of
 * a certificate.
 */

const SIGNATURE = "paypal-transmission-sig";
const ID = "paypal-transmission-id";
const TIME = "paypal-transmission-time";
const CERTIFICATE = "paypal-cert-url";
const ALGORITHM = "paypal-auth-algo";
const HEADERS = [SIGNATURE, ID, TIME, CERTIFICATE, ALGORITHM];

const CERTIFICATE_URL =
  /^https:\/\/api(?:-m)?(?:\.sandbox)?\.paypal\.com\/v1\/notifications\/certs\/[A-Za-z0-9._-]+$/;
const COMMON_NAME = /^messageverificationcerts(?:\.sandbox)?\.paypal\.com$/;

async function verify(arrival: Arrival): Promise<Verdict> {
  const { request, material } = arrival;
  const { webhook_id } = material.credentials;
  if (HEADERS.some((name) => headerOf(request, name) === "")) return refused("missing_header");
  if (webhook_id === undefined) return refused("awaiting_secret");
  const url = headerOf(request, CERTIFICATE);
  const isKnown = CERTIFICATE_URL.test(url) && headerOf(request, ALGORITHM) === "SHA256withRSA";
  if (!isKnown) return refused("wrong_key_id");
  const fault = faultOfTime(headerOf(request, TIME), "iso", UNSTATED_WINDOW, arrival);
  if (fault !== null) return refused(fault);
  const checksum = Bun.hash.crc32(request.body);
  const content = [headerOf(request, ID), headerOf(request, TIME), webhook_id, checksum].join("|");
  const signature = headerOf(request, SIGNATURE);
  const proof = { url, commonName: COMMON_NAME, algorithm: "sha256", content, signature } as const;
  const verdict = await verifyCertified(proof, "PayPal", arrival);
  return verdict.kind === "verified" ? { ...verdict, proven: headerOf(request, ID) } : verdict;
}

const COVERS: Coverage = {
  body: "part",
  but: "Only a CRC-32 of the body is signed, which is not collision resistant: fetch what matters by its id.",
};

const scheme = keylessScheme({
  name: "public_key",
  headers: HEADERS,
  window: UNSTATED_WINDOW,
  checks:
    "SHA-256 signature with RSA, by PayPal's certificate, over transmission id, time, webhook id and the CRC-32 of the body",
  covers: COVERS,
  instead: "webhook_id",
  verify,
});

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
  proofTakenOnce: proven("the transmission's id"),
  verifiedWith: documentation(
    "https://developer.paypal.com/api/rest/webhooks/rest/#link-selfverificationmethod",
  ),
  docs: checkedDocs(
    "PayPal Developer Dashboard: the app among the REST API apps, its webhooks section, Add Webhook, the URL.",
    "The same page shows the webhook's ID once it is saved.",
    "https://developer.paypal.com/docs/integration/direct/webhooks/my-apps-and-credentials/",
    "The webhook simulator signs for the id WEBHOOK_ID, so its requests are refused.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Webhook ID": "Webhook-ID",
  "PayPal Developer Dashboard: the app, Webhooks, the column Webhook ID.":
    "PayPal Developer Dashboard: die App, Webhooks, die Spalte Webhook ID.",
};
