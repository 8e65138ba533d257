import { isObject } from "../../core/json/value.ts";
import { answerText } from "../answers.ts";
import { readUnproven } from "../body.ts";
import { checkedDocs, vector } from "../define.ts";
import { hmac } from "../digest.ts";
import { all, field, firstOf, signedText } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import type { Arrival, Coverage } from "../schemes/scheme.ts";
import { hexSecret } from "../secrets.ts";

/** Adyen signs eight fields of an item, inside the item. */

const ITEM = "notificationItems.*.NotificationRequestItem";

type Item = Record<string, unknown>;

/**
 * The one item that Adyen sends as JSON. Each of several has a signature of its own, so that whoever has seen
 * some could put them together anew.
 */
function itemIn(body: unknown): Item | null {
  const list = isObject(body) ? body["notificationItems"] : undefined;
  const entry: unknown = Array.isArray(list) && list.length === 1 ? list[0] : undefined;
  const item = isObject(entry) ? entry["NotificationRequestItem"] : undefined;
  return isObject(item) ? item : null;
}

/** A missing field is an empty text; nothing is escaped. */
function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

/**
 * The signed fields in their order, joined by colons; null where they could be cut elsewhere, or one be
 * spelled otherwise: only the merchant's reference may hold colons, and only the amount is a number.
 */
function signedContent(item: Item): string | null {
  const amount = isObject(item["amount"]) ? item["amount"] : {};
  const before = ["pspReference", "originalReference", "merchantAccountCode"].map((name) => item[name]);
  const after = [amount["currency"], item["eventCode"], item["success"]];
  if ([...before, ...after].some((value) => typeof value === "number")) return null;
  const parted = [...before, amount["value"], ...after].map(textOf);
  if (parted.some((text) => text.includes(":"))) return null;
  return [...parted.slice(0, 3), textOf(item["merchantReference"]), ...parted.slice(3)].join(":");
}

function signatureIn(item: Item): string {
  return isObject(item["additionalData"]) ? textOf(item["additionalData"]["hmacSignature"]) : "";
}

const PROOF = {
  notificationItems: {
    NotificationRequestItem: {
      pspReference: true,
      originalReference: true,
      merchantAccountCode: true,
      merchantReference: true,
      amount: { value: true, currency: true },
      eventCode: true,
      success: true,
      additionalData: { hmacSignature: true },
    },
  },
} as const;
/** One more than it has, so that a second one is seen. */
const ITEMS_READ = 2;

function compare({ request }: Arrival): Comparison | RefusalReason {
  const item = itemIn(readUnproven(request.body, PROOF, ITEMS_READ));
  const content = item && signedContent(item);
  if (item === null || content === null) return "malformed";
  const signature = signatureIn(item);
  if (signature === "") return "missing_header";
  return {
    given: [signature],
    expected: (secret) => [hmac("sha256", hexSecret.decode(secret) ?? secret, [content], "base64")],
  };
}

/** Where a part of the identity is missing, which is signed as an empty text. */
const SIGNED_TEXT = signedText(({ body }) => {
  const item = itemIn(body.value);
  return item && signedContent(item);
});

const CHECKS = "HMAC with SHA-256 in base64, inside the item, over eight of its fields, joined by colons";

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
  eventType: field(`${ITEM}.eventCode`),
  deliveryId: firstOf(
    all(field(`${ITEM}.eventCode`), field(`${ITEM}.pspReference`), field(`${ITEM}.success`)),
    SIGNED_TEXT,
  ),
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
