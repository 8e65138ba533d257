/** The audit log: who changed what. */

export const AUDIT_OBJECTS = [
  "account",
  "project",
  "api_key",
  "endpoint",
  "source",
  "event_type",
  "event",
  "delivery",
  "replay",
  "portal_link",
  "consumer",
] as const;
export type AuditObject = (typeof AUDIT_OBJECTS)[number];

export const AUDIT_ACTORS = ["api_key", "portal", "operator"] as const;
type AuditActor = (typeof AUDIT_ACTORS)[number];

/**
 * Fields that are not as they were: `from` null where there was no value before, `to` null where there is
 * none now.
 */
export type AuditChanges = Readonly<Record<string, { from: unknown; to: unknown }>>;

export interface AuditEntry {
  /** Key of the project, or of the account for what concerns all its projects. */
  scope: number;
  /** `id`: the key of the API key or portal link; null for the operator. */
  actor: { kind: AuditActor; id: number | null };
  /** Such as `endpoint.updated`. */
  action: string;
  /** `id`: the public id; the name of an event type or a consumer. */
  object: { kind: AuditObject; id: string };
  changes: AuditChanges;
  /** Whose data it may show, also once the object is gone or another consumer's; null: no consumer's. */
  consumerId: string | null;
}

/** As lists read it: what changed may be large, and is read apart. */
export interface AuditRow extends Omit<AuditEntry, "changes" | "consumerId"> {
  id: number;
}
