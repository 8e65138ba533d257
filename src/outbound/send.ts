import type { Finding } from "../core/delivery.ts";
import type { IdCodec } from "../core/ids.ts";
import type { Json } from "../core/json-value.ts";
import { limit } from "../core/limits.ts";
import type { Attempt, Endpoint, Outcome } from "../core/model.ts";
import { readRetryAfter } from "../core/retry.ts";
import { readPrivateKey, readSecret, type SigningKey, signatureHeader } from "../core/signing.ts";
import { compileTransformations, type Transformation } from "../core/transform.ts";
import type { Load, Performed } from "./actor.ts";
import { type DestinationKind, type Judgement, type Message, type OutgoingRequest } from "./destination.ts";
import { findKind } from "./destinations.ts";
import { requestHeadOf } from "./request-head.ts";
import type { Transport, TransportResult } from "./transport-types.ts";

/** One attempt as it went: all of its row that the states of delivery and endpoint do not decide. */
export interface Sent
  extends Performed,
    Pick<
      Attempt,
      | "startedAt"
      | "durationMs"
      | "statusCode"
      | "errorCode"
      | "requestHead"
      | "sentAt"
      | "signature"
      | "requestBody"
      | "responseHeaders"
      | "responseBody"
      | "truncated"
    > {}

export interface SendParts {
  transport: Transport;
  ids: IdCodec;
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Aborts what is in flight when the process must end. */
  signal: AbortSignal;
}

/** Renders, signs and sends a delivery once. Never rejects; null where it was given up because the process ends. */
export async function send(parts: SendParts, endpoint: Endpoint, load: Load): Promise<Sent | null> {
  const startedAt = parts.now();
  const began = parts.monotonic();
  const kind = kindOf(endpoint);
  const sent: Omit<Sent, "finding" | "durationMs"> = { ...unsent, startedAt };
  const shaped = reshape(endpoint, load);
  if (!shaped.ok) return malformed(sent, shaped.reason, parts.monotonic() - began);
  if (shaped.body !== load.body) sent.requestBody = shaped.body;
  const message = sign(parts.ids, endpoint, load, shaped.body, startedAt);
  const request = await render(kind, endpoint, message, startedAt);
  if (typeof request === "string") return malformed(sent, request, parts.monotonic() - began);
  const result = await parts.transport.send({
    ...request,
    timeoutMs: endpoint.timeoutSeconds * 1000,
    maxReadBytes: limit("responseReadMax"),
    maxKeepBytes: limit("responseKeptMax"),
    signal: parts.signal,
  });
  if (result.kind === "aborted") return null;
  const durationMs = Math.max(0, Math.round(parts.monotonic() - began));
  const head = {
    requestHead: requestHeadOf(request),
    sentAt: message.timestampSeconds,
    signature: message.signature,
  };
  return { ...sent, ...head, durationMs, ...judge(kind, result, parts.now()) };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const unsent = {
  statusCode: null,
  errorCode: null,
  requestHead: null,
  sentAt: null,
  signature: null,
  requestBody: null,
  responseHeaders: [],
  responseBody: null,
  truncated: false,
} as const;

function malformed(sent: Omit<Sent, "finding" | "durationMs">, reason: string, ms: number): Sent {
  const finding: Finding = { outcome: "malformed", statusCode: null, retryAfterAt: null };
  return { ...sent, durationMs: Math.round(ms), errorCode: reason, finding };
}

function kindOf(endpoint: Endpoint): DestinationKind {
  const kind = findKind(endpoint.kind);
  if (!kind) throw new Error(`an endpoint has the kind ${endpoint.kind}, which is none`);
  return kind;
}

/** The body after the endpoint's transformations; the plain envelope's own bytes where there are none. */
function reshape(
  endpoint: Endpoint,
  load: Load,
): { ok: true; body: Uint8Array } | { ok: false; reason: string } {
  const { transformation } = compiledOf(endpoint);
  if (!transformation) return { ok: true, body: load.body };
  const result = transformation.apply(JSON.parse(decoder.decode(load.body)) as Json);
  return result.ok ? { ok: true, body: encoder.encode(JSON.stringify(result.body)) } : result;
}

function sign(ids: IdCodec, endpoint: Endpoint, load: Load, body: Uint8Array, now: number): Message {
  const id = ids.encode("msg", load.delivery.id);
  const timestampSeconds = Math.floor(now / 1000);
  const signature = signatureHeader(
    keysOf(endpoint, now),
    endpoint.signatureVersions,
    id,
    timestampSeconds,
    body,
  );
  const endpointId = ids.encode("ep", endpoint.id);
  return { id, timestampSeconds, signature, type: load.type, endpointId, headers: endpoint.headers, body };
}

/** What attempts need of an endpoint, read once for each of its versions. */
interface Compiled {
  current: SigningKey;
  previous: SigningKey | null;
  transformation: Transformation | null;
}

const compiled = new WeakMap<Endpoint, Compiled>();

function compiledOf(endpoint: Endpoint): Compiled {
  const known = compiled.get(endpoint);
  if (known) return known;
  const { previous, transformations } = endpoint;
  const made: Compiled = {
    current: readKey(endpoint.secret, endpoint.privateKey),
    previous: previous && readKey(previous.secret, previous.privateKey),
    transformation: transformations === null ? null : compileStored(transformations),
  };
  compiled.set(endpoint, made);
  return made;
}

function compileStored(transformations: unknown): Transformation {
  const result = compileTransformations(transformations);
  if (!result.ok) throw new Error("an endpoint has transformations that were refused");
  return result.transformation;
}

/** The keys that are valid now, newest first. */
function keysOf(endpoint: Endpoint, now: number): SigningKey[] {
  const { current, previous } = compiledOf(endpoint);
  const overlap = endpoint.previous !== null && endpoint.previous.expiresAt > now;
  return overlap && previous ? [current, previous] : [current];
}

function readKey(secret: string, privateKey: string | null): SigningKey {
  const hmac = readSecret(secret);
  if (!hmac) throw new Error("an endpoint has a secret that is none");
  return { hmac, ed25519: privateKey === null ? null : readPrivateKey(privateKey) };
}

/** The request, or the sentence that says why the message cannot be rendered. */
async function render(
  kind: DestinationKind,
  endpoint: Endpoint,
  message: Message,
  now: number,
): Promise<OutgoingRequest | string> {
  if (kind.maxBytes !== null && message.body.length > kind.maxBytes) {
    return `The body has ${message.body.length} bytes; ${kind.name} takes at most ${kind.maxBytes}.`;
  }
  try {
    return await kind.request({ ...endpoint.config, ...endpoint.credentials }, message, now);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

type Judged = Pick<
  Sent,
  "finding" | "statusCode" | "errorCode" | "responseHeaders" | "responseBody" | "truncated"
>;

function judge(
  kind: DestinationKind,
  result: Exclude<TransportResult, { kind: "aborted" }>,
  now: number,
): Judged {
  if (result.kind !== "response") {
    const finding: Finding = { outcome: result.kind, statusCode: null, retryAfterAt: null };
    return {
      finding,
      statusCode: null,
      errorCode: result.code,
      responseHeaders: [],
      responseBody: null,
      truncated: false,
    };
  }
  const { status, headers, body, truncated } = result;
  const verdict = kind.judge(status, body);
  const outcome: Outcome = verdict.delivered ? "delivered" : "rejected";
  const retryAfter = headers.find(([name]) => name === "retry-after")?.[1];
  const retryAfterAt = verdict.delivered ? null : readRetryAfter(retryAfter, now);
  // The states know throttling by its status: a kind that says so in a 200 or 400 is taken as a 429.
  const statusCode = throttles(verdict) ? 429 : status;
  const finding: Finding = { outcome, statusCode, retryAfterAt };
  const errorCode = verdict.delivered ? null : verdict.errorCode;
  return { finding, statusCode: status, errorCode, responseHeaders: headers, responseBody: body, truncated };
}

function throttles(verdict: Judgement): boolean {
  return !verdict.delivered && verdict.throttled;
}
