import { isCredentialHeader, MASK } from "./credential-headers.ts";
import type { OutgoingRequest } from "./destination.ts";
import { TRACEPARENT_HEADER } from "../core/trace-context.ts";

/**
 * The head of a request as attempts keep it: "METHOD URL", then a header a line. What differs on each attempt
 * of the same endpoint stands in the attempt's own row, so that the head itself is stored once; here only its
 * name stands, and behind a space the name that the row has it by, where that is another.
 */

const VARYING = new Set([
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  TRACEPARENT_HEADER,
  "x-amz-date",
  "x-ms-date",
]);

type Headed = Pick<OutgoingRequest, "method" | "url" | "headers">;
type Headers = OutgoingRequest["headers"];

/**
 * True where both requests, of an endpoint with the same `custom` headers, have the same head: everything but
 * what stands on an attempt's own row is compared.
 */
export function hasSameHead(one: Headed, other: Headed, custom: Headers): boolean {
  if (one.url !== other.url || one.method !== other.method) return false;
  if (one.headers.length !== other.headers.length) return false;
  for (let at = 0; at < one.headers.length; at++) {
    const [name, value] = one.headers[at] ?? [];
    const [otherName, otherValue] = other.headers[at] ?? [];
    if (name !== otherName) return false;
    if (value === otherValue) continue;
    const rowName = rowNameOf(one, custom, name, value);
    if (rowName === null || rowName !== rowNameOf(other, custom, name, otherValue)) return false;
  }
  return true;
}

/**
 * By which name the attempt's own row has the value; null where it has not. A header of a second prefix
 * repeats one of the three.
 */
function rowNameOf({ headers }: Headed, custom: Headers, name = "", value = ""): string | null {
  if (VARYING.has(name)) {
    // One in quotes is not the value as the row has it, and the row has none of the endpoint's.
    const isOther = value.startsWith('"') || custom.some((own) => own[0] === name && own[1] === value);
    return isOther ? null : name;
  }
  const own = `webhook-${name.slice(name.lastIndexOf("-") + 1)}`;
  return VARYING.has(own) && headers.some((header) => header[0] === own && header[1] === value) ? own : null;
}

export function requestHeadOf(request: OutgoingRequest, custom: Headers): string {
  const { method, url, headers, secretQuery } = request;
  let text = `${method} ${secretQuery ? `${url.origin}${url.pathname}?${MASK}` : url.href}`;
  for (const [name, value] of headers) {
    const rowName = rowNameOf(request, custom, name, value);
    if (rowName !== null) text += rowName === name ? `\n${name}` : `\n${name} ${rowName}`;
    else text += `\n${name}: ${isCredentialHeader(name) ? MASK : value}`;
  }
  return text;
}

/** What stands on the attempt's own row, by the name of the header that it was sent as. */
export function varyingHeaders(
  id: string,
  sentAtSeconds: number,
  signature: string,
  traceparent: string,
): Readonly<Record<string, string>> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(sentAtSeconds),
    "webhook-signature": signature,
    [TRACEPARENT_HEADER]: traceparent,
    "x-ms-date": new Date(sentAtSeconds * 1000).toUTCString(),
    "x-amz-date": new Date(sentAtSeconds * 1000).toISOString().replaceAll(/[:-]|\.\d+/g, ""),
  };
}

/** A kept head as it was sent, credentials masked. */
export function readRequestHead(
  head: string,
  varying: Readonly<Record<string, string>>,
): { method: string; url: string; headers: Record<string, string> } {
  const [line = "", ...lines] = head.split("\n");
  const space = line.indexOf(" ");
  const headers = lines.map((text): [string, string] => {
    const colon = text.indexOf(": ");
    if (colon < 0) {
      const [own = "", rowName = own] = text.split(" ");
      return [own, varying[rowName] ?? ""];
    }
    const name = text.slice(0, colon);
    // Asked once more: it may have been kept before the name was known as a credential's.
    return [name, isCredentialHeader(name) ? MASK : text.slice(colon + 2)];
  });
  return { method: line.slice(0, space), url: line.slice(space + 1), headers: Object.fromEntries(headers) };
}
