import type { AttemptErrorCode } from "../core/attempt-error.ts";
import { sql } from "drizzle-orm";
import type { AuditEntry } from "../core/audit.ts";
import {
  customType,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";

/**
 * The tables that events run through, which statements prepared once reach. Columns have their names of SQL:
 * the rows of a prepared statement have the type `$inferSelect` of their table.
 */

/** drizzle reads blobs as Buffer; bun:sqlite gives a Uint8Array. */
const bytes = customType<{ data: Uint8Array }>({ dataType: () => "blob" });

export const meta = sqliteTable("meta", {
  name: text().primaryKey(),
  value: bytes().notNull(),
});

export const endpointHealth = sqliteTable(
  "endpoint_health",
  {
    endpoint_id: integer().primaryKey(),
    failures_in_row: integer().notNull(),
    backoff_level: integer().notNull(),
    backoff_until: integer().notNull(),
    slow_level: integer().notNull(),
    slow_until: integer().notNull(),
    failing_since: integer(),
  },
  (t) => [index("endpoint_failing").on(t.failing_since).where(sql`failing_since IS NOT NULL`)],
);

export const event = sqliteTable(
  "event",
  {
    id: integer().primaryKey(),
    project_id: integer().notNull(),
    type: text().notNull(),
    timestamp: integer().notNull(),
    consumer_id: text(),
    external_id: text(),
    source_id: integer(),
    is_test: integer().notNull().default(0),
    hops: integer().notNull().default(0),
    delivery_count: integer().notNull(),
    filtered: text(),
    data: text().notNull(),
    trace: text(),
  },
  (t) => [uniqueIndex("event_external").on(t.project_id, t.external_id).where(sql`external_id IS NOT NULL`)],
);

export const fanout = sqliteTable(
  "fanout",
  {
    event_id: integer().primaryKey(),
    first_key: integer().notNull(),
    written: integer().notNull(),
    total: integer().notNull(),
    list_id: integer().notNull(),
  },
  (t) => [index("fanout_by_list").on(t.list_id)],
);

export const fanoutList = sqliteTable("fanout_list", {
  id: integer().primaryKey(),
  endpoints: text().notNull(),
});

export const delivery = sqliteTable(
  "delivery",
  {
    id: integer().primaryKey(),
    event_id: integer().notNull(),
    endpoint_id: integer().notNull(),
    project_id: integer().notNull(),
    status: integer().notNull(),
    attempt_count: integer().notNull().default(0),
    step: integer().notNull().default(0),
    origin: integer().notNull().default(0),
    metered: integer().notNull().default(0),
    generation: integer().notNull().default(0),
    due: integer(),
    queue_order: integer(),
    dead_reason: integer(),
    completed_at: integer(),
    first_attempt: integer(),
    changed: integer(),
  },
  (t) => [
    index("delivery_replayed").on(t.event_id).where(sql`origin IN (1, 3)`),
    index("delivery_replayed_to").on(t.event_id, t.endpoint_id).where(sql`origin IN (1, 3)`),
    index("delivery_held").on(t.due).where(sql`due IS NOT NULL AND queue_order IS NULL`),
    index("delivery_parked").on(t.endpoint_id, t.queue_order).where(sql`queue_order IS NOT NULL`),
    index("delivery_parked_by_id").on(t.endpoint_id).where(sql`queue_order IS NOT NULL`),
    index("delivery_awaiting").on(t.endpoint_id).where(sql`due IS NULL AND status IN (0, 1)`),
    index("delivery_awaiting_by_event").on(t.event_id).where(sql`due IS NULL AND status IN (0, 1)`),
    index("delivery_dead").on(t.project_id, t.id).where(sql`status = 3`),
    index("delivery_dead_endpoint").on(t.endpoint_id, t.id).where(sql`status = 3`),
  ],
);

export const head = sqliteTable("head", {
  id: integer().primaryKey(),
  text: text().notNull(),
});

export const attempt = sqliteTable(
  "attempt",
  {
    id: integer().primaryKey(),
    delivery_id: integer().notNull(),
    number: integer().notNull(),
    trigger: integer().notNull(),
    started_at: integer().notNull(),
    duration_ms: integer().notNull(),
    outcome: integer().notNull(),
    status_code: integer(),
    error_code: text().$type<AttemptErrorCode>(),
    error_detail: text(),
    /** The key of a head, or its text, where the attempt outlived that; so has `response_head`. */
    request_head: integer().$type<number | string>(),
    sent_at: integer(),
    signature: text(),
    request_body: bytes(),
    response_head: integer().$type<number | string>(),
    response_date: integer(),
    response_body: bytes(),
    truncated: integer().notNull().default(0),
    next_attempt_at: integer(),
    dead_reason: integer(),
    traceparent: text(),
  },
  (t) => [index("attempt_again").on(t.delivery_id).where(sql`number > 1`)],
);

export const askedRetry = sqliteTable("asked_retry", {
  delivery_id: integer().primaryKey(),
});

export const note = sqliteTable(
  "note",
  {
    id: integer().primaryKey(),
    event_id: integer().notNull(),
    delivery_id: integer().notNull(),
    kind: integer().notNull(),
    detail: text(),
  },
  (t) => [index("note_event").on(t.event_id), index("note_delivery").on(t.delivery_id)],
);

export const label = sqliteTable(
  "label",
  {
    id: integer().primaryKey(),
    project_id: integer().notNull(),
    kind: integer().notNull(),
    name: text().notNull(),
  },
  (t) => [uniqueIndex("label_name").on(t.project_id, t.kind, t.name)],
);

export const entry = sqliteTable(
  "entry",
  {
    list: integer().notNull(),
    id: integer().notNull(),
    more: bytes(),
  },
  (t) => [primaryKey({ columns: [t.list, t.id] })],
);

export const stat = sqliteTable(
  "stat",
  {
    endpoint_id: integer().notNull(),
    hour: integer().notNull(),
    delivered: integer().notNull(),
    failed: integer().notNull(),
    dead: integer().notNull(),
    durations: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.endpoint_id, t.hour] })],
);

export const projectStat = sqliteTable(
  "project_stat",
  {
    project_id: integer().notNull(),
    hour: integer().notNull(),
    delivered: integer().notNull(),
    failed: integer().notNull(),
    dead: integer().notNull(),
    durations: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.project_id, t.hour] })],
);

export const usage = sqliteTable(
  "usage",
  {
    account_id: integer().notNull(),
    project_id: integer().notNull(),
    day: integer().notNull(),
    deliveries: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.day, t.project_id] })],
);

export const idempotency = sqliteTable(
  "idempotency",
  {
    project_id: integer().notNull(),
    consumer_id: text().notNull(),
    key: text().notNull(),
    fingerprint: text().notNull(),
    status: integer().notNull(),
    body: text().notNull(),
    created_at: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.project_id, t.consumer_id, t.key] }),
    index("idempotency_age").on(t.created_at),
  ],
);

export const dedup = sqliteTable(
  "dedup",
  {
    source_id: integer().notNull(),
    hash: bytes().notNull(),
    event_id: integer().notNull(),
    expires_at: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.source_id, t.hash] }), index("dedup_age").on(t.expires_at)],
);

export const audit = sqliteTable(
  "audit",
  {
    id: integer().primaryKey(),
    scope: integer().notNull(),
    actor_kind: text().$type<AuditEntry["actor"]["kind"]>().notNull(),
    actor_id: integer(),
    action: text().notNull(),
    object_kind: text().$type<AuditEntry["object"]["kind"]>().notNull(),
    object_id: text().notNull(),
    changes: text().notNull(),
    consumer_id: text(),
  },
  (t) => [
    index("audit_scope").on(t.scope, t.id),
    index("audit_object").on(t.scope, t.object_id),
    index("audit_consumer").on(t.scope, t.consumer_id).where(sql`consumer_id IS NOT NULL`),
    index("audit_object_shown").on(t.scope, t.object_id).where(sql`changes <> '{}'`),
    index("audit_consumer_from")
      .on(t.scope, sql`changes ->> '$.consumer_id.from'`)
      .where(sql`changes ->> '$.consumer_id.from' IS NOT NULL`),
    index("audit_consumer_to")
      .on(t.scope, sql`changes ->> '$.consumer_id.to'`)
      .where(sql`changes ->> '$.consumer_id.to' IS NOT NULL`),
  ],
);

export const waitingEvent = sqliteTable(
  "waiting_event",
  {
    account_id: integer().notNull(),
    event_id: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.event_id] })],
);

export const planPlace = sqliteTable("plan_place", {
  account_id: integer().primaryKey(),
  taken: integer().notNull(),
  awaited: integer().notNull(),
  events: integer().notNull(),
});

export const removal = sqliteTable(
  "removal",
  {
    event_id: integer().primaryKey(),
    project_id: integer().notNull().default(0),
  },
  (t) => [index("removal_project").on(t.project_id, t.event_id)],
);

export const erasure = sqliteTable(
  "erasure",
  {
    id: integer().primaryKey(),
    project_id: integer().notNull(),
    consumer_id: text().notNull(),
    status: text().$type<"running" | "completed">().notNull(),
    last: integer().notNull(),
    events: integer().notNull().default(0),
    deliveries: integer().notNull().default(0),
    completed_at: integer(),
  },
  (t) => [
    index("erasure_project").on(t.project_id, t.id),
    index("erasure_running").on(t.project_id, t.consumer_id).where(sql`status = 'running'`),
    index("erasure_asked").on(t.project_id, t.consumer_id, t.last),
    index("erasure_next").on(t.project_id).where(sql`status = 'running'`),
  ],
);

export const sourceStat = sqliteTable(
  "source_stat",
  {
    source_id: integer().notNull(),
    hour: integer().notNull(),
    outcome: text().notNull(),
    count: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.source_id, t.hour, t.outcome] })],
);

export const sourceLast = sqliteTable(
  "source_last",
  {
    source_id: integer().notNull(),
    outcome: text().notNull(),
    at: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.source_id, t.outcome] })],
);
