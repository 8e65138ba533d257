import { childPointer } from "./json/value.ts";

/** The one table of errors that leave the service (RFC 9457). */
export const ERRORS = {
  invalid_json: { status: 400, title: "The body is not valid JSON" },
  malformed_request: { status: 400, title: "The request's target or Host is malformed" },
  unauthenticated: { status: 401, title: "A valid key, token or secret is needed" },
  plan_limit_reached: { status: 402, title: "The plan's deliveries for this month are used up" },
  forbidden: { status: 403, title: "This key or token may not do that" },
  not_found: { status: 404, title: "There is no such object" },
  method_not_allowed: { status: 405, title: "This path does not take that method" },
  conflict: { status: 409, title: "The object's present state does not allow that" },
  idempotency_in_progress: {
    status: 409,
    title: "The first request with this Idempotency-Key is still running",
  },
  payload_too_large: { status: 413, title: "The body is too large" },
  unsupported_media_type: { status: 415, title: "The body must be application/json" },
  invalid_request: { status: 422, title: "The request is not valid" },
  idempotency_key_reused: { status: 422, title: "This Idempotency-Key was used for another request" },
  schema_violation: { status: 422, title: "The data violates the event type's schema" },
  unsafe_destination: { status: 422, title: "This destination is not allowed" },
  rate_limited: { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "Something went wrong on our side" },
  loop_detected: { status: 508, title: "The event has come back too often" },
  unavailable: { status: 503, title: "The service cannot take this now" },
  replica_unavailable: { status: 503, title: "The replica does not confirm this now" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** One fault of a request: `pointer` is a JSON Pointer into the body, or the name of a query parameter. */
export interface Fault {
  pointer: string;
  detail: string;
}

export interface ProblemDetails {
  errors?: readonly Fault[];
  headers?: Readonly<Record<string, string>>;
}

/** More faults than a person reads, and few enough that a hostile body cannot make the answer large. */
export const FAULTS_MAX = 50;
/** A longer name is not repeated in the answer: the fault points at the object that holds it. */
export const FIELD_NAME_MAX = 128;
/** A longer pointer ends at a place above: a body may say it with each of its faults. */
const POINTER_LENGTH_MAX = 1024;

/** Notes a field that nobody knows, unless there are faults enough. */
export function addUnknownField(
  faults: Fault[],
  pointer: string,
  name: string,
  detail = "There is no such field.",
): void {
  if (faults.length >= FAULTS_MAX) return;
  if (name.length <= FIELD_NAME_MAX) faults.push({ pointer: childPointer(pointer, name), detail });
  else faults.push({ pointer, detail: "This object has a field that does not exist." });
}

/** What a refusal tells of its faults. */
function told(faults: readonly Fault[]): Fault[] {
  return faults.slice(0, FAULTS_MAX).map(({ pointer, detail }) => ({ pointer: shortened(pointer), detail }));
}

function shortened(pointer: string): string {
  if (pointer.length <= POINTER_LENGTH_MAX) return pointer;
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf("/", POINTER_LENGTH_MAX)));
}

/**
 * An expected refusal on its way to the caller. Its text is written for the caller and holds
 * nothing internal; it is short, however many faults there are.
 */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;
  readonly errors: readonly Fault[] | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    details: ProblemDetails = {},
  ) {
    super(detail);
    this.name = "Problem";
    this.status = ERRORS[code].status;
    this.title = ERRORS[code].title;
    this.errors = details.errors && told(details.errors);
    this.headers = details.headers;
  }
}

/** What an error says that may be anything. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Of every answer, a problem or not. */
export const COMMON_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** A problem as it leaves (RFC 9457); `members` are further ones of its body. */
export function problemAnswer(
  { code, title, status, detail, errors, headers }: Problem,
  members: Readonly<Record<string, string | number | null>>,
) {
  const type = `urn:sealpost:error:${code}`;
  const body = JSON.stringify({ type, title, status, code, detail, ...members, errors });
  return { status, body, headers: { ...headers, "content-type": "application/problem+json" } };
}

/** 422 for one place of the request. */
export function invalid(pointer: string, detail: string): Problem {
  return new Problem("invalid_request", "The request is not valid.", { errors: [{ pointer, detail }] });
}

/** 422 for several places of the request. */
export function invalidAll(errors: readonly Fault[]): Problem {
  return new Problem("invalid_request", "The request is not valid.", { errors });
}

/**
 * 404. `noun` is a word of the first table of src/docs/behaviour.md ("endpoint"). Unknown, malformed and
 * foreign ids answer alike.
 */
export function notFound(noun: string): Problem {
  return new Problem("not_found", `There is no such ${noun}.`);
}

/** 503 with `retry-after` in seconds. */
export function unavailable(detail: string, retryAfterSeconds = 5): Problem {
  return new Problem("unavailable", detail, { headers: { "retry-after": String(retryAfterSeconds) } });
}

/** What a caller learns of an error that nobody expected: nothing but the request id. */
export const INTERNAL = new Problem(
  "internal",
  "The request failed for a reason that is ours. Quote the request id when you ask about it.",
);
