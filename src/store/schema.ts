import { sql } from "drizzle-orm";
import { blob, index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Scope } from "../core/caller.ts";
import type {
  DisabledReason,
  Durability,
  Endpoint,
  EndpointStatus,
  EventType,
  MovedTo,
  Project,
  Source,
} from "../core/model.ts";

/**
 * The tables that management calls touch, and those that are read into memory at the start; drizzle reads and
 * writes them. The others stand in src/store/log-schema.ts. The migrations in drizzle/ make all of them, and
 * a test holds the two against each other.
 */

const json = <T>(name: string) => text(name, { mode: "json" }).$type<T>();
const sealed = (name: string) => blob(name, { mode: "buffer" });

export const account = sqliteTable("account", {
  id: integer().primaryKey(),
  name: text().notNull(),
  plan: text().notNull(),
  suspended: integer({ mode: "boolean" }).notNull().default(false),
  openedAt: integer("opened_at").notNull().default(0),
  movedTo: json<MovedTo>("moved_to"),
});

export const project = sqliteTable(
  "project",
  {
    id: integer().primaryKey(),
    accountId: integer("account_id")
      .notNull()
      .references(() => account.id),
    name: text().notNull(),
    mode: text().$type<Project["mode"]>().notNull(),
    branding: json<Project["branding"]>("branding").notNull().default({}),
    portalOrigins: json<string[]>("portal_origins").notNull().default([]),
    unknownEventTypes: text("unknown_event_types")
      .$type<Project["unknownEventTypes"]>()
      .notNull()
      .default("allow"),
  },
  (t) => [index("project_account").on(t.accountId)],
);

export const apiKey = sqliteTable(
  "api_key",
  {
    id: integer().primaryKey(),
    projectId: integer("project_id")
      .notNull()
      .references(() => project.id),
    hash: sealed("hash").notNull().unique(),
    prefix: text().notNull(),
    name: text().notNull(),
    scopes: json<Scope[]>("scopes").notNull(),
    expiresAt: integer("expires_at"),
    lastUsedAt: integer("last_used_at"),
  },
  (t) => [index("api_key_project").on(t.projectId)],
);

export const endpoint = sqliteTable(
  "endpoint",
  {
    id: integer().primaryKey(),
    projectId: integer("project_id")
      .notNull()
      .references(() => project.id),
    consumerId: text("consumer_id"),
    kind: text().notNull(),
    config: json<Record<string, unknown>>("config").notNull(),
    description: text(),
    eventTypes: json<readonly string[]>("event_types"),
    filter: json<unknown>("filter"),
    transformations: json<unknown>("transformations"),
    signatureVersions: json<Endpoint["signatureVersions"]>("signature_versions").notNull(),
    retry: json<{ schedule: readonly number[] }>("retry"),
    timeoutSeconds: integer("timeout_seconds").notNull(),
    rateLimitPerSecond: integer("rate_limit_per_second"),
    maxConcurrency: integer("max_concurrency").notNull(),
    ordering: text().$type<"none" | "fifo">().notNull(),
    metadata: json<Readonly<Record<string, unknown>>>("metadata").notNull(),
    status: text().$type<EndpointStatus>().notNull(),
    disabledReason: text("disabled_reason").$type<DisabledReason>(),
    updatedAt: integer("updated_at").notNull(),
    sealed: sealed("sealed").notNull(),
    openedAt: integer("opened_at").notNull().default(0),
  },
  (t) => [
    index("endpoint_consumer").on(t.projectId, t.consumerId).where(sql`status <> 'deleted'`),
    index("endpoint_deleted").on(t.projectId, t.consumerId).where(sql`status = 'deleted'`),
  ],
);

export const source = sqliteTable(
  "source",
  {
    id: integer().primaryKey(),
    projectId: integer("project_id")
      .notNull()
      .references(() => project.id),
    consumerId: text("consumer_id"),
    provider: text().notNull(),
    name: text().notNull(),
    status: text().$type<Source["status"]>().notNull(),
    config: json<Readonly<Record<string, unknown>>>("config").notNull(),
    rateLimitPerSecond: integer("rate_limit_per_second"),
    updatedAt: integer("updated_at").notNull(),
    sealed: sealed("sealed").notNull(),
    durability: text().$type<Durability>(),
  },
  (t) => [
    index("source_consumer").on(t.projectId, t.consumerId).where(sql`status <> 'deleted'`),
    index("source_deleted").on(t.projectId, t.consumerId).where(sql`status = 'deleted'`),
  ],
);

export const eventType = sqliteTable(
  "event_type",
  {
    id: integer().primaryKey(),
    projectId: integer("project_id")
      .notNull()
      .references(() => project.id),
    name: text().notNull(),
    description: text(),
    schema: json<EventType["schema"]>("schema"),
    example: json<EventType["example"]>("example"),
    group: text("group_name"),
    archived: integer({ mode: "boolean" }).notNull().default(false),
    updatedAt: integer("updated_at").notNull(),
  },
  (t) => [uniqueIndex("event_type_name").on(t.projectId, t.name)],
);

export const portalLink = sqliteTable(
  "portal_link",
  {
    id: integer().primaryKey(),
    projectId: integer("project_id")
      .notNull()
      .references(() => project.id),
    hash: sealed("hash").notNull().unique(),
    consumerId: text("consumer_id"),
    manage: integer("may_manage", { mode: "boolean" }).notNull(),
    create: integer("may_create", { mode: "boolean" }).notNull(),
    expiresAt: integer("expires_at").notNull(),
  },
  (t) => [
    index("portal_link_project").on(t.projectId),
    index("portal_link_consumer").on(t.projectId, t.consumerId),
    index("portal_link_expiry").on(t.expiresAt),
  ],
);

export const projectLogo = sqliteTable("project_logo", {
  projectId: integer("project_id")
    .primaryKey()
    .references(() => project.id),
  contentType: text("content_type").notNull(),
  version: text().notNull(),
  bytes: sealed("bytes").notNull(),
});

export const replay = sqliteTable(
  "replay",
  {
    id: integer().primaryKey(),
    projectId: integer("project_id").notNull(),
    consumerId: text("consumer_id"),
    filter: json<Record<string, unknown>>("filter").notNull(),
    status: text().$type<"running" | "completed" | "cancelled">().notNull(),
    matched: integer().notNull(),
    replayed: integer().notNull().default(0),
    position: integer().notNull(),
    last: integer().notNull(),
    completedAt: integer("completed_at"),
  },
  (t) => [
    index("replay_project").on(t.projectId, t.id),
    index("replay_running").on(t.projectId, t.consumerId).where(sql`status = 'running'`),
    index("replay_consumer").on(t.projectId, t.consumerId).where(sql`consumer_id IS NOT NULL`),
    index("replay_for_consumer")
      .on(t.projectId, sql`filter ->> 'consumerId'`)
      .where(sql`filter ->> 'consumerId' IS NOT NULL`),
    index("replay_for_endpoint")
      .on(t.projectId, sql`filter ->> 'endpointConsumerId'`)
      .where(sql`filter ->> 'endpointConsumerId' IS NOT NULL`),
  ],
);

export const replayList = sqliteTable("replay_list", {
  id: integer().primaryKey(),
  endpoints: json<number[]>("endpoints").notNull(),
  deliveries: json<number[]>("deliveries").notNull(),
});
