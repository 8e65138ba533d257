import { escape } from "node:querystring";
import { checkedDocs, officialSdk } from "../define.ts";
import { hmac } from "../digest.ts";
import { all, bodyDigest, bodyHash, field, firstOf, header, signedHeader } from "../facts.ts";
import { sorted } from "../form.ts";
import type { InboundRequest, RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, faultOfTime, headerOf, WHOLE_BODY } from "../schemes/scheme.ts";
import { within } from "../window.ts";

/** Contentful signs method, path, a list of headers that it names itself, and the body. */

const SIGNATURE = "x-contentful-signature";
const TIMESTAMP = "x-contentful-timestamp";
const SIGNED = "x-contentful-signed-headers";
const WINDOW = within(30);
const HEADERS_MAX = 64;

/** The query is escaped twice, as in Contentful's toolkit. */
function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/, "");
  const [pathname = "", query] = path.split("?");
  return encodeURI(query ? `${pathname}?${escape(query)}` : pathname);
}

/** `name:value` of every named header, sorted by name. */
function headersOf(request: InboundRequest, names: readonly string[]): string {
  return sorted(names)
    .map((name) => `${name}:${headerOf(request, name).trim()}`)
    .join(";");
}

/** A list without the time, or without itself, would leave these unsigned. */
function isListComplete(names: readonly string[]): boolean {
  return names.includes(TIMESTAMP) && names.includes(SIGNED);
}

function compare(arrival: Arrival): Comparison | RefusalReason {
  const { request } = arrival;
  if ([SIGNATURE, TIMESTAMP, SIGNED].some((name) => headerOf(request, name) === "")) return "missing_header";
  const names = headerOf(request, SIGNED).toLowerCase().split(",", HEADERS_MAX);
  const fault = faultOfTime(headerOf(request, TIMESTAMP), "ms", WINDOW, arrival);
  if (fault !== null) return fault;
  if (!isListComplete(names)) return "malformed";
  const head = [request.method, pathOf(request.url), headersOf(request, names), ""].join("\n");
  return {
    signedHeaders: new Map(names.map((name) => [name, headerOf(request, name)])),
    given: [headerOf(request, SIGNATURE)],
    expected: (secret) => [hmac("sha256", secret, [head, request.body], "hex")],
  };
}

const CHECKS = "HMAC with SHA-256 in hex over method, path, the headers that it names, and {body}";

/** Where it is among the headers that are signed, as Contentful has it, nothing else counts. */
const TOPIC = firstOf(signedHeader("X-Contentful-Topic"), header("X-Contentful-Topic"));

export const CONTENTFUL: ProviderRow = {
  key: "contentful",
  name: "Contentful",
  scheme: comparedScheme({
    headers: [SIGNATURE, TIMESTAMP, SIGNED],
    needsPublicUrl: true,
    checks: CHECKS,
    covers: WHOLE_BODY,
    window: WINDOW,
    compare,
  }),
  secretFrom: "customer",
  typeExample: "ContentManagement.Entry.publish",
  eventType: TOPIC,
  deliveryId: firstOf(all(TOPIC, field("sys.id"), field("sys.revision"), bodyDigest), bodyHash),
  verifiedWith: officialSdk("@contentful/node-apps-toolkit", "3.16.1"),
  docs: checkedDocs(
    "A webhook of the space, field url: PUT /spaces/{space}/webhook_definitions/{id} of Contentful's Management API.",
    "PUT /spaces/{space}/webhook_settings/signing_secret of that API: the value that is set there.",
    "https://github.com/contentful/contentful-management.js/blob/master/lib/adapters/REST/endpoints/webhook.ts",
    "A request may be 30 s old only: the clock must be right.",
    "The path is signed; proxies must not change it, nor the headers that are named.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "PUT /spaces/{space}/webhook_settings/signing_secret of that API: the value that is set there.":
    "PUT /spaces/{space}/webhook_settings/signing_secret jener API: der Wert, der dort gesetzt wird.",
};
