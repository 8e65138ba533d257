import { choiceConfig } from "../config.ts";
import { docs, vector } from "../define.ts";
import { hash, hmac } from "../digest.ts";
import { all, bodyHash, field, firstOf, nothing } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, faultOfTime, headerOf, WHOLE_BODY } from "../schemes/scheme.ts";
import { within } from "../window.ts";

/**
 * HubSpot: v3 is an HMAC over method, address, body and time; v1 and v2 are plain hashes that begin with
 * the secret.
 */

const V3 = "x-hubspot-signature-v3";
const OLDER = "x-hubspot-signature";
const VERSION = "x-hubspot-signature-version";
const TIMESTAMP = "x-hubspot-request-timestamp";
const WINDOW = within(300);
const VERSIONS = ["any", "v3"] as const;

/** HubSpot decodes these before it signs; its SDK does not: both spellings are tried. */
const DECODED = "3A 2F 3F 40 21 24 27 28 29 2A 2C 3B 3a 2f 3f 2a 2c 3b".split(" ").map((code) => {
  const escaped = `%${code}`;
  return { escaped, letter: decodeURIComponent(escaped) };
});

/** A pass over the address for each: it may hold thousands, and what is decoded makes no other of them. */
function spellingsOf(url: string): string[] {
  return [url, DECODED.reduce((text, { escaped, letter }) => text.replaceAll(escaped, letter), url)];
}

function compareV3(arrival: Arrival): Comparison | RefusalReason {
  const { request } = arrival;
  const [signature, timestamp] = [headerOf(request, V3), headerOf(request, TIMESTAMP)];
  if (signature === "" || timestamp === "") return "missing_header";
  const fault = faultOfTime(timestamp, "ms", WINDOW, arrival);
  if (fault !== null) return fault;
  const spellings = spellingsOf(request.url);
  return {
    // The query, which whoever sends the request chooses, is joined to the body.
    needsJson: true,
    given: [signature],
    expected: (secret) =>
      spellings.map((url) =>
        hmac("sha256", secret, [request.method, url, request.body, timestamp], "base64"),
      ),
  };
}

function compareOlder({ request }: Arrival, isV2: boolean): Comparison | RefusalReason {
  const signature = headerOf(request, OLDER);
  if (signature === "") return "missing_header";
  return {
    // Without HMAC a hash that begins with the secret can be lengthened by anyone who has one. What is put
    // on is no JSON.
    needsJson: true,
    given: [signature.toLowerCase()],
    expected: (secret) => [
      hash(
        "sha256",
        isV2 ? [secret, request.method, request.url, request.body] : [secret, request.body],
        "hex",
      ),
    ],
  };
}

/**
 * HubSpot sends v3 with every request of a public app, and the older version beside it, which signs no time:
 * whoever takes v3 out of a request could send it at any time. So the older ones never count beside v3 or its
 * time, and not at all where the source says so.
 */
function compare(arrival: Arrival): Comparison | RefusalReason {
  const { request, material } = arrival;
  const mayBeOlder = material.config["signature_versions"] !== VERSIONS[1];
  // The time comes with v3 only.
  const hasV3 = request.headers.has(V3) || request.headers.has(TIMESTAMP);
  if (hasV3 || !mayBeOlder) return compareV3(arrival);
  return compareOlder(arrival, headerOf(request, VERSION) === "v2");
}

export const HUBSPOT: readonly ProviderRow[] = [
  {
    key: "hubspot",
    name: "HubSpot",
    scheme: comparedScheme({
      headers: [V3, TIMESTAMP, OLDER, VERSION],
      needsPublicUrl: true,
      checks:
        "HMAC with SHA-256 in base64 over {method}{url}{body}{timestamp} (v3); where there is none, and config.signature_versions is not v3, SHA-256 in hex (v1, v2)",
      covers: WHOLE_BODY,
      window: WINDOW,
      compare,
    }),
    secretFrom: "customer",
    secretLabel: "App client secret",
    config: [
      choiceConfig(
        "signature_versions",
        "Signature versions",
        "v1 and v2 sign no time: any (default) takes them where a request has no v3, v3 refuses them.",
        VERSIONS,
      ),
    ],
    typeExample: "contact.creation",
    eventType: field("0.subscriptionType"),
    deliveryId: firstOf(all(field("*.eventId"), field("*.subscriptionId"), field("*.occurredAt")), bodyHash),
    verifiedWith: vector("HubSpot/hubspot-api-nodejs test/unit/signature.spec.ts"),
    docs: docs(
      "HubSpot developer account: Apps, the app, Webhooks, Target URL.",
      "HubSpot developer account: Apps, the app, Auth, Client secret.",
      "https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests",
      "The address is signed: enter it there exactly as shown here, or set public_url.",
      "A public app gets X-HubSpot-Signature-v3 with every request: set config.signature_versions to v3 for it. Otherwise who has seen a request can take v3 out of it and send it at any time.",
      "One request holds up to 100 events; it stays one event here, named after its first.",
    ),
  },
  {
    key: "hubspot_v2",
    name: "HubSpot (v2: CRM cards, workflow actions)",
    scheme: comparedScheme({
      name: "hash",
      headers: [OLDER, VERSION],
      checks: "SHA-256 in hex over {secret}{method}{url}{body}",
      covers: WHOLE_BODY,
      needsPublicUrl: true,
      compare: (arrival) => compareOlder(arrival, true),
    }),
    secretFrom: "customer",
    secretLabel: "App client secret",
    typeExample: "unknown",
    eventType: nothing,
    // Of workflow actions; a card's request has none, and asks for what is there now.
    deliveryId: field("callbackId"),
    verifiedWith: vector("HubSpot/hubspot-api-nodejs test/unit/signature.spec.ts"),
    docs: docs(
      "HubSpot developer account: Apps, the app, CRM cards, Data fetch URL; or Create a workflow action, actionUrl.",
      "HubSpot developer account: Apps, the app's Auth tab, Client secret; the same as for its webhooks.",
      "https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests",
      "No timestamp is signed: for webhooks take the provider hubspot.",
      "CRM cards show what is answered: Sealpost answers no card.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Signature versions": "Versionen der Signatur",
  "v1 and v2 sign no time: any (default) takes them where a request has no v3, v3 refuses them.":
    "v1 und v2 signieren keine Zeit: any (ohne Angabe) nimmt sie, wo eine Anfrage kein v3 hat, v3 lehnt sie ab.",
  "HubSpot developer account: Apps, the app, Auth, Client secret.":
    "HubSpot-Entwicklerkonto: Apps, die App, Auth, Client secret.",
  "HubSpot developer account: Apps, the app's Auth tab, Client secret; the same as for its webhooks.":
    "HubSpot-Entwicklerkonto: Apps, in der App der Reiter Auth, Client secret; dasselbe wie für ihre Webhooks.",
};
