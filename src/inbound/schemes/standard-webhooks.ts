import { type SecretForm, whsecSecret } from "../secrets.ts";
import { within } from "../window.ts";
import { hmacProof, hmacScheme } from "./hmac.ts";
import { listed } from "./layouts.ts";
import { publicKeyProof, rawEd25519 } from "./public-key.ts";
import type { Arrival, Scheme } from "./scheme.ts";
import { type Proof, type SignedRule, signedScheme } from "./signed.ts";

/** Standard Webhooks 1.0.0: `{id}.{timestamp}.{body}`, entries `v1,<base64>` and `v1a,<base64>`, 300 s. */

const NAME = "standard_webhooks";
/** Supabase joins its entries by `, ` instead of a space. */
const SEPARATOR = /,?\s+/;

/**
 * `prefix` of the three headers: `webhook`, or `svix` for senders behind Svix; `version` of the entries,
 * empty for any.
 */
function ruleOf(prefix: string, version: string): SignedRule {
  return {
    header: `${prefix}-signature`,
    layout: listed(SEPARATOR, version),
    content: "{id}.{timestamp}.{body}",
    timestamp: { header: `${prefix}-timestamp`, unit: "s", window: within(300) },
    idHeader: `${prefix}-id`,
  };
}

function v1Rule(prefix: string, secret: SecretForm) {
  return { ...ruleOf(prefix, "v1,"), algorithm: "sha256", encoding: "base64", secret } as const;
}

/** `v1` with the headers `webhook-*`. */
export function standardWebhooks(secret: SecretForm = whsecSecret): Scheme {
  return { ...hmacScheme(v1Rule("webhook", secret)), name: NAME };
}

/**
 * `v1` with the headers `svix-*`, which count before `webhook-*` where a request has both (as in Svix's
 * library).
 */
export function svixScheme(): Scheme {
  const own = hmacScheme(v1Rule("svix", whsecSecret));
  const renamed = hmacScheme(v1Rule("webhook", whsecSecret));
  const schemeFor = ({ request }: Arrival) => (request.headers.has("webhook-signature") ? renamed : own);
  return {
    ...own,
    name: NAME,
    verify: (arrival) =>
      (arrival.request.headers.has("svix-signature") ? own : schemeFor(arrival)).verify(arrival),
  };
}

const PUBLIC_PREFIX = "whpk_";

function entriesOf(version: string, entries: readonly string[]): string[] {
  return entries.filter((entry) => entry.startsWith(version)).map((entry) => entry.slice(version.length));
}

/** Each secret by its kind: `whpk_` checks `v1a` entries, any other `v1` entries. */
function eitherProof(): Proof {
  const v1 = hmacProof(v1Rule("webhook", whsecSecret));
  const key = rawEd25519("base64", PUBLIC_PREFIX);
  const v1a = publicKeyProof({ ...ruleOf("webhook", "v1a,"), key, algorithm: null, encoding: "base64" });
  return {
    name: NAME,
    checks: `${v1.checks} (v1) or ${v1a.checks} (v1a)`,
    secretExample: v1.secretExample,
    secretHelp: `${v1.secretHelp} For v1a: the public key with its prefix ${PUBLIC_PREFIX}.`,
    isSecret: (text) => (text.startsWith(PUBLIC_PREFIX) ? v1a : v1).isSecret(text),
    holds(entries, secrets, contentFor) {
      const isPublic = (secret: string) => secret.startsWith(PUBLIC_PREFIX);
      const shared = secrets.filter((secret) => !isPublic(secret));
      const byV1 = v1.holds(entriesOf("v1,", entries), shared, contentFor);
      return v1a.holds(entriesOf("v1a,", entries), secrets.filter(isPublic), contentFor) || byV1;
    },
  };
}

/** `v1` and `v1a`, as the customer's secret is a `whsec_` or a `whpk_`. */
export function standardWebhooksAny(): Scheme {
  return signedScheme(ruleOf("webhook", ""), eitherProof());
}

/** `v1a` only. */
export function standardWebhooksV1a(): Scheme {
  const proof = publicKeyProof({
    ...ruleOf("webhook", "v1a,"),
    key: rawEd25519("base64", PUBLIC_PREFIX),
    algorithm: null,
    encoding: "base64",
  });
  return { ...signedScheme(ruleOf("webhook", "v1a,"), proof), name: NAME };
}
