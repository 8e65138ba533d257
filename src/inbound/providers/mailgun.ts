import { isObject } from "../../core/json/value.ts";
import { readUnparsedFields, readUnproven } from "../body.ts";
import { checkedDocs, documentation } from "../define.ts";
import { hash, hmac } from "../digest.ts";
import { all, derived, field, firstOf, proven, readPath, readValue } from "../facts.ts";
import { onlyOne } from "../form.ts";
import type { InboundRequest, RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, type Coverage, faultOfTime } from "../schemes/scheme.ts";
import { within } from "../window.ts";

/**
 * Mailgun signs a time and a random token, inside the body; inbound routes have them among their form fields.
 * What happens at a subaccount is signed with the primary account's key too: either proves it.
 */

const WINDOW = within(900);

const SIGNATURES = ["signature", "parent-signature"] as const;
const PROOF = { timestamp: true, token: true, signature: true, "parent-signature": true } as const;

/**
 * Reads a part of the proof, and nothing else, as no more is genuine yet; null where one stands twice. All
 * parts stand in one place: in `signature` where that is an object, else at the top.
 */
function proofIn(request: InboundRequest): ((name: string) => string | null) | null {
  const fields = readUnparsedFields(request);
  if (fields) return (name) => onlyOne(fields.get(name));
  const claimed = readUnproven(request.body, { ...PROOF, signature: PROOF }, 0);
  if (claimed === null) return null;
  const holder = isObject(claimed) ? claimed["signature"] : undefined;
  const place = isObject(holder) ? holder : claimed;
  return (name) => readValue(place, name);
}

function compare(arrival: Arrival): Comparison | RefusalReason {
  const read = proofIn(arrival.request);
  if (read === null) return "malformed";
  const [timestamp, token] = ["timestamp", "token"].map(read);
  const given = SIGNATURES.map(read).filter((signature) => signature !== null);
  if (!timestamp || !token || given.length === 0) return "missing_header";
  const fault = faultOfTime(timestamp, "s", WINDOW, arrival);
  if (fault !== null) return fault;
  const expected = (secret: string) => [hmac("sha256", secret, [timestamp, token], "hex")];
  return { given, expected, proven: token };
}

const CHECKS = "HMAC with SHA-256 in hex, inside the body, over its timestamp and token";

const COVERS: Coverage = {
  body: "nothing",
  but: "What happened is not signed, only a time and a token: fetch the event by its id before you trust it.",
};

const TOKEN = proven("the signed token");

/** Events of the forms that one message has once for each recipient; the others may happen again. */
const HAPPENS_ONCE = new Set(["delivered", "dropped", "bounced", "complained"]);

const EVENT = derived("what happens once (delivered, dropped, bounced, complained)", ({ body }) => {
  const event = readPath(body, "event")?.toLowerCase() ?? "";
  return HAPPENS_ONCE.has(event) ? event : null;
});

/**
 * Who writes a mail chooses its Message-Id too, and would make another's a repeat: of its form all counts but
 * the proof, which is another at each try.
 */
const MAIL = derived("hash of an inbound mail's fields", ({ body }) => {
  if (body.kind === "json" || !isObject(body.value) || Object.hasOwn(body.value, "event")) return null;
  const fields = Object.entries(body.value).filter(([name]) => !Object.hasOwn(PROOF, name));
  return hash("sha256", [JSON.stringify(fields)], "hex");
});

export const MAILGUN: ProviderRow = {
  key: "mailgun",
  name: "Mailgun",
  scheme: comparedScheme({
    name: "signed_body",
    headers: [],
    checks: CHECKS,
    covers: COVERS,
    window: WINDOW,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "HTTP webhook signing key",
  form: "sometimes",
  typeExample: "opened",
  eventType: firstOf(field("event-data.event"), field("event")),
  deliveryId: firstOf(
    field("event-data.id"),
    all(field("Message-Id"), field("recipient"), EVENT),
    MAIL,
    TOKEN,
  ),
  proofs: [...SIGNATURES, ...SIGNATURES.map((name) => `signature.${name}`)],
  proofTakenOnce: TOKEN,
  verifiedWith: documentation(
    "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
  ),
  docs: checkedDocs(
    "Mailgun Control Panel: Webhooks, the domain; for inbound mail: a route that stores and notifies.",
    "Mailgun's Webhook Signing Key, one for the account: GET /v5/accounts/http_signing_key.",
    "https://github.com/mailgun/documentation/blob/master/source/user_manual.rst",
    "A token is taken once: with other data it is refused.",
    "A subaccount's webhooks are signed with its own key and with the primary account's: enter either.",
    "Forms have no id: of opened, clicked and unsubscribed each token is an event, so that a retry signed anew is one more.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "HTTP webhook signing key": "Signaturschlüssel der HTTP-Webhooks",
  "Mailgun's Webhook Signing Key, one for the account: GET /v5/accounts/http_signing_key.":
    "Mailguns Webhook Signing Key, einer für das Konto: GET /v5/accounts/http_signing_key.",
};
