import type { AttemptError } from "../core/attempt-error.ts";
import type { Finding } from "../core/delivery.ts";
import { messageOf } from "../core/errors.ts";
import { type IdCodec, keyTime } from "../core/ids.ts";
import { limit } from "../core/limits.ts";
import type { AttemptFacts, Endpoint } from "../core/model.ts";
import { readRetryAfter, slowsEndpoint } from "../core/retry.ts";
import { signatureHeader } from "../core/signing.ts";
import { isHeavy, type Turns } from "../core/structures/turn-queue.ts";
import type { Load } from "../core/waiting.ts";
import {
  type Answer,
  type Ask,
  type DestinationKind,
  type InPool,
  isSuccess,
  type Judgement,
  type Message,
  type OutgoingRequest,
  Unprepared,
} from "../destinations/destination.ts";
import { errorNamed } from "../destinations/answers.ts";
import { findKind } from "../destinations/destinations.ts";
import type { Transport, TransportResult } from "../transport/types.ts";
import { compiledOf, credentialsOf, headOf, keysOf } from "./compiled-endpoint.ts";
import { headerSecrets, hideInFacts, type Secrets } from "./redaction/redact.ts";
import { reshape } from "./transformations.ts";

/** One attempt as it went: what its row shows, and what the states of delivery and endpoint depend on. */
export interface Sent extends AttemptFacts, Finding {
  /** Public ids, as they were made for the message; null where there was none. */
  messageId: string | null;
  endpointId: string | null;
  /** Where it was given up while it connected: its socket, or the question for its name, ends with this. */
  socketGone?: Promise<void> | undefined;
}

export interface SendParts {
  transport: Transport;
  ids: IdCodec;
  /** The turns of work for a project. */
  turnsOf(projectId: number): Turns;
  /** True where others should go first in this turn of the loop. */
  isTurnOver(): boolean;
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
  /** Null where this machine may send; else resolves once it may. */
  untilMayGo(): Promise<void> | null;
}

/**
 * Reshapes, signs, renders and sends a delivery once. Never rejects; null where it was given up because the
 * process ends, or could not begin because the process has no file left: that costs no attempt.
 */
export async function send(parts: SendParts, endpoint: Endpoint, load: Load): Promise<Sent | null> {
  const mayGo = parts.untilMayGo();
  if (mayGo !== null) await mayGo;
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
    const request = rendered instanceof Promise ? await waited(sending, rendered, shaped.body) : rendered;
    if ("code" in request) return sentMalformed(startedAt, request);
    if (request instanceof Unprepared) {
      const sent = sentUnprepared(request, sending, message);
      return sent && hideInFacts(sent, () => secretsOf(kind, endpoint, request.asked ?? NOTHING_ASKED));
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
      traceparent: message.traceparent,
      requestBody: request.body === load.body ? null : request.body,
      responseHeaders: response ? response.headers : [],
      responseBody: response && response.body,
      truncated: response !== null && response.truncated,
      ...findingOf(result, judgement, parts),
      saysGone: response?.status === GONE,
      socketGone: sending.socketGone,
    };
    return hideInFacts(sent, () => secretsOf(kind, endpoint, request));
  } catch (error) {
    // Whatever is thrown, as by settings of another version, must not end the process: it serves others.
    parts.onBroken(endpoint, error);
    return sentMalformed(parts.dated(), UNREADABLE);
  }
}

/** What of a request carries credentials. */
type Carried = Pick<OutgoingRequest, "headers" | "secrets">;

const NOTHING_ASKED: Carried = { headers: [] };

/** An attempt whose message is signed. */
interface Sending {
  parts: SendParts;
  endpoint: Endpoint;
  /** As its row is dated, and by the monotonic clock. */
  startedAt: number;
  began: number;
  /** When its time is up, by the monotonic clock. */
  until: number;
  /** When the last answer came, by the monotonic clock. */
  answeredAt?: number;
  /** See Sent. */
  socketGone?: Promise<void> | undefined;
}

/** Until the last answer; until now where none came. */
function elapsedMs({ parts, began, answeredAt = parts.monotonic() }: Sending): number {
  return Math.max(0, Math.round(answeredAt - began));
}

/**
 * Credentials that a server may repeat: what is stored, and what was made of it or granted for it, as it was
 * sent. What is read in `config`, and the names of headers, which a signature lists, are none.
 */
function secretsOf(kind: DestinationKind, endpoint: Endpoint, { headers, secrets = [] }: Carried): Secrets {
  const kept = credentialsOf(endpoint);
  if (kept.length === 0) return kept;
  const own = new Set(endpoint.headers.map(([, value]) => value));
  const authorization = headers.filter(
    ([name, value]) => name.toLowerCase() === "authorization" && !own.has(value),
  );
  const open = new Set<unknown>([
    ...Object.values(endpoint.config),
    ...headers.map(([name]) => name.toLowerCase()),
  ]);
  const made = headerSecrets(authorization).filter((one) => !open.has(one));
  return { kept, made: [...(kind.secrets?.(compiledOf(endpoint).config) ?? []), ...secrets, ...made] };
}

/**
 * Within what is left of the attempt's time. The answer is there in a turn of the loop that has time left for
 * what is done with it: a receiver can hold very many requests, and answer all of them at once.
 */
async function transmit(
  sending: Sending,
  { method, url, headers, body }: OutgoingRequest,
): Promise<TransportResult> {
  const { transport, signal } = sending.parts;
  const timeoutMs = sending.until - sending.parts.monotonic();
  if (timeoutMs <= 0) return { kind: "timeout", code: "timeout_connect" };
  const result = await transport.send({
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
  if (result.kind === "timeout") sending.socketGone = result.socketGone;
  sending.answeredAt = sending.parts.monotonic();
  const { parts, endpoint } = sending;
  if (parts.isTurnOver()) await inOurTime(sending, () => parts.turnsOf(endpoint.projectId).next());
  return result;
}

/** What is waited for here is ours: the destination has as much time after that as before. */
async function inOurTime<Made>(sending: Sending, wait: () => Promise<Made>): Promise<Made> {
  const since = sending.parts.monotonic();
  try {
    return await wait();
  } finally {
    sending.until += sending.parts.monotonic() - since;
  }
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
    // It is not the destination that answered.
    saysGone: false,
    socketGone: sending.socketGone,
  };
}

/** RFC 9110, 15.5.11. */
const GONE = 410;

export const UNREADABLE: AttemptError = { code: "settings_unreadable", detail: null };

/** Nothing was sent: the message could not be made. */
export function sentMalformed(startedAt: number, error: AttemptError): Sent {
  const finding = { outcome: "malformed", saysGone: false, slows: false, retryAfterMs: null } as const;
  return { ...unsentFacts(startedAt), ...finding, error };
}

/** What the row of an attempt shows where no request was sent. */
function unsentFacts(startedAt: number): Omit<Sent, keyof Finding> {
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
    traceparent: null,
    requestBody: null,
    responseHeaders: [],
    responseBody: null,
    truncated: false,
  };
}

function kindOf(endpoint: Endpoint): DestinationKind {
  const kind = findKind(endpoint.kind);
  if (!kind || "isPolled" in kind)
    throw new Error(`an endpoint has the kind ${endpoint.kind}, which is none`);
  return kind;
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
  const { type, hops, traceparent = null } = load;
  return { id, timestampSeconds, signature, traceparent, type, hops, endpointId, createdAt, headers, body };
}

/** The request, or why the message cannot be rendered, or what kept it from being prepared. */
type Rendered = OutgoingRequest | AttemptError | Unprepared;

function render(sending: Sending, kind: DestinationKind, message: Message): Rendered | Promise<Rendered> {
  if (kind.maxBytes !== null && message.body.length > kind.maxBytes) {
    const detail = `The body has ${message.body.length} bytes; ${kind.name} takes at most ${kind.maxBytes}.`;
    return { code: "body_too_large", detail };
  }
  const ask: Ask = async (request) => requireAnswer(await transmit(sending, request));
  const { parts, endpoint } = sending;
  const inPool: InPool = (work) =>
    inOurTime(sending, () => {
      if (typeof work !== "function") return work;
      return parts.turnsOf(endpoint.projectId).inPool(() => {
        if (parts.signal.aborted) throw new Unprepared({ kind: "aborted" });
        return work();
      });
    });
  try {
    const request = kind.request(compiledOf(endpoint).config, message, parts.now(), ask, inPool);
    return request instanceof Promise ? request.catch(reasonOf) : request;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Very many may wait for one token, and get it in one turn: a heavy request has a turn of its own then. */
async function waited(sending: Sending, rendered: Promise<Rendered>, body: Uint8Array): Promise<Rendered> {
  const { parts, endpoint } = sending;
  const request = await rendered;
  if (isHeavy(body.length))
    await inOurTime(sending, () => parts.turnsOf(endpoint.projectId).giveWay(body.length));
  return request;
}

function requireAnswer(result: TransportResult): Answer {
  if (result.kind === "response") return result;
  throw new Unprepared(result);
}

function reasonOf(error: unknown): AttemptError | Unprepared {
  if (error instanceof Unprepared) return error;
  return errorNamed("message_refused", messageOf(error));
}

type Result = Exclude<TransportResult, { kind: "aborted" }>;

function errorOf(result: Result, judgement: Judgement | null): AttemptError | null {
  if (result.kind !== "response") return { code: result.code, detail: null };
  return judgement && !judgement.delivered ? judgement.error : null;
}

function findingOf(result: Result, judgement: Judgement | null, parts: SendParts): Omit<Finding, "saysGone"> {
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
