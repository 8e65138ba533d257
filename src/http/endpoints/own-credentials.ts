import { isDeepStrictEqual } from "node:util";
import type { Caller } from "../../core/caller.ts";
import { type Fault, invalidAll } from "../../core/errors.ts";
import { childPointer } from "../../core/json/value.ts";
import type { Endpoint } from "../../core/model.ts";
import { addressesOf } from "../../destinations/destination.ts";
import { findKind } from "../../destinations/destinations.ts";
import { isCredentialHeader, MASK } from "../../destinations/credential-headers.ts";
import type { Destination } from "./destination.ts";
import type { EndpointChangeBody } from "./shape.ts";

/**
 * The holder of a portal link may change where an endpoint leads, and cannot read what it is called with. So
 * no stored credential is used for a destination that the holder chose: not at another host or path, not for
 * another queue, bucket, exchange or role, and not beside another header, which may ask the receiver for
 * another method, host or path, or for a part of an answer that repeats the credential. The keys of a project
 * may do so: they stored the credentials.
 */

const ELSEWHERE = {
  value:
    "The address leads to another host, which must not get what is stored for the one before: give this value again.",
  headers:
    "The address leads to another host, which must not get the headers that are stored for the one before: give them again, or {}.",
};
const OTHERWISE = {
  value:
    "The destination or a header changes, and what is stored is for the request before: give this value again.",
  headers:
    "The destination changes, and the headers that are stored are for the one before: give them again, or {}.",
};

/** Throws 422 with every credential that would be used for another request than the one before. */
export function requireOwnCredentials(
  caller: Caller,
  body: EndpointChangeBody,
  before: Endpoint,
  after: Destination & Pick<Endpoint, "headers">,
): void {
  if (caller.kind !== "portal") return;
  const isElsewhere = leadsElsewhere(before, after);
  if (!isElsewhere && !isOtherwise(before, after) && !hasOtherHeaders(before, after)) return;
  const why = isElsewhere ? ELSEWHERE : OTHERWISE;
  const bound = isElsewhere ? before.headers : before.headers.filter(([name]) => isCredentialHeader(name));
  const faults = [
    ...keptCredentials(body, after, why.value),
    ...(body.headers === undefined && bound.length > 0 ? [{ pointer: "/headers", detail: why.headers }] : []),
    ...keptHeaders(body, why.value),
  ];
  if (faults.length > 0) throw invalidAll(faults);
}

/** The fields say together what is done with the credentials. One host may serve many, each by a path. */
function isOtherwise(before: Destination, after: Destination): boolean {
  return before.kind !== after.kind || !isDeepStrictEqual(before.config, after.config);
}

/** Whatever they are called: which of them a receiver obeys is known to nobody else. */
function hasOtherHeaders(before: Pick<Endpoint, "headers">, after: Pick<Endpoint, "headers">): boolean {
  const named = ({ headers }: typeof before) =>
    new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
  return !isDeepStrictEqual(named(before), named(after));
}

function leadsElsewhere(before: Destination, after: Destination): boolean {
  const [old, made] = [originsOf(before), originsOf(after)];
  return [...new Set([...old.keys(), ...made.keys()])].some((field) => old.get(field) !== made.get(field));
}

/**
 * Each address of a destination, those inside credentials and those that are not called now too: field
 * → origin.
 */
function originsOf({ kind: name, config, credentials }: Destination): Map<string, string> {
  const kind = findKind(name);
  const addresses = kind ? addressesOf(kind, { ...config, ...credentials }) : [];
  return new Map(
    addresses.flatMap(({ field, url }) => (URL.canParse(url) ? [[field, new URL(url).origin]] : [])),
  );
}

/** Stored ones that stay. What `config` leaves out is gone after the change, and goes nowhere. */
function keptCredentials(
  { config }: EndpointChangeBody,
  { credentials }: Destination,
  detail: string,
): Fault[] {
  const given: Readonly<Record<string, unknown>> | undefined = config;
  return Object.keys(credentials)
    .filter((name) => given === undefined || given[name] === MASK)
    .map((name) => ({ pointer: childPointer("/config", name), detail }));
}

function keptHeaders({ headers }: EndpointChangeBody, detail: string): Fault[] {
  const given: Readonly<Record<string, string>> = headers ?? {};
  return Object.keys(given)
    .filter((name) => given[name] === MASK && isCredentialHeader(name))
    .map((name) => ({ pointer: childPointer("/headers", name), detail }));
}
