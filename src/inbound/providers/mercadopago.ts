import { docs, officialSdk } from "../define.ts";
import { hmac } from "../digest.ts";
import { field, joined, provenHash } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { pairs } from "../schemes/layouts.ts";
import { type Arrival, type Coverage, faultOfTime, headerOf } from "../schemes/scheme.ts";
import { within } from "../window.ts";

/** Mercado Pago signs the id in the query, the request's id and the time; the body is not signed. */

const SIGNATURE = "x-signature";
const REQUEST_ID = "x-request-id";
const readSignature = pairs(",", "ts", "v1");
const WINDOW = within(300);

/** Seconds and milliseconds have both been seen. */
const MILLISECONDS_LENGTH = 13;

/** Parts that are absent are left out. */
function manifestOf({ request }: Arrival, timestamp: string): string {
  const id = request.query.get("data.id")?.toLowerCase();
  const requestId = headerOf(request, REQUEST_ID);
  return `${id ? `id:${id};` : ""}${requestId ? `request-id:${requestId};` : ""}ts:${timestamp};`;
}

function compare(arrival: Arrival): Comparison | RefusalReason {
  const { request } = arrival;
  if (!request.headers.has(SIGNATURE)) return "missing_header";
  const { signatures, timestamp } = readSignature(headerOf(request, SIGNATURE));
  const time = timestamp ?? "";
  const fault = faultOfTime(time, time.length >= MILLISECONDS_LENGTH ? "ms" : "s", WINDOW, arrival);
  if (fault !== null) return fault;
  const manifest = manifestOf(arrival, time);
  const expected = (secret: string) => [hmac("sha256", secret, [manifest], "hex")];
  return { given: signatures, expected, proven: manifest };
}

const CHECKS = "HMAC with SHA-256 in hex over the query's data.id, the request's id and the timestamp";

const COVERS: Coverage = {
  body: "nothing",
  but: "The body is not signed: fetch the resource by its id before you trust it.",
};

export const MERCADOPAGO: ProviderRow = {
  key: "mercadopago",
  name: "Mercado Pago",
  scheme: comparedScheme({
    headers: [SIGNATURE, REQUEST_ID],
    checks: CHECKS,
    covers: COVERS,
    window: WINDOW,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "Secret signature",
  typeExample: "payment.payment.updated",
  eventType: joined(field("type"), field("action")),
  deliveryId: field("id"),
  // A signed text makes one event: all that stands in the body may be exchanged.
  proofTakenOnce: provenHash,
  verifiedWith: officialSdk("mercadopago", "3.6.1"),
  docs: docs(
    "Mercado Pago Developers: Your integrations, the application, Webhooks, Configure notifications, URL.",
    "The same page, Secret signature.",
    "https://www.mercadopago.com/developers/en/docs/your-integrations/notifications/webhooks",
    "QR notifications are not signed and are refused.",
    "A signature is taken once: with another body it is refused.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Secret signature": "Geheime Signatur",
  "The same page, Secret signature.": "Auf derselben Seite: Secret signature.",
};
