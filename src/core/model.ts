/**
 * The nouns as the parts of the program exchange them. Keys are numbers (core/ids.ts), instants Unix
 * milliseconds. What somebody waits by (`due`, and the instants of Health) is told by a clock that nobody
 * sets: SteadyClock in platform/clock.ts, whose `toWall` shows it.
 */

import type { AttemptError } from "./attempt-error.ts";
import { formatRfc3339 } from "./rfc3339.ts";

const encoder = new TextEncoder();

export const DELIVERY_STATUS = ["pending", "retrying", "delivered", "dead", "cancelled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUS)[number];

/** `handed_out`: fetched by a poller that has not acknowledged it yet. */
export const OUTCOMES = [
  "delivered",
  "rejected",
  "timeout",
  "unreachable",
  "blocked",
  "malformed",
  "handed_out",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const TRIGGERS = ["publish", "retry", "manual", "replay", "test"] as const;
export type Trigger = (typeof TRIGGERS)[number];

export const DEAD_REASONS = ["exhausted", "gone", "blocked", "malformed", "endpoint_disabled"] as const;
export type DeadReason = (typeof DEAD_REASONS)[number];

/** What the first attempt of a delivery answers to. */
export const ORIGINS = ["publish", "replay", "test", "test_replay"] as const;
export type Origin = (typeof ORIGINS)[number];

/**
 * Why a request to a source is refused: for its owner's counters and the log, never for the answer. From
 * `keys_unavailable` to `plan_limit` the provider is told to try again. They, `loop` too, were genuine, but
 * for `keys_unavailable`.
 */
export const REFUSAL_REASONS = [
  "missing_header",
  "bad_signature",
  "stale_timestamp",
  "token_in_query",
  "unknown_key",
  "wrong_key_id",
  "body_altered",
  "malformed",
  "wrong_method",
  "too_large",
  "awaiting_secret",
  "keys_unavailable",
  "visit_failed",
  "paused",
  "suspended",
  "changed",
  "rate_limited",
  "plan_limit",
  "loop",
] as const;
/** What a source's owner is shown. */
export type SourceRefusal = (typeof REFUSAL_REASONS)[number];
/** A request that names no source is nobody's. */
export type RefusalReason = SourceRefusal | "unknown_source";

export const WAITING_FOR = [
  "paused",
  "rate_limit",
  "backoff",
  "order",
  "concurrency",
  "plan_limit",
  "disk",
  "replica",
] as const;
export type WaitingFor = (typeof WAITING_FOR)[number];

/** What an acknowledged event is on: this machine's disk, or the replica as well. */
export const DURABILITIES = ["disk", "replica"] as const;
export type Durability = (typeof DURABILITIES)[number];

export type EndpointStatus = "active" | "paused" | "disabled" | "deleted";
export type DisabledReason = "gone" | "failing";

export interface Account {
  id: number;
  name: string;
  plan: string;
  suspended: boolean;
  /**
   * By the steady clock: when something last ended that may have held back what was new: a suspension, or
   * another plan.
   */
  openedAt: number;
  /** Null: it lives here. */
  movedTo: MovedTo | null;
}

/** The cell in which an account lives that has left this one. */
export interface MovedTo {
  /** Its two characters. */
  cell: string;
  /**
   * `host:port` of its machines; none where nobody comes here for the account, as it never lived here: its
   * row is of the copy with which this cell began.
   */
  machines: readonly string[];
  /**
   * False until the row that says so is on the disk: before, a replica may have it that this disk would lack
   * after a power cut, and nobody may take the account by it.
   */
  isOnDisk: boolean;
  /** Of the machine that takes it, its data directory; null: any that waits as that cell. */
  taker: string | null;
  /** That cell answers for it: what is left of it here may go. */
  hasArrived: boolean;
}

export interface Project {
  id: number;
  accountId: number;
  name: string;
  mode: "live" | "test";
  branding: { name?: string; logo_url?: string; color?: string };
  portalOrigins: string[];
  unknownEventTypes: "allow" | "reject";
}

/** A type of events that the project has described. Values are replaced, never changed. */
export interface EventType {
  id: number;
  projectId: number;
  name: string;
  description: string | null;
  /** JSON Schema of `data`; null: anything goes. */
  schema: Readonly<Record<string, unknown>> | null;
  /** `data` of an example event. */
  example: Readonly<Record<string, unknown>> | null;
  group: string | null;
  archived: boolean;
  updatedAt: number;
}

/** A previous generation of a secret that is still valid. */
export interface PreviousSecret {
  secret: string;
  privateKey: string | null;
  expiresAt: number;
}

/** Ways to sign of Standard Webhooks, in the order in which an endpoint's are kept and shown. */
export const SIGNATURE_VERSIONS = ["v1", "v1a"] as const;
export type SignatureVersion = (typeof SIGNATURE_VERSIONS)[number];

/** An endpoint as it stands now. Values are replaced, never changed. */
export interface Endpoint {
  id: number;
  projectId: number;
  consumerId: string | null;
  kind: string;
  config: Readonly<Record<string, unknown>>;
  /** Write-only fields of `config`. */
  credentials: Readonly<Record<string, string>>;
  description: string | null;
  eventTypes: readonly string[] | null;
  filter: unknown;
  transformations: unknown;
  headers: ReadonlyArray<readonly [string, string]>;
  signatureVersions: readonly SignatureVersion[];
  secret: string;
  privateKey: string | null;
  previous: PreviousSecret | null;
  retry: { schedule: readonly number[] } | null;
  timeoutSeconds: number;
  rateLimitPerSecond: number | null;
  maxConcurrency: number;
  ordering: "none" | "fifo";
  metadata: Readonly<Record<string, unknown>>;
  status: EndpointStatus;
  disabledReason: DisabledReason | null;
  /**
   * By the steady clock: when what waits for it was last let go: a pause ended, or its account's plan had
   * room again.
   */
  openedAt: number;
  updatedAt: number;
}

/** Every secret of an endpoint: one ciphertext in its row. */
export type EndpointSecrets = Pick<
  Endpoint,
  "credentials" | "headers" | "secret" | "privateKey" | "previous"
>;

/** A source as it stands now. Values are replaced, never changed. */
export interface Source {
  id: number;
  projectId: number;
  consumerId: string | null;
  provider: string;
  name: string;
  config: Readonly<Record<string, unknown>>;
  rateLimitPerSecond: number | null;
  /** Null: the service's. */
  durability: Durability | null;
  status: "active" | "awaiting_secret" | "paused" | "deleted";
  updatedAt: number;
  /** Our own, shown once. */
  secret: string;
  previousSecret: string | null;
  /** What the customer entered, where the provider issues it. */
  signingSecret: string | null;
  previousSigningSecret: string | null;
  previousExpiresAt: number | null;
  credentials: Readonly<Record<string, string>>;
  /** Brought by a handshake, for the owner to copy. */
  pendingVerificationToken: string | null;
}

export type SourceSecrets = Pick<
  Source,
  | "secret"
  | "previousSecret"
  | "signingSecret"
  | "previousSigningSecret"
  | "previousExpiresAt"
  | "credentials"
  | "pendingVerificationToken"
>;

/** How an endpoint has been answering; a healthy one has no row. */
export interface Health {
  failuresInRow: number;
  /** 0: not backing off; n: waiting for the n-th time. */
  backoffLevel: number;
  backoffUntil: number;
  /** The same of waits that answers as 503 made necessary, those aside that said for how long. */
  slowLevel: number;
  slowUntil: number;
  failingSince: number | null;
}

/** Where deliveries go: its health, and what it answered, belong to it. */
export function isSameDestination(one: Endpoint, other: Endpoint): boolean {
  const destinationOf = ({ kind, config, credentials }: Endpoint) =>
    JSON.stringify([kind, config, credentials]);
  return one === other || destinationOf(one) === destinationOf(other);
}

/** True where nothing is sent to it any more: what waits for it is ended. */
export function isClosed({ status }: Pick<Endpoint, "status">): boolean {
  return status === "disabled" || status === "deleted";
}

/** True where a paused or disabled endpoint is active again: its failures of before are forgotten. */
export function isOpenedAgain(
  before: Pick<Endpoint, "status">,
  { status }: Pick<Endpoint, "status">,
): boolean {
  return before.status !== "active" && status === "active";
}

/** True where what it answered before says nothing of it any more. */
export function startsAfresh(before: Endpoint, now: Endpoint): boolean {
  return !isSameDestination(before, now) || isOpenedAgain(before, now);
}

/** The one value of a healthy endpoint: it is told by identity. */
export const HEALTHY: Health = {
  failuresInRow: 0,
  backoffLevel: 0,
  backoffUntil: 0,
  slowLevel: 0,
  slowUntil: 0,
  failingSince: null,
};

export interface Event {
  id: number;
  projectId: number;
  type: string;
  timestamp: number;
  consumerId: string | null;
  externalId: string | null;
  sourceId: number | null;
  isTest: boolean;
  /** Deliveries that led to it, as the request said that brought it. */
  hops: number;
  deliveryCount: number;
}

export interface Delivery {
  id: number;
  eventId: number;
  endpointId: number;
  projectId: number;
  status: DeliveryStatus;
  attemptCount: number;
  /** Scheduled attempts made since the delivery was last opened. */
  step: number;
  origin: Origin;
  metered: boolean;
  /**
   * Grows whenever the delivery is reopened or cancelled: what an attempt of before finds out does not count
   * any more.
   */
  generation: number;
  /** Of the next attempt. Null: it is over, or waits for its account's plan: `status` tells which. */
  due: number | null;
  deadReason: DeadReason | null;
  completedAt: number | null;
}

/** Which attempt of which delivery, and what followed from it. */
export interface AttemptResult {
  id: number;
  deliveryId: number;
  number: number;
  trigger: Trigger;
  outcome: Outcome;
  nextAttemptAt: number | null;
  /** Why it ended its delivery; null where it did not. */
  deadReason: DeadReason | null;
}

/** What was sent and what came back. */
export interface AttemptFacts {
  startedAt: number;
  durationMs: number;
  statusCode: number | null;
  error: AttemptError | null;
  /** "METHOD URL" and the headers that are the same each time, one a line, credentials masked. */
  requestHead: string | null;
  /** When it was signed, in seconds: `webhook-timestamp`. The request leaves a moment later. */
  sentAt: number | null;
  signature: string | null;
  /** Where the event is traced: the attempt's place in its trace (core/trace-context.ts). */
  traceparent: string | null;
  /** Only where it is not the plain envelope. */
  requestBody: Uint8Array | null;
  responseHeaders: ReadonlyArray<readonly [string, string]>;
  responseBody: Uint8Array | null;
  truncated: boolean;
}

export interface Attempt extends AttemptResult, AttemptFacts {}

/** What the envelope is made of; `data` is JSON text. */
interface EnvelopeParts {
  type: string;
  timestamp: number;
  data: string;
}

/** Makes the body that is signed and sent: `{type, timestamp, data}` in that order, minified. */
export function envelopeOf(type: string, timestamp: number, data: string): string {
  return `{"type":"${type}","timestamp":"${formatRfc3339(timestamp)}","data":${data}}`;
}

/** The envelope as it is sent, in UTF-8. */
export function envelopeBytesOf({ type, timestamp, data }: EnvelopeParts): Uint8Array {
  return encoder.encode(envelopeOf(type, timestamp, data));
}
