import { isCredentialHeader, MASK } from "./credential-headers.ts";
import type { OutgoingRequest } from "./destination.ts";

/**
 * The head of a request as attempts keep it: "METHOD URL", then a header a line. What differs on each attempt
 * of the same endpoint stands in the attempt's own row, so that the head itself is stored once; here only its
 * name stands.
 */

const VARYING = new Set(["webhook-id", "webhook-timestamp", "webhook-signature", "x-amz-date", "x-ms-date"]);

type Headed = Pick<OutgoingRequest, "method" | "url" | "headers">;

/**
 * True where both requests have the same head: everything but what stands on an attempt's own row
 * is compared.
 */
export function hasSameHead(one: Headed, other: Headed): boolean {
  if (one.url !== other.url || one.method !== other.method) return false;
  if (one.headers.length !== other.headers.length) return false;
  for (let at = 0; at < one.headers.length; at++) {
    const [name, value] = one.headers[at] ?? [];
    const [otherName, otherValue] = other.headers[at] ?? [];
    if (name !== otherName) return false;
    if (value !== otherValue && !(isVarying(name, value) && isVarying(otherName, otherValue))) return false;
  }
  return true;
}

/** One in quotes is not the value as the attempt's row has it. */
function isVarying(name = "", value = ""): boolean {
  return VARYING.has(name) && !value.startsWith('"');
}

export function requestHeadOf({ method, url, headers, secretQuery }: OutgoingRequest): string {
  let text = `${method} ${secretQuery ? `${url.origin}${url.pathname}?${MASK}` : url.href}`;
  for (const [name, value] of headers) {
    if (isVarying(name, value)) text += `\n${name}`;
    else text += `\n${name}: ${isCredentialHeader(name) ? MASK : value}`;
  }
  return text;
}

/** What stands on the attempt's own row, by the name of the header that it was sent as. */
export function varyingHeaders(
  id: string,
  sentAtSeconds: number,
  signature: string,
): Readonly<Record<string, string>> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(sentAtSeconds),
    "webhook-signature": signature,
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
    if (colon < 0) return [text, varying[text] ?? ""];
    const name = text.slice(0, colon);
    // Asked once more: it may have been kept before the name was known as a credential's.
    return [name, isCredentialHeader(name) ? MASK : text.slice(colon + 2)];
  });
  return { method: line.slice(0, space), url: line.slice(space + 1), headers: Object.fromEntries(headers) };
}
