import { isObject } from "../../core/json/value.ts";
import { answerEmpty, textHandshake } from "../answers.ts";
import { readUnproven } from "../body.ts";
import { checkedDocs, documentation } from "../define.ts";
import { isSame } from "../digest.ts";
import { derived, type Facts, field, firstOf, joined, readPath } from "../facts.ts";
import type { Reception, RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, SECRET_ITSELF } from "../schemes/scheme.ts";
import { isSecretInQuery } from "../schemes/token.ts";

/** Microsoft Graph puts the secret, clientState, into every notification of the body. */

const STATES = { value: { clientState: true } } as const;

/** Of so many notifications at most. */
function statesIn(body: Uint8Array, most: number): unknown[] {
  const value = readUnproven(body, STATES, most);
  const list = isObject(value) ? value["value"] : undefined;
  return Array.isArray(list)
    ? list.map((entry: unknown) => (isObject(entry) ? entry["clientState"] : undefined))
    : [];
}

function compare(arrival: Arrival): Comparison | RefusalReason {
  const { body } = arrival.request;
  const states = statesIn(body, 1);
  if (isSecretInQuery(arrival)) return "token_in_query";
  if (states.length === 0) return "malformed";
  const [state] = states;
  if (typeof state !== "string") return "missing_header";
  return { given: [state], expected: (secret) => (isHeldBack(body, state, secret) ? [] : [secret]) };
}

/**
 * One request may mix subscriptions: each must hold the same secret. Of half a million notifications that a
 * stranger sends only the first is read.
 */
function isHeldBack(body: Uint8Array, state: string, secret: string): boolean {
  return isSame(state, secret) && statesIn(body, Infinity).some((other) => other !== state);
}

/** The address is proven by echoing a token as text, never as HTML. */
function answerValidation({ request }: Arrival): Reception | null {
  const token = request.query.get("validationToken");
  return request.method === "POST" && token !== null ? textHandshake(token) : null;
}

/** `#Microsoft.Graph.Message` is a Message. */
function readResourceType({ body }: Facts): string | null {
  return readPath(body, "value.0.resourceData.@odata\\.type")?.split(".").at(-1) ?? null;
}

const CHECKS = "The secret itself, as clientState of every notification in the body";

export const MICROSOFT_GRAPH: ProviderRow = {
  key: "microsoft_graph",
  name: "Microsoft Graph",
  scheme: comparedScheme({ name: "token", headers: [], checks: CHECKS, covers: SECRET_ITSELF, compare }),
  secretFrom: "source",
  secretLabel: "clientState",
  unsignedHandshakes: [{ text: "POST ?validationToken: echoed as text", answer: answerValidation }],
  typeExample: "created.Message",
  eventType: joined(
    firstOf(field("value.0.changeType"), field("value.0.lifecycleEvent")),
    derived("last part of @odata.type of body value.0.resourceData", readResourceType),
  ),
  // Most have no id, and each change of an object is told by the very same bytes: those are never taken
  // for repeats.
  deliveryId: field("value.*.id"),
  proofs: ["value.*.clientState"],
  answer: () => answerEmpty(202),
  verifiedWith: documentation(
    "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
  ),
  docs: checkedDocs(
    "POST /v1.0/subscriptions of Microsoft Graph, field notificationUrl (and lifecycleNotificationUrl).",
    "Field clientState of that call: send the source's secret.",
    "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
    "A subscription expires and must be renewed by its owner.",
    "A notification without an id is an event each time: of the same object the next one is the same to the byte.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  clientState: "clientState",
  "Field clientState of that call: send the source's secret.":
    "Feld clientState jenes Aufrufs: das Geheimnis der Quelle senden.",
};
