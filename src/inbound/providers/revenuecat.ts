import { credential } from "../config.ts";
import { checkedDocs, documentation } from "../define.ts";
import { isAnySame } from "../digest.ts";
import { field } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";
import { pairs } from "../schemes/layouts.ts";
import {
  type Arrival,
  type Coverage,
  headerOf,
  refused,
  type Scheme,
  type Verdict,
} from "../schemes/scheme.ts";
import { tokenScheme } from "../schemes/token.ts";
import { within } from "../window.ts";

/**
 * RevenueCat sends an Authorization value as typed in its form, and, where it is switched on, an HMAC. Where
 * an HMAC comes it decides; an Authorization value that was entered is asked for as well.
 */

const SIGNATURE = "x-revenuecat-webhook-signature";

const signature = hmacScheme({
  header: SIGNATURE,
  layout: pairs(",", "t", "v1"),
  algorithm: "sha256",
  encoding: "hex",
  content: "{timestamp}.{body}",
  timestamp: { unit: "s", window: within(300) },
});

const token = tokenScheme([{ name: "authorization" }]);

/**
 * The Authorization value alone: it must be the secret, or, where no secret was entered, the value of
 * `credentials`.
 */
function verifyToken(arrival: Arrival): Verdict | Promise<Verdict> {
  const { secrets, credentials } = arrival.material;
  const { authorization } = credentials;
  const typed = secrets.length === 0 && authorization !== undefined ? [authorization] : secrets;
  return token.verify({ ...arrival, material: { ...arrival.material, secrets: typed } });
}

async function verify(arrival: Arrival): Promise<Verdict> {
  if (!arrival.request.headers.has(SIGNATURE)) return verifyToken(arrival);
  const verdict = await signature.verify(arrival);
  const { authorization } = arrival.material.credentials;
  if (verdict.kind !== "verified" || authorization === undefined) return verdict;
  return isAnySame([authorization], [headerOf(arrival.request, "authorization")])
    ? verdict
    : refused("bad_signature");
}

const COVERS: Coverage = {
  body: "nothing",
  but: "Without a signature nothing of the body is signed: whoever has the Authorization value can send anything.",
};

const scheme: Scheme = { ...signature, headers: ["authorization", SIGNATURE], covers: COVERS, verify };

export const REVENUECAT: ProviderRow = {
  key: "revenuecat",
  name: "RevenueCat",
  scheme,
  secretFrom: "customer",
  isSecretOptional: true,
  isAwaiting: ({ secrets, credentials }) =>
    secrets.length === 0 && credentials["authorization"] === undefined,
  credentials: [
    credential(
      "authorization",
      "Authorization header value",
      "The whole value as typed in RevenueCat, with Bearer if it has it.",
      {
        required: false,
        secret: true,
      },
    ),
  ],
  typeExample: "INITIAL_PURCHASE",
  eventType: field("event.type"),
  deliveryId: field("event.id"),
  verifiedWith: documentation("https://www.revenuecat.com/docs/integrations/webhooks"),
  docs: checkedDocs(
    "RevenueCat: the project, Integrations, Webhooks, Add new configuration, the HTTPS URL.",
    "The same form: the authorization header that you set; or, where it signs, the webhook's secret.",
    "https://www.revenuecat.com/docs/integrations/webhooks",
    "The Authorization value is compared whole: with Bearer where you typed it.",
    "Where signing is switched on, the value alone is no longer accepted once the signature comes.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Authorization header value": "Wert des Headers Authorization",
  "The whole value as typed in RevenueCat, with Bearer if it has it.":
    "Der ganze Wert wie in RevenueCat eingetippt, mit Bearer, wenn er so beginnt.",
  "The same form: the authorization header that you set; or, where it signs, the webhook's secret.":
    "Im selben Formular: der Header Authorization, den Sie gesetzt haben; oder, wo es signiert, das Geheimnis des Webhooks.",
};
