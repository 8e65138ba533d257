import type { SignatureVersion, SourceRefusal } from "../core/model.ts";

/** What /v1 answers, as far as the portal reads it. */

export interface Portal {
  kind: "portal" | "api_key";
  project_id: string;
  consumer_id: string | null;
  manage: boolean;
  create: boolean;
  expires_at: string | null;
  mode: "live" | "test";
  branding: { name: string; logo_url: string | null; color: string | null };
}

export interface Page<Row> {
  data: Row[];
  next_cursor: string | null;
}

export type DeliveryStatus = "pending" | "retrying" | "delivered" | "dead" | "cancelled";
export type WaitingFor =
  | "paused"
  | "rate_limit"
  | "backoff"
  | "order"
  | "concurrency"
  | "plan_limit"
  | "disk"
  | "replica";
export type DeadReason = "exhausted" | "gone" | "blocked" | "malformed" | "endpoint_disabled";

export interface Delivery {
  id: string;
  event_id: string;
  event_type: string;
  endpoint_id: string;
  status: DeliveryStatus;
  attempt_count: number;
  next_attempt_at: string | null;
  waiting_for: WaitingFor | null;
  dead_reason: DeadReason | null;
  created_at: string;
  completed_at: string | null;
}

export type Outcome =
  | "delivered"
  | "rejected"
  | "timeout"
  | "unreachable"
  | "blocked"
  | "malformed"
  | "handed_out";

export interface Attempt {
  id: string;
  delivery_id: string;
  endpoint_id: string;
  number: number;
  trigger: "publish" | "retry" | "manual" | "replay" | "test";
  started_at: string;
  duration_ms: number;
  outcome: Outcome;
  status_code: number | null;
  error_code: string | null;
  error_detail: string | null;
  url: string | null;
  request_headers: Record<string, string>;
  request_body: string | null;
  response_headers: Record<string, string>;
  response_body: string | null;
  response_truncated: boolean;
  next_attempt_at: string | null;
}

export interface EventWithData {
  id: string;
  type: string;
  /** null: it has left the log. */
  data: unknown;
  timestamp: string;
  consumer_id: string | null;
  external_id: string | null;
  test: boolean;
  created_at: string;
  deliveries: Pick<Delivery, "id" | "endpoint_id" | "status">[];
}

export interface EventRow {
  id: string;
  type: string;
  delivery_count: number;
  created_at: string;
}

export interface Replay {
  id: string;
  status: "running" | "completed" | "cancelled";
  matched: number;
  replayed: number;
}

export interface Endpoint {
  id: string;
  kind: string;
  config: Record<string, unknown>;
  url: string | null;
  description: string | null;
  event_types: string[] | null;
  filter: Record<string, unknown> | null;
  transformations: Record<string, unknown>[] | null;
  consumer_id: string | null;
  headers: Record<string, string>;
  signature_versions: SignatureVersion[];
  public_key?: string;
  retry: { schedule: number[] } | null;
  timeout_seconds: number;
  rate_limit_per_second: number | null;
  max_concurrency: number;
  ordering: "none" | "fifo";
  metadata: Record<string, unknown>;
  status: "active" | "paused" | "disabled";
  disabled_reason: "gone" | "failing" | null;
  failing_since: string | null;
  created_at: string;
  updated_at: string;
}

interface Numbers {
  delivered: number;
  failed: number;
  dead: number;
  p50_ms: number | null;
  p95_ms: number | null;
}

interface StatPoint extends Numbers {
  at: string;
}

export interface Stats {
  data: StatPoint[];
  total: Numbers;
  waiting: number;
}

/** Deliveries of one hour by their state. */
export type DeliveryCount = { at: string } & Record<DeliveryStatus, number>;

export interface CountPage extends Page<DeliveryCount> {
  counted_since: string | null;
}

export interface EndpointTotal extends Numbers {
  endpoint_id: string;
  waiting: number;
  last_delivery: { id: string; status: DeliveryStatus; created_at: string } | null;
}

/** What a form asks for: of a kind of destination, or of a provider. */
export interface FormField {
  name: string;
  label: string;
  help: string;
  required: boolean;
  secret: boolean;
  type: "string" | "boolean" | "integer";
  address?: boolean;
  pattern?: string;
  choices?: string[];
}

export interface DestinationKind {
  kind: string;
  name: string;
  fields: FormField[];
  max_bytes: number | null;
}

export interface SecretAnswer {
  secret: string;
  public_key?: string;
  previous_secret_expires_at: string | null;
}

export interface EventType {
  name: string;
  description: string | null;
  schema: Record<string, unknown> | null;
  example: Record<string, unknown> | null;
  group: string | null;
  archived: boolean;
  created_at: string;
  updated_at: string;
}

export type RefusalReason = SourceRefusal;

export interface Source {
  id: string;
  provider: string;
  provider_name: string;
  name: string;
  status: "active" | "awaiting_secret" | "paused";
  ingest_url: string;
  signing_secret: string | null;
  credentials: Record<string, string>;
  config: Record<string, unknown>;
  consumer_id: string | null;
  rate_limit_per_second: number | null;
  previous_secret_expires_at: string | null;
  pending_verification_token: string | null;
  created_at: string;
}

export interface SourceNumbers {
  accepted: number;
  duplicates: number;
  handshakes: number;
  rejected: Partial<Record<RefusalReason, number>>;
}

export interface SourceLast {
  last_received_at: string | null;
  last_handshake_at: string | null;
  last_rejected: { at: string; reason: RefusalReason } | null;
}

export interface SourceStats extends SourceLast {
  data: (SourceNumbers & { at: string })[];
  total: SourceNumbers;
}

export interface SourceTotal extends SourceNumbers, SourceLast {
  source_id: string;
}

export interface Provider {
  key: string;
  aliases: string[];
  name: string;
  headers: string[];
  secret_from: "source" | "customer" | "provider" | "none";
  fields: FormField[];
  config_fields: FormField[];
  needs_public_url: boolean;
  handshakes: string[];
  setup: {
    address_at: string;
    secret_at: string;
    pitfalls: string[];
    page: string;
    is_checked: boolean;
  };
  docs_url: string;
}
