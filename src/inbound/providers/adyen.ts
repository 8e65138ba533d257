import { isObject } from "../../core/json/json.ts";
import { answerText } from "../answers.ts";
import { checkedDocs, vector } from "../define.ts";
import { hmac } from "../digest.ts";
import { all, field } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { parseJson } from "../schemes/jwt.ts";
import type { Arrival, Coverage } from "../schemes/scheme.ts";
import { hexSecret } from "../secrets.ts";

/** Adyen signs eight fields of every item, inside the item. */

const ITEM = "notificationItems.*.NotificationRequestItem";
const SIGNED_FIELDS = ["pspReference", "originalReference", "merchantAccountCode", "merchantReference"];

/** Adyen sends one, rarely some; each costs an HMAC before anything is known to be genuine. */
const ITEMS_MAX = 100;

type Item = Record<string, unknown>;

function itemsOf(body: unknown): Item[] {
  const list = isObject(body) ? body["notificationItems"] : undefined;
  if (!Array.isArray(list)) return [];
  return list
    .map((entry: unknown) => (isObject(entry) ? entry["NotificationRequestItem"] : undefined))
    .filter(isObject);
}

/** A missing field is an empty text; nothing is escaped. */
function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

function signedContent(item: Item): string {
  const amount = isObject(item["amount"]) ? item["amount"] : {};
  const values = [amount["value"], amount["currency"], item["eventCode"], item["success"]];
  return [...SIGNED_FIELDS.map((name) => item[name]), ...values].map(textOf).join(":");
}

function signatureIn(item: Item): string {
  return isObject(item["additionalData"]) ? textOf(item["additionalData"]["hmacSignature"]) : "";
}

/** All items are compared as one, so that every single one must be genuine. */
function compare({ request }: Arrival): Comparison | RefusalReason {
  const items = itemsOf(parseJson(new TextDecoder().decode(request.body)));
  if (items.length === 0 || items.length > ITEMS_MAX) return "malformed";
  const signatures = items.map(signatureIn);
  if (signatures.some((signature) => signature === "")) return "missing_header";
  const sign = (key: string | Uint8Array) =>
    items.map((item) => hmac("sha256", key, [signedContent(item)], "base64"));
  return {
    given: [signatures.join(" ")],
    expected: (secret) => [sign(hexSecret.decode(secret) ?? secret).join(" ")],
  };
}

const CHECKS = "HMAC with SHA-256 in base64, inside every item, over eight of its fields, joined by colons";

const COVERS: Coverage = {
  body: "part",
  but: "Only eight fields of an item are signed: fetch the rest by its pspReference before you trust it.",
};

export const ADYEN: ProviderRow = {
  key: "adyen",
  name: "Adyen (payments)",
  scheme: comparedScheme({
    name: "signed_body",
    headers: [],
    secret: hexSecret,
    checks: CHECKS,
    covers: COVERS,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "HMAC key",
  proofs: [`${ITEM}.additionalData.hmacSignature`],
  typeExample: "AUTHORISATION",
  eventType: field("notificationItems.0.NotificationRequestItem.eventCode"),
  deliveryId: all(field(`${ITEM}.eventCode`), field(`${ITEM}.pspReference`), field(`${ITEM}.success`)),
  answer: () => answerText("[accepted]"),
  verifiedWith: vector("Adyen/adyen-node-api-library src/__tests__/hmacValidator.spec.ts"),
  docs: checkedDocs(
    "Adyen Customer Area: Developers, Webhooks: create a Standard webhook with this address.",
    "The same webhook's HMAC Key: generate and copy it.",
    "https://github.com/adyen-examples/adyen-node-online-payments/tree/main/checkout-example-advanced#webhooks",
    "Choose JSON as the method.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The same webhook's HMAC Key: generate and copy it.": "HMAC Key desselben Webhooks: erzeugen und kopieren.",
};
