/** What a call throws. Each error is a SealpostError. */

/** One place of a request that is wrong. */
export interface RequestFault {
  /** A JSON Pointer into the body, or the name of a query parameter. */
  pointer: string;
  detail: string;
}

export abstract class SealpostError extends Error {}

/**
 * No whole answer came: the connection failed or was cut, the time for an attempt was over, what should be
 * JSON is none, or a list has no end. `cause` is why.
 */
export class ConnectionError extends SealpostError {
  override readonly name: string = "ConnectionError";
}

/** What the service said, or what stands in front of it. */
export interface Refusal {
  status: number;
  code: string;
  detail: string;
  errors: readonly RequestFault[];
  requestId: string | null;
  retryAfter: number | null;
}

/** An answer that is no success. */
export class ApiError extends SealpostError {
  override readonly name: string = "ApiError";
  /** Of the answer. */
  readonly status: number;
  /** The code of the problem, such as `not_found`; `unknown` where the answer is none of Sealpost's. */
  readonly code: string;
  /** One sentence. */
  readonly detail: string;
  /** The places of the request that are wrong; mostly empty. */
  readonly errors: readonly RequestFault[];
  /** `x-request-id`: by it whoever runs the service finds the call in the log. */
  readonly requestId: string | null;
  /** After how many seconds to ask again, where the answer says so. */
  readonly retryAfter: number | null;

  constructor(refusal: Refusal) {
    const { status, code, detail, errors } = refusal;
    const places = errors.map(({ pointer, detail: what }) => `${pointer}: ${what}`);
    super(`${status} ${code}: ${[detail, ...places].join("; ")}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.errors = errors;
    this.requestId = refusal.requestId;
    this.retryAfter = refusal.retryAfter;
  }
}

/** 404: there is nothing of this id, or no longer. */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}

/** 409: what is there already stands against it. */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}

/** 422: `errors` says which places of the request are wrong. */
export class InvalidRequestError extends ApiError {
  override readonly name = "InvalidRequestError";
}

/** 429: too many calls. The retries have been made already. */
export class RateLimitError extends ApiError {
  override readonly name = "RateLimitError";
}

const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  404: NotFoundError,
  409: ConflictError,
  422: InvalidRequestError,
  429: RateLimitError,
};

const DETAIL_LENGTH_MAX = 200;

/** The error of an answer, with its body as text. */
export function errorOf({ status, headers }: Response, text: string): ApiError {
  const problem = readProblem(text);
  const detail = problem.detail ?? withoutProblem(status, headers, text);
  const Kind = BY_STATUS[status] ?? ApiError;
  return new Kind({
    status,
    code: problem.code ?? "unknown",
    detail,
    errors: readFaults(problem.errors),
    requestId: headers.get("x-request-id") ?? textOrNull(problem.request_id),
    retryAfter: readRetryAfter(headers.get("retry-after")),
  });
}

type Problem = { code?: string; detail?: string; request_id?: unknown; errors?: unknown };

/** Empty where the text is no problem of Sealpost's: a proxy in front of it may have answered. */
function readProblem(text: string): Problem {
  try {
    const read = JSON.parse(text) as Problem | null;
    return typeof read?.code === "string" && typeof read.detail === "string" ? read : {};
  } catch {
    return {};
  }
}

/** Without entries of another shape than ours. */
function readFaults(errors: unknown): RequestFault[] {
  return Array.isArray(errors) ? errors.filter(isFault) : [];
}

function isFault(entry: Partial<RequestFault> | null): entry is RequestFault {
  return typeof entry?.pointer === "string" && typeof entry.detail === "string";
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function withoutProblem(status: number, headers: Headers, text: string): string {
  const location = headers.get("location");
  if (location !== null) return `It leads to ${location}: give that address as url`;
  return text.trim().slice(0, DETAIL_LENGTH_MAX) || `An answer of ${status} without a body`;
}

/** `retry-after` in seconds, of either form; null where there is none that can be read. */
function readRetryAfter(text: string | null): number | null {
  if (text === null) return null;
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
