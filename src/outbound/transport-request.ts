/** The bytes of one HTTP/1.1 request (RFC 9112): head and body together, so that one write sends both. */
import type { Headers } from "./transport-head.ts";
import type { UrlParts } from "./url-parts.ts";

/** What is needed of a request to write it. */
export interface RequestParts {
  readonly method: string;
  readonly url: UrlParts;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Latin-1 without control characters: CR, LF and NUL would end the line (RFC 9110 section 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What the transport itself decides: where the request goes and ends, and how the connection lives. */
export const TRANSPORT_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Throws a TypeError, as headers are checked where they are written: this is the last line of defence. */
export function encodeRequest(request: RequestParts): Buffer {
  const head = renderHead(request);
  const bytes = Buffer.allocUnsafe(head.length + request.body.length);
  bytes.write(head, 0, "latin1");
  bytes.set(request.body, head.length);
  return bytes;
}

function renderHead({ method, url, headers, body }: RequestParts): string {
  if (!fineNames.has(method) && !TOKEN.test(method)) throw new TypeError("the method is not a token");
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  let values = "";
  for (const [name, value] of headers) {
    if (!fineNames.has(name)) requireFineName(name);
    values += value;
    head += `${name}: ${value}\r\n`;
  }
  // One look at all of them: a look at each is most of what a head costs.
  if (!VALUE.test(values)) refuseValue(headers);
  const hasLength = body.length > 0 || (method !== "GET" && method !== "HEAD");
  return hasLength ? `${head}content-length: ${body.length}\r\n\r\n` : `${head}\r\n`;
}

/** The message names the header, never the value, which may be a secret. */
function refuseValue(headers: Headers): never {
  const name = headers.find(([, value]) => !VALUE.test(value))?.[0];
  throw new TypeError(`the value of the header ${name} has a forbidden character`);
}

/** Names that were found to be fine, and the method that nearly every request has: the same few come each time. */
const fineNames = new Set<string>(["POST"]);
const FINE_NAMES_MAX = 1000;

function requireFineName(name: string): void {
  if (!TOKEN.test(name)) throw new TypeError("a header name is not a token");
  if (TRANSPORT_HEADERS.has(name.toLowerCase()))
    throw new TypeError(`the header ${name} belongs to the transport`);
  if (fineNames.size < FINE_NAMES_MAX) fineNames.add(name);
}
