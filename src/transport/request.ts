/** One HTTP/1.1 request (RFC 9112) as bytes: head and body together, so that one write sends both. */
import { HTTP_TOKEN } from "../core/http-token.ts";
import type { Headers } from "./head.ts";
import type { UrlParts } from "./url-parts.ts";

/** What is needed of a request to write it. */
export interface RequestParts {
  readonly method: string;
  readonly url: UrlParts;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Latin-1 without control characters: CR, LF and NUL would end the line (RFC 9110 section 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Of one connection alone, and nothing of what is said on it. Source: RFC 9110, 7.6.1. */
export const CONNECTION_HEADERS = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
] as const;

/** What the transport itself decides: where the request goes and ends, and how the connection lives. */
export const TRANSPORT_HEADERS: ReadonlySet<string> = new Set([
  ...CONNECTION_HEADERS,
  "content-length",
  "expect",
  "host",
]);

/** Lines of such characters only. */
const HEAD = /^(?:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;

/**
 * The head, its empty line included. Throws a TypeError where the method, a name or a value could break out
 * of its line, or a header belongs to the transport: headers are checked where they are written, this is the
 * last line of defence.
 */
export function renderHead({ method, url, headers, body }: RequestParts): string {
  if (!fineNames.has(method) && !HTTP_TOKEN.test(method)) throw new TypeError("the method is not a token");
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  for (const [name, value] of headers) {
    if (!fineNames.has(name)) requireFineName(name);
    head = `${head}${name}: ${value}\r\n`;
  }
  const hasLength = body.length > 0 || (method !== "GET" && method !== "HEAD");
  head += hasLength ? `content-length: ${body.length}\r\n\r\n` : "\r\n";
  // One look at the whole: a look at each value is most of what a head costs.
  const lines = headers.length + (hasLength ? 4 : 3);
  if (!HEAD.test(head) || countLines(head) !== lines) refuseValue(headers);
  return head;
}

function countLines(head: string): number {
  let lines = 0;
  for (let at = head.indexOf("\n"); at >= 0; at = head.indexOf("\n", at + 1)) lines++;
  return lines;
}

const SHARED_BYTES = 64 * 1024;
const shared = Buffer.allocUnsafeSlow(SHARED_BYTES);

/**
 * Head and body as bytes. They stand only until the next call: most requests share one piece of memory, which
 * the processor has at hand; fresh memory for each costs three times as much.
 */
export function joinRequest(head: string, body: Uint8Array): Buffer {
  const size = head.length + body.length;
  const bytes = size <= SHARED_BYTES ? shared : Buffer.allocUnsafeSlow(size);
  bytes.write(head, 0, "latin1");
  bytes.set(body, head.length);
  return bytes.subarray(0, size);
}

/** The message names the header, never the value, which may be a secret. */
function refuseValue(headers: Headers): never {
  const name = headers.find(([, value]) => !VALUE.test(value))?.[0];
  if (name === undefined) throw new TypeError("the URL has a forbidden character");
  throw new TypeError(`the value of the header ${name} has a forbidden character`);
}

/**
 * Names that were found to be fine, and the method that nearly every request has: the same few come
 * each time.
 */
const fineNames = new Set<string>(["POST"]);
const FINE_NAMES_MAX = 1000;

function requireFineName(name: string): void {
  if (!HTTP_TOKEN.test(name)) throw new TypeError("a header name is not a token");
  if (TRANSPORT_HEADERS.has(name.toLowerCase()))
    throw new TypeError(`the header ${name} belongs to the transport`);
  if (fineNames.size < FINE_NAMES_MAX) fineNames.add(name);
}
