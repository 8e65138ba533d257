import { compileFilter } from "../core/filter/filter.ts";
import type { Endpoint } from "../core/model.ts";
import { readPrivateKey, readSecret, type SigningKey } from "../core/signing.ts";
import { once } from "../core/structures/once.ts";
import {
  type DestinationConfig,
  isProtocolHeader,
  type OutgoingRequest,
} from "../destinations/destination.ts";
import { findKind } from "../destinations/destinations.ts";
import { hasSameHead, requestHeadOf } from "../destinations/request-head.ts";
import { headerSecrets } from "./redaction/redact.ts";

/** What attempts need of an endpoint, read once for each of its versions. */
export interface Compiled {
  publicId: string | null;
  /** Its consumer, or its project: no connection serves the endpoints of two. */
  owner: string;
  /** The last request, and its head: most requests to an endpoint have the same one. */
  head: { of: Pick<OutgoingRequest, "method" | "url" | "headers">; text: string } | null;
  /** With its credentials. */
  config: DestinationConfig;
  /**
   * The endpoint's own headers, without those that its kind's protocol gives a meaning to: an endpoint may
   * have been stored before its kind refused such a header.
   */
  headers: Endpoint["headers"];
  current: readonly SigningKey[];
  /** During an overlap, newest first. */
  both: readonly SigningKey[];
}

export const compiledOf = once((endpoint: Endpoint): Compiled => {
  const { filter, previous } = endpoint;
  const current = [readKey(endpoint.secret, endpoint.privateKey)];
  // core/routes.ts leaves out such a filter, so events come here that the filter was to keep away.
  if (filter !== null && !compileFilter(filter).ok)
    throw new Error("an endpoint has a filter that is refused");
  const kind = findKind(endpoint.kind);
  return {
    publicId: null,
    owner: `${endpoint.projectId} ${endpoint.consumerId ?? ""}`,
    head: null,
    headers: endpoint.headers.filter(
      ([name]) => kind === undefined || !isProtocolHeader(kind, endpoint.config, name),
    ),
    config: { ...endpoint.config, ...endpoint.credentials },
    current,
    both: previous ? [...current, readKey(previous.secret, previous.privateKey)] : current,
  };
});

/** Its credentials, and what its own headers carry: asked for where a server said anything. */
export const credentialsOf = once((endpoint: Endpoint): readonly string[] => [
  ...new Set([...Object.values(endpoint.credentials), ...headerSecrets(endpoint.headers)]),
]);

/** The keys that are valid now, newest first. */
export function keysOf(endpoint: Endpoint, now: number): readonly SigningKey[] {
  const { current, both } = compiledOf(endpoint);
  return endpoint.previous !== null && endpoint.previous.expiresAt > now ? both : current;
}

function readKey(secret: string, privateKey: string | null): SigningKey {
  const hmac = readSecret(secret);
  if (!hmac) throw new Error("an endpoint has a secret that is none");
  return { hmac, ed25519: privateKey === null ? null : readPrivateKey(privateKey) };
}

export function headOf(endpoint: Endpoint, request: OutgoingRequest): string {
  const compiled = compiledOf(endpoint);
  if (compiled.head === null || !hasSameHead(compiled.head.of, request, compiled.headers)) {
    const { method, url, headers } = request;
    compiled.head = { of: { method, url, headers }, text: requestHeadOf(request, compiled.headers) };
  }
  return compiled.head.text;
}
