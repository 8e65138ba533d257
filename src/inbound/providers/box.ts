import { checkedDocs, officialSdk } from "../define.ts";
import { field, firstOf, header } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";
import { within } from "../window.ts";

/** Box signs with two keys side by side, one header each; either proves the request. */
export const BOX: ProviderRow = {
  key: "box",
  name: "Box",
  scheme: hmacScheme({
    header: ["box-signature-primary", "box-signature-secondary"],
    isEveryHeaderRead: true,
    algorithm: "sha256",
    encoding: "base64",
    content: "{body}{timestamp}",
    timestamp: { header: "box-delivery-timestamp", unit: "iso", window: within(600) },
  }),
  secretFrom: "customer",
  secretLabel: "Primary key",
  typeExample: "FILE.UPLOADED",
  eventType: field("trigger"),
  deliveryId: firstOf(field("id"), header("Box-Delivery-Id")),
  verifiedWith: officialSdk("box-node-sdk", "3.7.0"),
  docs: checkedDocs(
    "Box Developer Console: the app, Webhooks, Create webhook, URL Address.",
    "Box Developer Console: the app, Webhooks, Manage signature keys, Generate Key.",
    "https://developer.box.com/guides/webhooks/v2/signatures-v2/",
    "Enter the primary key; during a rotation the secondary as the previous one.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Primary key": "Primärschlüssel",
  "Box Developer Console: the app, Webhooks, Manage signature keys, Generate Key.":
    "Box Developer Console: die App, Webhooks, Manage signature keys, Generate Key.",
};
