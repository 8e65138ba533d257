import { readJson } from "../body.ts";
import { emptyHandshake, jsonHandshake } from "../answers.ts";
import { credential, headerFault } from "../config.ts";
import { checkedDocs, documentation } from "../define.ts";
import { all, field, firstOf, nothing, readPath } from "../facts.ts";
import type { Reception } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Arrival, refused, type Scheme } from "../schemes/scheme.ts";
import { tokenScheme } from "../schemes/token.ts";

/** Azure Event Grid proves itself by a delivery header that the customer defines. */

const anyHeader = tokenScheme([{ name: "aeg-no-header" }]);

const scheme: Scheme = {
  ...anyHeader,
  headers: ["credentials.header_name"],
  verify(arrival) {
    const name = arrival.material.credentials["header_name"]?.toLowerCase();
    return name === undefined ? refused("awaiting_secret") : tokenScheme([{ name }]).verify(arrival);
  },
};

/** Event Grid's own schema: the code is echoed. It proves the address only, so it needs no secret. */
function answerValidation({ request }: Arrival): Reception | null {
  if (request.headers.get("aeg-event-type") !== "SubscriptionValidation") return null;
  const body = readJson(request.body.subarray(0, 65_536));
  const code = body && readPath(body, "0.data.validationCode");
  return code === null ? null : jsonHandshake({ validationResponse: code });
}

/** CloudEvents schema: the sender is allowed (HTTP 1.1 Web Hooks for Event Delivery 1.0.2, section 4.2). */
function answerOptions({ request }: Arrival): Reception | null {
  const origin = request.headers.get("webhook-request-origin");
  if (request.method !== "OPTIONS" || origin === undefined) return null;
  const allowed = { "webhook-allowed-origin": origin, "webhook-allowed-rate": "*" };
  return emptyHandshake(200, { allow: "POST", ...allowed });
}

export const AZURE_EVENT_GRID: ProviderRow = {
  key: "azure_event_grid",
  name: "Azure Event Grid",
  scheme,
  secretFrom: "source",
  secretLabel: "Delivery header value",
  credentials: [
    credential(
      "header_name",
      "Delivery header",
      "The name of the header that you define in delivery properties.",
      { example: "x-sealpost-secret", fault: headerFault },
    ),
  ],
  unsignedHandshakes: [
    { text: "SubscriptionValidation: validationCode is echoed", answer: answerValidation },
    { text: "OPTIONS WebHook-Request-Origin: allowed", answer: answerOptions },
  ],
  typeExample: "Microsoft.Storage.BlobCreated",
  eventType: firstOf(field("0.eventType"), field("0.type"), field("eventType"), field("type")),
  deliveryId: firstOf(
    // An id is unique within its source (CloudEvents 1.0 section 3.1.1) or topic.
    all(firstOf(field("*.source"), field("*.topic")), field("*.id")),
    field("*.id"),
    all(field("source"), field("id")),
    field("id"),
    nothing,
  ),
  verifiedWith: documentation("https://learn.microsoft.com/en-us/azure/event-grid/delivery-properties"),
  docs: checkedDocs(
    "Azure portal: the topic, + Event Subscription, Endpoint type Web Hook, Select an endpoint.",
    "The same form, tab Delivery Properties: a static header, Is secret? checked, whose value is the source's secret.",
    "https://learn.microsoft.com/en-us/azure/event-grid/delivery-properties",
    "Never put the secret into the address: a token in the query string is refused.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Delivery header value": "Wert des Zustell-Headers",
  "Delivery header": "Zustell-Header",
  "The same form, tab Delivery Properties: a static header, Is secret? checked, whose value is the source's secret.":
    "Im selben Formular, Reiter Delivery Properties: ein statischer Header mit Häkchen bei Is secret?, dessen Wert das Geheimnis der Quelle ist.",
  "The name of the header that you define in delivery properties.":
    "Der Name des Headers, den Sie in Delivery Properties festlegen.",
};
