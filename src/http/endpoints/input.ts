import { type Fault, invalidAll } from "../../core/errors.ts";
import { isEventTypePattern } from "../../core/event-type.ts";
import { compileFilter } from "../../core/filter/filter.ts";
import { readBounded } from "../../core/json/bounded.ts";
import { isObject } from "../../core/json/value.ts";
import { limit } from "../../core/limits.ts";
import { type Endpoint, SIGNATURE_VERSIONS, type SignatureVersion } from "../../core/model.ts";
import { makePrivateKey, makeSecret, readPrivateKey, readSecret } from "../../core/signing.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { compileTransformations } from "../../core/transform/transform.ts";
import { isPolled } from "../../destinations/destinations.ts";
import type { NewEndpoint } from "../../store/resources/endpoints.ts";
import { readDestination } from "./destination.ts";
import { readHeaders, refuseProtocolHeaders } from "./headers.ts";
import type { EndpointChangeBody, NewEndpointBody } from "./shape.ts";
import { mergePatch } from "../shared/merge-patch.ts";

/** What a body changes: fields of the endpoint, by their names in the model. */
export type EndpointChange = Partial<NewEndpoint>;

const DEFAULTS = {
  eventTypes: null,
  headers: [],
  signatureVersions: ["v1"],
  timeoutSeconds: limit("attemptTimeoutSecondsDefault"),
  maxConcurrency: limit("concurrencyDefault"),
  ordering: "none",
  metadata: {},
} as const;

/** An endpoint before its body is read: every field has its default, and there is no destination yet. */
function blankEndpoint(projectId: number, now: number): NewEndpoint {
  return {
    ...DEFAULTS,
    projectId,
    consumerId: null,
    kind: "http",
    config: {},
    credentials: {},
    description: null,
    filter: null,
    transformations: null,
    secret: makeSecret(),
    privateKey: null,
    previous: null,
    retry: null,
    rateLimitPerSecond: null,
    status: "active",
    disabledReason: null,
    openedAt: 0,
    updatedAt: now,
  };
}

/**
 * The endpoint that a body asks for, with what `readRouting` made of it. Throws 422 with every fault; the
 * addresses are still to be guarded.
 */
export function readNewEndpoint(
  body: NewEndpointBody,
  routing: Routing,
  projectId: number,
  now: number,
): NewEndpoint {
  const blank = blankEndpoint(projectId, now);
  const faults: Fault[] = [];
  // A patch would drop members that are null; here they are what was sent.
  const { metadata, ...patch } = body;
  const change = changeOf(patch, routing, blank, faults);
  if (metadata) isMetadata(metadata, faults);
  const secrets = readGivenSecrets(body, faults);
  if (faults.length > 0) throw invalidAll(faults);
  return { ...blank, ...change, metadata: metadata ?? blank.metadata, ...secrets };
}

/** What a merge patch changes of an endpoint as it stands. Throws 422 with every fault, as above. */
export function readEndpointChange(
  body: EndpointChangeBody,
  routing: Routing,
  before: Endpoint,
): EndpointChange {
  const faults: Fault[] = [];
  // The queues of the two are not alike, and what waits in one must not be lost.
  if (body.kind !== undefined && isPolled(body.kind) !== isPolled(before.kind)) {
    const detail = "An endpoint that is polled stays so, and one that is pushed to too: create another.";
    faults.push({ pointer: "/kind", detail });
  }
  const change = changeOf(body, routing, before, faults);
  if (faults.length > 0) throw invalidAll(faults);
  return change;
}

function changeOf(
  body: EndpointChangeBody,
  routing: Routing,
  before: NewEndpoint,
  faults: Fault[],
): EndpointChange {
  const { kind, config, credentials } = before;
  const destination = readDestination(body, { kind, config, credentials }, faults);
  const headers =
    body.headers === undefined ? before.headers : readHeaders(body.headers ?? {}, before.headers, faults);
  // It is the same object where the body says nothing of the destination.
  if (body.headers !== undefined || destination.config !== config)
    refuseProtocolHeaders(headers, destination, faults);
  faults.push(...routing.faults);
  return {
    ...destination,
    ...readPlainFields(body),
    ...routing.change,
    ...readVersions(body, before, faults),
    headers,
    ...(body.metadata !== undefined && { metadata: readMetadata(body.metadata, before, faults) }),
  };
}

/** Fields that the schema alone decides on; null stands for the default. */
function readPlainFields(body: EndpointChangeBody): EndpointChange {
  const change: EndpointChange = {};
  if (body.description !== undefined) change.description = body.description;
  if (body.consumer_id !== undefined) change.consumerId = body.consumer_id;
  if (body.retry !== undefined) change.retry = body.retry;
  if (body.rate_limit_per_second !== undefined) change.rateLimitPerSecond = body.rate_limit_per_second;
  if (body.timeout_seconds !== undefined) {
    change.timeoutSeconds = body.timeout_seconds ?? DEFAULTS.timeoutSeconds;
  }
  if (body.max_concurrency !== undefined) {
    change.maxConcurrency = body.max_concurrency ?? DEFAULTS.maxConcurrency;
  }
  if (body.ordering !== undefined) change.ordering = body.ordering ?? DEFAULTS.ordering;
  return change;
}

/** Which events an endpoint gets, and in what shape, as a body says; and what is wrong with that. */
export interface Routing {
  readonly change: EndpointChange;
  readonly faults: readonly Fault[];
}

/**
 * Filter and transformations are compiled as a trial, by the body alone: once, before the write, in a turn of
 * their own.
 */
export async function readRouting(
  { event_types: eventTypes, filter, transformations }: EndpointChangeBody,
  turns: Turns,
): Promise<Routing> {
  const change: EndpointChange = {};
  const faults: Fault[] = [];
  if (eventTypes !== undefined) change.eventTypes = readEventTypes(eventTypes, faults);
  // 64 KB of deep paths take as long as to parse 1 MiB.
  if (filter || transformations) await turns.ownTurn();
  if (filter) addFaults("/filter", compileFilter(filter), faults);
  if (transformations) addFaults("/transformations", compileTransformations(transformations), faults);
  if (filter !== undefined) change.filter = filter;
  if (transformations !== undefined) change.transformations = transformations;
  return { change, faults };
}

function addFaults(
  prefix: string,
  compiled: { ok: true } | { ok: false; faults: Fault[] },
  faults: Fault[],
): void {
  if (compiled.ok) return;
  for (const { pointer, detail } of compiled.faults) faults.push({ pointer: prefix + pointer, detail });
}

function readEventTypes(patterns: readonly string[] | null, faults: Fault[]): readonly string[] | null {
  if (patterns === null) return DEFAULTS.eventTypes;
  for (const [at, pattern] of patterns.entries()) {
    if (isEventTypePattern(pattern)) continue;
    const detail = "Expected a name such as invoice.paid, a pattern such as invoice.*, or *.";
    faults.push({ pointer: `/event_types/${at}`, detail });
  }
  return [...new Set(patterns)];
}

/** `v1` always signs; the key for `v1a` is made where it begins to, and forgotten where it ends. */
function readVersions(body: NewEndpointBody, before: NewEndpoint, faults: Fault[]): EndpointChange {
  if (body.signature_versions === undefined) return {};
  const given: readonly SignatureVersion[] = body.signature_versions ?? DEFAULTS.signatureVersions;
  const versions = SIGNATURE_VERSIONS.filter((version) => given.includes(version));
  if (!versions.includes("v1")) {
    faults.push({ pointer: "/signature_versions", detail: 'Expected ["v1"] or ["v1", "v1a"].' });
  }
  if (versions.includes("v1a")) {
    return { signatureVersions: versions, privateKey: before.privateKey ?? makePrivateKey() };
  }
  const previous = before.previous && { ...before.previous, privateKey: null };
  return { signatureVersions: versions, privateKey: null, previous };
}

/** The keys that someone brings along from another sender. What is refused is never repeated. */
function readGivenSecrets(body: NewEndpointBody, faults: Fault[]): EndpointChange {
  const { secret, private_key: privateKey, signature_versions: versions } = body;
  if (secret !== undefined && readSecret(secret) === null) {
    faults.push({ pointer: "/secret", detail: "Expected whsec_ and 24 to 64 bytes in base64." });
  }
  if (privateKey !== undefined && !versions?.includes("v1a")) {
    faults.push({
      pointer: "/private_key",
      detail: "Only an endpoint with the signature version v1a has one.",
    });
  } else if (privateKey !== undefined && readPrivateKey(privateKey) === null) {
    const detail = "Expected whsk_ and a 32-byte seed, or seed and its public key, in base64.";
    faults.push({ pointer: "/private_key", detail });
  }
  return { ...(secret !== undefined && { secret }), ...(privateKey !== undefined && { privateKey }) };
}

/** What takes all metadata out (`null` for each) and puts as much in again is not three times as long. */
const PATCH_PER_METADATA = 3;

function readMetadata(patch: object | null, before: NewEndpoint, faults: Fault[]): NewEndpoint["metadata"] {
  if (patch === null) return DEFAULTS.metadata;
  if (!isMetadata(patch, faults, PATCH_PER_METADATA)) return DEFAULTS.metadata;
  const merged = mergePatch(before.metadata, patch);
  const isTaken = isObject(merged) && isMetadata(merged, faults);
  return isTaken ? merged : DEFAULTS.metadata;
}

/** False, with a fault, for what is longer than `times` what metadata may be. */
function isMetadata(metadata: object, faults: Fault[], times = 1): boolean {
  const max = limit("metadataBytesMax");
  const bytesMax = times * max;
  const bounds = { bytesMax, depthMax: limit("jsonDepthMax"), nodesMax: bytesMax };
  const { ok } = readBounded(metadata, "Metadata", bounds);
  if (!ok) faults.push({ pointer: "/metadata", detail: `Expected at most ${max} bytes of JSON.` });
  return ok;
}
