import { decodeProtectedHeader } from "jose";
import { isObject } from "../../core/json/value.ts";
import { choiceConfig, credential } from "../config.ts";
import { checkedDocs, documentation } from "../define.ts";
import { hash, isSame } from "../digest.ts";
import { field, joined, nothing } from "../facts.ts";
import type { KeyDocument, RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type JwtRule, publishedJwtScheme } from "../schemes/jwt.ts";
import type { Arrival } from "../schemes/scheme.ts";
import { isWithin, narrowed, within } from "../window.ts";
import { WHOLE_BODY } from "../schemes/scheme.ts";

/** Plaid: a token by a key that is asked for by its id, with the hash of the body and the time. */

const HOSTS: ReadonlyMap<string, string> = new Map([
  ["production", "https://production.plaid.com"],
  ["sandbox", "https://sandbox.plaid.com"],
]);
const WINDOW = within(300);
const KEY_ID = /^[A-Za-z0-9-]{1,128}$/;

const RULE: JwtRule = {
  header: "plaid-verification",
  algorithm: "ES256",
  required: ["iat", "request_body_sha256"],
  checks: "JWT by ES256 of a key that Plaid publishes, whose claim request_body_sha256 is the body's hash",
  covers: WHOLE_BODY,
  check(claims, { request, material, nowMs }) {
    const isRecent = isWithin(narrowed(WINDOW, material.config), (claims.iat ?? 0) * 1000, nowMs);
    if (!isRecent) return "stale_timestamp";
    const claimed = claims["request_body_sha256"];
    const isSameBody = typeof claimed === "string" && isSame(claimed, hash("sha256", [request.body], "hex"));
    return isSameBody ? null : "body_altered";
  },
};

function keyIdOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid;
  } catch {
    return undefined;
  }
}

/** POST /webhook_verification_key/get, one document for each key. */
function documentFor(token: string, { material }: Arrival): KeyDocument | RefusalReason {
  const { client_id, secret, environment = "production" } = material.credentials;
  const host = HOSTS.get(environment);
  const keyId = keyIdOf(token);
  if (client_id === undefined || secret === undefined || host === undefined) return "awaiting_secret";
  if (keyId === undefined || !KEY_ID.test(keyId)) return "malformed";
  return {
    url: `${host}/webhook_verification_key/get`,
    post: JSON.stringify({ client_id, secret, key_id: keyId }),
    isNamedBySender: true,
  };
}

/** The answer holds one key, which says when it stops to be valid; an unknown id gives none. */
function keySetIn(value: unknown, { nowMs }: Arrival): unknown {
  if (!isObject(value)) return undefined;
  const { key } = value;
  if (!isObject(key)) return { keys: [] };
  const expiresAt = key["expired_at"];
  const isExpired = typeof expiresAt === "number" && expiresAt * 1000 <= nowMs;
  return { keys: isExpired ? [] : [key] };
}

export const PLAID: ProviderRow = {
  key: "plaid",
  name: "Plaid",
  scheme: { ...publishedJwtScheme(RULE, { documentFor, keySetIn }), window: WINDOW },
  secretFrom: "provider",
  credentials: [
    credential("client_id", "Client id", "Plaid Dashboard: Developers, Keys, client_id."),
    credential("secret", "API secret", "Plaid Dashboard: Developers, Keys, the environment's secret.", {
      secret: true,
    }),
    {
      ...choiceConfig("environment", "Environment", "production or sandbox.", [...HOSTS.keys()]),
      required: true,
    },
  ],
  typeExample: "TRANSACTIONS.SYNC_UPDATES_AVAILABLE",
  eventType: joined(field("webhook_type"), field("webhook_code")),
  // What changed is named and no more: the next change of it is the same to the byte.
  deliveryId: nothing,
  verifiedWith: documentation("https://plaid.com/docs/api/webhooks/webhook-verification/"),
  docs: checkedDocs(
    "The field webhook of /link/token/create; or Plaid Dashboard: Developers, Webhooks, for events that are subscribed to there.",
    "Plaid Dashboard: Developers, Keys: client_id and secret, with which its public keys are fetched.",
    "https://plaid.com/docs/api/webhooks/webhook-verification/",
    "Plaid gives no id, and says of one change what it says of the next: each request is an event, a retry too.",
    "The body is hashed as sent, white space included.",
    "Requests that are all refused as wrong_key_id: client_id, secret or environment are not those of the sender.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Client id": "Client-Id",
  Environment: "Umgebung",
  "Plaid Dashboard: Developers, Keys, client_id.": "Plaid Dashboard: Developers, Keys, client_id.",
  "Plaid Dashboard: Developers, Keys, the environment's secret.":
    "Plaid Dashboard: Developers, Keys, das Geheimnis der Umgebung.",
  "production or sandbox.": "production oder sandbox.",
};
