import type { AttemptError, AttemptErrorCode } from "../../../src/core/attempt-error.ts";
import { signatureHeader, readSecret } from "../../../src/core/signing.ts";
import type {
  Answer,
  InPool,
  Judgement,
  Message,
  OutgoingRequest,
} from "../../../src/destinations/destination.ts";

/** What proves one row of the table of destination kinds; `../destinations.test.ts` walks over them. */
export interface KindCase {
  kind: string;
  /**
   * Every field of the kind, each with a right value. All that it leads to is plain http at 127.0.0.1, with
   * any port: the tests' service allows it, and `faults.test.ts` puts its own server in its place.
   * The value of a credential occurs nowhere else, neither in another field nor in what is sent in the open:
   * the tests search for it.
   */
  config: Config;
  /** Right configs that lead to another request, as a token in place of a key. */
  others?: readonly Config[];
  /**
   * What is refused beside what the fields themselves say: texts that a `check` refuses, and for each field
   * that `addresses` derives an address from, one that leads to a private network, with the code
   * `unsafe_destination`.
   */
  refused?: readonly RefusedConfig[];
  /** What whoever is asked before the request answers (STS, a token service). */
  asked?: (request: OutgoingRequest) => Answer;
  /** What a consumer gets of the request. */
  received(request: OutgoingRequest): Received;
  answers: readonly AnswerCase[];
  /** True where a 2xx says that it arrived, whatever its body. */
  statusDecides?: boolean;
}

export type Config = Readonly<Record<string, string | boolean>>;

export interface RefusedConfig {
  name: string;
  /** Over the right config; undefined takes a field away. */
  config: Readonly<Record<string, unknown>>;
  pointer: string;
  code?: "invalid_request" | "unsafe_destination";
}

export interface Received {
  body: string;
  /** Null where headers cannot travel: the row's `about` says so. */
  headers: Record<string, string> | null;
  /** What a repeat has in common with the first; null where the destination knows no such thing. */
  identity: string | null;
}

export interface AnswerCase {
  name: string;
  status: number;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  judged: Judgement;
}

export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/** For whoever waits for nobody. */
export const atOnce: InPool = (work) => (typeof work === "function" ? work() : work);
export const DELIVERED: Judgement = { delivered: true };

/** What an answer means: a code, and behind a colon the detail where there is one. */
export type Meaning = AttemptErrorCode | `${AttemptErrorCode}: ${string}`;

export function refused(means: Meaning | null, throttled = false): Judgement {
  return { delivered: false, error: means && errorOf(means), throttled };
}

function errorOf(means: Meaning): AttemptError {
  const end = means.indexOf(": ");
  const code = (end < 0 ? means : means.slice(0, end)) as AttemptErrorCode;
  return { code, detail: end < 0 ? null : means.slice(end + 2) };
}

/** The same text of an attempt as the API shows it. */
export function meaningOf(attempt: {
  error_code: string | null;
  error_detail: string | null;
}): string | null {
  const { error_code: code, error_detail: detail } = attempt;
  return detail === null ? code : `${code}: ${detail}`;
}

const encoder = new TextEncoder();

/** A message as the endpoint's own signature has it. The text has what encoders trip over. */
export function messageAt(now: number, over: Partial<Message> = {}): Message {
  const body = encoder.encode(
    '{"type":"invoice.paid","timestamp":"2026-11-21T09:00:00.000Z","data":{"id":"in_42","note":"50 € \\"due\\" \\\\ +/=&<ü> \\u0000 \u{1f600}"}}',
  );
  const id = "msg_01KAHM9Q7W00B5C1D7E9F3G6HJ";
  const timestampSeconds = Math.floor(now / 1000);
  const hmac = readSecret(SECRET);
  if (hmac === null) throw new Error("the secret is none");
  return {
    id,
    timestampSeconds,
    signature: signatureHeader([{ hmac, ed25519: null }], ["v1"], id, timestampSeconds, body),
    type: "invoice.paid",
    hops: 0,
    traceparent: null,
    endpointId: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
    createdAt: Date.UTC(2026, 10, 21, 23, 59, 59, 999),
    headers: [],
    body,
    ...over,
  };
}

export function answerOf({ status, headers = {}, body = "" }: Omit<AnswerCase, "name" | "judged">): Answer {
  return { status, headers: Object.entries(headers), body: encoder.encode(body) };
}

/** The three headers where they are ordinary ones. */
export function webhookHeaders(pairs: Iterable<readonly [string, string]>): Record<string, string> {
  return Object.fromEntries([...pairs].filter(([name]) => name.startsWith("webhook-")));
}

export function textOf({ body }: OutgoingRequest): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(body);
}
