import { type Fetched, KeyCache } from "../../inbound/keys.ts";
import type { KeyDocument } from "../../inbound/provider.ts";
import { isSuccess } from "../../destinations/destination.ts";
import { USER_AGENT } from "../../transport/user-agent.ts";
import type { Needs } from "../framework/services.ts";

/** What the inbound side asks of providers over the network, always through the address guard. */

type NetworkParts = Needs<"guard" | "transport">;

/** A provider waits for its answer meanwhile. */
const TIMEOUT_MS = 5000;
/** The largest key sets in use have about 20 KiB. */
const DOCUMENT_BYTES_MAX = 256 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const UNAVAILABLE: Fetched = { kind: "unavailable" };

/**
 * Too early, too slow, too often: statuses below 500 that say nothing of the document (RFC 9110, 6585, 8470).
 */
const PASSING_STATUS = new Set([408, 425, 429]);

/** The key documents of providers. */
export function openKeys(parts: NetworkParts & Needs<"monotonic">): KeyCache {
  return new KeyCache({
    monotonicMs: parts.monotonic,
    fetchDocument: (document) => fetchDocument(parts, document),
  });
}

/** GETs an address that a verified handshake named; false where it could not be had. */
export async function visit(parts: NetworkParts, url: string): Promise<boolean> {
  return (await fetchDocument(parts, { url })).kind === "document";
}

async function fetchDocument(
  { guard, transport }: NetworkParts,
  { url, post, isNamedBySender }: KeyDocument,
): Promise<Fetched> {
  const verdict = guard.checkUrl(url);
  if (!verdict.ok) return UNAVAILABLE;
  const result = await transport.send({
    method: post === undefined ? "GET" : "POST",
    url: verdict.url,
    owner: verdict.url.href,
    headers: [
      ["user-agent", USER_AGENT],
      ["accept", "*/*"],
      ...(post === undefined ? [] : [["content-type", "application/json"] as const]),
    ],
    body: encoder.encode(post ?? ""),
    timeoutMs: TIMEOUT_MS,
    maxReadBytes: DOCUMENT_BYTES_MAX,
    maxKeepBytes: DOCUMENT_BYTES_MAX,
  });
  if (result.kind !== "response") return UNAVAILABLE;
  if (isNamedBySender && isUnknown(result.status)) return { kind: "unknown" };
  if (!isSuccess(result.status) || result.truncated) return UNAVAILABLE;
  const cacheControl = result.headers.find(([name]) => name === "cache-control")?.[1] ?? "";
  return { kind: "document", text: decoder.decode(result.body), maxAgeSeconds: readMaxAge(cacheControl) };
}

function isUnknown(status: number): boolean {
  return status >= 400 && status < 500 && !PASSING_STATUS.has(status);
}

/** RFC 9111 section 5.2.2.1. */
function readMaxAge(cacheControl: string): number | null {
  const seconds = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl)?.[1];
  return seconds === undefined ? null : Number(seconds);
}
