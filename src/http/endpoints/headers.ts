import type { Fault } from "../../core/errors.ts";
import { childPointer } from "../../core/json/value.ts";
import { HOPS_HEADER } from "../../core/hops.ts";
import { HTTP_TOKEN } from "../../core/http-token.ts";
import { limit } from "../../core/limits.ts";
import { TRACEPARENT_HEADER } from "../../core/trace-context.ts";
import type { Endpoint } from "../../core/model.ts";
import { isCredentialHeader, MASK } from "../../destinations/credential-headers.ts";
import { isProtocolHeader } from "../../destinations/destination.ts";
import { findKind } from "../../destinations/destinations.ts";
import { TRANSPORT_HEADERS } from "../../transport/request.ts";

type Headers = Endpoint["headers"];

/** Latin-1 without control characters. */
const VALUE = /^[\x20-\x7e\xa0-\xff]*$/;

/** What Sealpost sets itself, and what concerns the connection (RFC 9110 section 7.6.1). */
const RESERVED = new Set([
  ...TRANSPORT_HEADERS,
  "content-type",
  "user-agent",
  HOPS_HEADER,
  TRACEPARENT_HEADER,
]);

/**
 * The custom headers of a body, each value without the spaces around it, which are no part of it (RFC 9110
 * section 5.5). A credential that reads `***` keeps the value that is stored under its name.
 * Notes what is wrong, each with its pointer, and never repeats a value.
 */
export function readHeaders(
  body: Readonly<Record<string, string>>,
  stored: Headers,
  faults: Fault[],
): Headers {
  const kept = new Map(stored.map(([name, value]) => [name.toLowerCase(), value]));
  const seen = new Set<string>();
  return Object.entries(body).map(([name, given]): [string, string] => {
    const value = withoutSpaces(given);
    const lower = name.toLowerCase();
    const isMasked = given === MASK && isCredentialHeader(name);
    const actual = isMasked ? kept.get(lower) : value;
    const detail = faultOf(name, actual) ?? (seen.has(lower) ? "This header stands here twice." : null);
    if (detail !== null) faults.push({ pointer: pointerOf(name), detail });
    seen.add(lower);
    return [name, actual ?? ""];
  });
}

/** Notes what the protocol of the endpoint's kind, as it is configured, gives a meaning to. */
export function refuseProtocolHeaders(
  headers: Headers,
  { kind: name, config }: Pick<Endpoint, "kind" | "config">,
  faults: Fault[],
): void {
  const kind = findKind(name);
  if (kind === undefined) return;
  const detail = `The kind ${name} gives this header a meaning: an endpoint cannot set it.`;
  for (const [header] of headers)
    if (isProtocolHeader(kind, config, header)) faults.push({ pointer: pointerOf(header), detail });
}

function faultOf(name: string, value: string | undefined): string | null {
  if (!HTTP_TOKEN.test(name)) return "This is not the name of a header.";
  const max = limit("customHeaderNameMax");
  if (name.length > max) return `Expected a name of at most ${max} characters.`;
  const lower = name.toLowerCase();
  if (RESERVED.has(lower) || lower.startsWith("webhook-")) return "This header is set by Sealpost itself.";
  if (value === undefined) return `Nothing is stored yet that ${MASK} could stand for.`;
  return VALUE.test(value) ? null : "Expected Latin-1 text without control characters.";
}

/** Line breaks and other white space stay, and are refused. */
function withoutSpaces(text: string): string {
  let from = 0;
  let to = text.length;
  while (text[from] === " ") from++;
  while (to > from && text[to - 1] === " ") to--;
  return text.slice(from, to);
}

/** What is no name of a header is not repeated: it may be anything. */
function pointerOf(name: string): string {
  return HTTP_TOKEN.test(name) && name.length <= limit("customHeaderNameMax")
    ? childPointer("/headers", name)
    : "/headers";
}
