import type { AttemptError } from "../core/attempt-error.ts";
import type { Finding } from "../core/delivery.ts";
import { type IdCodec, keyTime } from "../core/ids.ts";
import type { Json } from "../core/json/value.ts";
import { limit } from "../core/limits.ts";
import type { AttemptFacts, Endpoint } from "../core/model.ts";
import { once } from "../core/structures/once.ts";
import { readRetryAfter, slowsEndpoint } from "../core/retry.ts";
import { readPrivateKey, readSecret, type SigningKey, signatureHeader } from "../core/signing.ts";
import { compileFilter } from "../core/filter/filter.ts";
import {
  applyInTurns,
  type Transformation,
  type TransformationParts,
  type Transformed,
  writeTransformed,
} from "../core/transform/transform.ts";
import { isHeavy, type Turns } from "../core/structures/turn-queue.ts";
import type { Load } from "../core/waiting.ts";
import { transformationOf } from "./transformations.ts";
import {
  type Answer,
  type Ask,
  type DestinationConfig,
  type DestinationKind,
  isProtocolHeader,
  isSuccess,
  type Judgement,
  type Message,
  type OutgoingRequest,
  Unprepared,
} from "../destinations/destination.ts";
import { findKind } from "../destinations/destinations.ts";
import { headerSecrets, hideSecretBytes, hideSecretHeaders, hideSecrets } from "./redact.ts";
import { hasSameHead, requestHeadOf } from "../destinations/request-head.ts";
import type { Transport, TransportResult } from "../transport/types.ts";

/** One attempt as it went: what its row shows, and what the states of delivery and endpoint depend on. */
export interface Sent extends AttemptFacts, Finding {
  /** Public ids, as they were made for the message; null where there was none. */
  messageId: string | null;
  endpointId: string | null;
}

export interface SendParts {
  transport: Transport;
  ids: IdCodec;
  /** The turns of work for a project. */
  turnsOf(projectId: number): Turns;
  /** By the wall clock: what signatures are compared with. */
  now(): number;
  /** By the clock that dates rows. */
  dated(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** An endpoint's row made no sense. */
  onBroken(endpoint: Endpoint, error: unknown): void;
  /** Aborts what is in flight when the process must end. */
  signal: AbortSignal;
}

/**
 * Renders, signs and sends a delivery once. Never rejects; null where it was given up because the process
 * ends, or could not begin because the process has no file left: that costs no attempt.
 */
export async function send(parts: SendParts, endpoint: Endpoint, load: Load): Promise<Sent | null> {
  const startedAt = parts.dated();
  const began = parts.monotonic();
  try {
    const kind = kindOf(endpoint);
    // Most are reshaped and rendered at once: an await for nothing costs every attempt.
    const reshaped = reshape(parts, endpoint, load);
    const shaped = reshaped instanceof Promise ? await reshaped : reshaped;
    if (!shaped.ok) return sentMalformed(startedAt, shaped.error);
    const message = sign(parts.ids, endpoint, load, shaped.body, parts.now());
    // What is ours is done: from now on it is the destination that takes time.
    const until = parts.monotonic() + endpoint.timeoutSeconds * 1000;
    const sending: Sending = { parts, endpoint, startedAt, began, until };
    const rendered = render(sending, kind, message);
    const request = rendered instanceof Promise ? await rendered : rendered;
    if ("code" in request) return sentMalformed(startedAt, request);
    if (request instanceof Unprepared) {
      const sent = sentUnprepared(request, sending, message);
      return sent && withoutSecrets(sent, kind, endpoint);
    }
    const result = await transmit(sending, request);
    if (result.kind === "aborted") return null;
    const response = result.kind === "response" ? result : null;
    const judgement = response && kind.judge(response, compiledOf(endpoint).config);
    const sent: Sent = {
      startedAt,
      durationMs: elapsedMs(sending),
      statusCode: response && response.status,
      error: errorOf(result, judgement),
      requestHead: headOf(endpoint, request),
      messageId: message.id,
      endpointId: message.endpointId,
      sentAt: message.timestampSeconds,
      signature: message.signature,
      requestBody: request.body === load.body ? null : request.body,
      responseHeaders: response ? response.headers : [],
      responseBody: response && response.body,
      truncated: response !== null && response.truncated,
      ...findingOf(result, judgement, parts),
    };
    return withoutSecrets(sent, kind, endpoint, request.headers);
  } catch (error) {
    // Whatever is thrown, as by settings of another version, must not end the process: it serves others.
    parts.onBroken(endpoint, error);
    return sentMalformed(parts.dated(), UNREADABLE);
  }
}

/** An attempt whose message is signed. */
interface Sending {
  parts: SendParts;
  endpoint: Endpoint;
  /** As its row is dated, and by the monotonic clock. */
  startedAt: number;
  began: number;
  /** When its time is up, by the monotonic clock. */
  until: number;
}

function elapsedMs({ parts, began }: Sending): number {
  return Math.max(0, Math.round(parts.monotonic() - began));
}

/**
 * What was said, without the credentials that a server may repeat: those that are stored, and what was made
 * of them. `sentHeaders` have the last of that.
 */
function withoutSecrets(
  sent: Sent,
  kind: DestinationKind,
  endpoint: Endpoint,
  sentHeaders: OutgoingRequest["headers"] = [],
): Sent {
  const { credentials, config } = compiledOf(endpoint);
  if (credentials.length === 0) return sent;
  const authorization = sentHeaders.filter(([name]) => name.toLowerCase() === "authorization");
  const made = [...(kind.secrets?.(config) ?? []), ...headerSecrets(authorization)];
  const secrets = [...new Set([...credentials, ...made])];
  return {
    ...sent,
    error: sent.error && hideInError(sent.error, secrets),
    responseHeaders: hideSecretHeaders(sent.responseHeaders, secrets),
    responseBody: sent.responseBody && hideSecretBytes(sent.responseBody, secrets, sent.truncated),
  };
}

function hideInError({ code, detail }: AttemptError, secrets: readonly string[]): AttemptError {
  const isCut = detail !== null && detail.length >= limit("errorDetailLengthMax");
  return { code, detail: detail && hideSecrets(detail, secrets, isCut) };
}

/** Within what is left of the attempt's time. */
function transmit(
  sending: Sending,
  { method, url, headers, body }: OutgoingRequest,
): Promise<TransportResult> {
  const { transport, signal } = sending.parts;
  const timeoutMs = sending.until - sending.parts.monotonic();
  if (timeoutMs <= 0) return Promise.resolve({ kind: "timeout", code: "timeout_connect" });
  return transport.send({
    method,
    url,
    owner: compiledOf(sending.endpoint).owner,
    headers,
    body,
    timeoutMs,
    maxReadBytes: limit("responseReadBytesMax"),
    maxKeepBytes: limit("responseKeptBytesMax"),
    signal,
  });
}

/** Nothing was sent: whoever had to be asked first gave nothing to go on. */
function sentUnprepared(
  { result, error, throttled }: Unprepared,
  sending: Sending,
  message: Message,
): Sent | null {
  if (result.kind === "aborted") return null;
  const response = result.kind === "response" ? result : null;
  const judgement = response && { delivered: false as const, error, throttled };
  return {
    ...unsentFacts(sending.startedAt),
    durationMs: elapsedMs(sending),
    statusCode: response && response.status,
    error: errorOf(result, judgement),
    messageId: message.id,
    endpointId: message.endpointId,
    responseHeaders: response ? response.headers : [],
    // What was granted may stand in a success, whose shape alone was wrong.
    responseBody: response && !isSuccess(response.status) ? response.body : null,
    truncated: response !== null && response.truncated,
    ...findingOf(result, judgement, sending.parts),
  };
}

export const UNREADABLE: AttemptError = { code: "settings_unreadable", detail: null };

/** Nothing was sent: the message could not be made. */
export function sentMalformed(startedAt: number, error: AttemptError): Sent {
  return { ...unsentFacts(startedAt), error, outcome: "malformed", slows: false, retryAfterMs: null };
}

/** What the row of an attempt shows where no request was sent. */
function unsentFacts(startedAt: number): Omit<Sent, "outcome" | "slows" | "retryAfterMs"> {
  return {
    startedAt,
    durationMs: 0,
    statusCode: null,
    error: null,
    requestHead: null,
    messageId: null,
    endpointId: null,
    sentAt: null,
    signature: null,
    requestBody: null,
    responseHeaders: [],
    responseBody: null,
    truncated: false,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function kindOf(endpoint: Endpoint): DestinationKind {
  const kind = findKind(endpoint.kind);
  if (!kind || "isPolled" in kind)
    throw new Error(`an endpoint has the kind ${endpoint.kind}, which is none`);
  return kind;
}

type Shaped = { ok: true; body: Uint8Array } | { ok: false; error: AttemptError };

/** The body after the endpoint's transformations; the plain envelope's own bytes where there are none. */
export function reshape(
  parts: Pick<SendParts, "turnsOf">,
  endpoint: Endpoint,
  { body }: Load,
): Shaped | Promise<Shaped> {
  const transformation = transformationOf(endpoint);
  if (!transformation) return { ok: true, body };
  const turns = parts.turnsOf(endpoint.projectId);
  if (isHeavy(body.length) || turns.isOver) return reshapeInTurns(turns, transformation, body);
  const text = decoder.decode(body);
  const operations = transformation.parts(JSON.parse(text) as Json);
  for (;;) {
    const { done, value } = operations.next();
    if (done) return shapedOf(text, value);
    // A small body does not tell what its operations make of it.
    if (turns.isOver) return reshapeOn(turns, text, operations);
  }
}

async function reshapeInTurns(
  turns: Turns,
  transformation: Transformation,
  body: Uint8Array,
): Promise<Shaped> {
  await turns.giveWay(body.length);
  const text = decoder.decode(body);
  return reshapeOn(turns, text, transformation.parts(JSON.parse(text) as Json));
}

async function reshapeOn(turns: Turns, text: string, parts: TransformationParts): Promise<Shaped> {
  const giveWay = () => turns.giveWay(text.length);
  const result = await applyInTurns(parts, giveWay);
  await giveWay();
  return shapedOf(text, result);
}

function shapedOf(source: string, result: Transformed): Shaped {
  const written = writeTransformed(source, result);
  if (written.ok) return { ok: true, body: encoder.encode(written.text) };
  return { ok: false, error: { code: "transformation_failed", detail: written.reason } };
}

export function sign(ids: IdCodec, endpoint: Endpoint, load: Load, body: Uint8Array, now: number): Message {
  const id = ids.encode("msg", load.delivery.id);
  const timestampSeconds = Math.floor(now / 1000);
  const signature = signatureHeader(
    keysOf(endpoint, now),
    endpoint.signatureVersions,
    id,
    timestampSeconds,
    body,
  );
  const compiled = compiledOf(endpoint);
  compiled.publicId ??= ids.encode("ep", endpoint.id);
  const endpointId = compiled.publicId;
  const createdAt = keyTime(load.delivery.id);
  const { headers } = compiled;
  const { type, hops } = load;
  return { id, timestampSeconds, signature, type, hops, endpointId, createdAt, headers, body };
}

/** What attempts need of an endpoint, read once for each of its versions. */
interface Compiled {
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
  /** Its credentials, and what its own headers carry. */
  credentials: readonly string[];
  current: readonly SigningKey[];
  /** During an overlap, newest first. */
  both: readonly SigningKey[];
}

const compiledOf = once((endpoint: Endpoint): Compiled => {
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
    headers: endpoint.headers.filter(([name]) => kind === undefined || !isProtocolHeader(kind, name)),
    config: { ...endpoint.config, ...endpoint.credentials },
    credentials: [...Object.values(endpoint.credentials), ...headerSecrets(endpoint.headers)],
    current,
    both: previous ? [...current, readKey(previous.secret, previous.privateKey)] : current,
  };
});

/** The keys that are valid now, newest first. */
function keysOf(endpoint: Endpoint, now: number): readonly SigningKey[] {
  const { current, both } = compiledOf(endpoint);
  return endpoint.previous !== null && endpoint.previous.expiresAt > now ? both : current;
}

function readKey(secret: string, privateKey: string | null): SigningKey {
  const hmac = readSecret(secret);
  if (!hmac) throw new Error("an endpoint has a secret that is none");
  return { hmac, ed25519: privateKey === null ? null : readPrivateKey(privateKey) };
}

function headOf(endpoint: Endpoint, request: OutgoingRequest): string {
  const compiled = compiledOf(endpoint);
  if (compiled.head === null || !hasSameHead(compiled.head.of, request)) {
    const { method, url, headers } = request;
    compiled.head = { of: { method, url, headers }, text: requestHeadOf(request) };
  }
  return compiled.head.text;
}

/** The request, or why the message cannot be rendered, or what kept it from being prepared. */
type Rendered = OutgoingRequest | AttemptError | Unprepared;

function render(sending: Sending, kind: DestinationKind, message: Message): Rendered | Promise<Rendered> {
  if (kind.maxBytes !== null && message.body.length > kind.maxBytes) {
    const detail = `The body has ${message.body.length} bytes; ${kind.name} takes at most ${kind.maxBytes}.`;
    return { code: "body_too_large", detail };
  }
  const ask: Ask = async (request) => requireAnswer(await transmit(sending, request));
  try {
    const request = kind.request(compiledOf(sending.endpoint).config, message, sending.parts.now(), ask);
    return request instanceof Promise ? request.catch(reasonOf) : request;
  } catch (error) {
    return reasonOf(error);
  }
}

function requireAnswer(result: TransportResult): Answer {
  if (result.kind === "response") return result;
  throw new Unprepared(result);
}

function reasonOf(error: unknown): AttemptError | Unprepared {
  if (error instanceof Unprepared) return error;
  return { code: "message_refused", detail: error instanceof Error ? error.message : String(error) };
}

type Result = Exclude<TransportResult, { kind: "aborted" }>;

function errorOf(result: Result, judgement: Judgement | null): AttemptError | null {
  if (result.kind !== "response") return { code: result.code, detail: null };
  return judgement && !judgement.delivered ? judgement.error : null;
}

function findingOf(
  result: Result,
  judgement: Judgement | null,
  parts: SendParts,
): Omit<Finding, "statusCode"> {
  if (result.kind !== "response") return { outcome: result.kind, slows: false, retryAfterMs: null };
  if (judgement?.delivered) return { outcome: "delivered", slows: false, retryAfterMs: null };
  const { headers } = result;
  const retryAfterMs = readRetryAfter(valueOf(headers, "retry-after"), valueOf(headers, "date"), parts.now());
  // A kind may say so in a 200 or 400.
  const slows = (judgement?.throttled ?? false) || slowsEndpoint(result.status);
  return { outcome: "rejected", slows, retryAfterMs };
}

function valueOf(headers: Answer["headers"], name: string): string | undefined {
  return headers.find((header) => header[0] === name)?.[1];
}
