import type { AuditChanges, AuditEntry } from "../../core/audit.ts";
import type { Caller } from "../../core/caller.ts";
import { isObject } from "../../core/json/value.ts";
import { limit } from "../../core/limits.ts";
import type { AuditRule } from "./audit-rule.ts";
import { SECRET_FIELDS } from "./idempotency.ts";
import type { Answer } from "./route.ts";

/** What is known of a request when its change is written. */
export interface AuditedRequest {
  caller: Caller | null;
  params: Readonly<Record<string, string>>;
  body: unknown;
}

type Fields = Readonly<Record<string, unknown>>;
type Changes = Record<string, { from: unknown; to: unknown }>;

/** Nobody changes these; they follow from something else, or say what the entry says already. */
const DERIVED = new Set([
  "id",
  "created_at",
  "updated_at",
  "failing_since",
  "hint",
  "counters",
  "last_rejected",
  "pending_verification_token",
]);
const MASK = "***";
/** Stands for a value that an entry has no room for. */
const LEFT_OUT = "…";

/** The entry for a change that a route with this rule has just written. */
export function auditEntry(rule: AuditRule, request: AuditedRequest, answer: Answer): AuditEntry {
  const { caller } = request;
  const note = answer.audited ?? {};
  const scope = caller?.projectId ?? note.scope;
  if (scope === undefined) throw new Error(`${rule.action} does not say whose audit log it stands in`);
  return {
    scope,
    actor: caller === null ? { kind: "operator", id: null } : { kind: caller.kind, id: caller.id },
    action: rule.action,
    object: { kind: rule.object, id: note.objectId ?? objectIdOf(request, answer) },
    changes: changesOf(rule, request, answer),
    consumerId: consumerOf(rule, request, answer),
  };
}

/**
 * Where an object changes hands, the consumer that had it: the change itself names the one that gets it. An
 * erasure's own entry is about nobody's data.
 */
function consumerOf(rule: AuditRule, { caller }: AuditedRequest, { audited, json }: Answer): string | null {
  if (rule.object === "consumer") return null;
  const { before, after = json, consumerId } = audited ?? {};
  const named = [consumerId, fieldsOf(before)["consumer_id"], fieldsOf(after)["consumer_id"]];
  return named.find((name) => typeof name === "string") ?? caller?.consumerId ?? null;
}

function objectIdOf({ params }: AuditedRequest, { json }: Answer): string {
  const { id = params["id"] } = fieldsOf(json);
  if (typeof id !== "string") throw new Error("a change does not say what it changed");
  const tail = id.indexOf("_") + 1;
  // Ids are taken in either case; one object has one spelling here.
  return id.slice(0, tail) + id.slice(tail).toUpperCase();
}

function changesOf(rule: AuditRule, { body }: AuditedRequest, answer: Answer): AuditChanges {
  const { before, after = answer.json } = answer.audited ?? {};
  const sent = fieldsOf(body);
  const was = fieldsOf(before);
  const is = fieldsOf(after);
  const isChanged =
    before === undefined
      ? (name: string) => name in sent
      : (name: string) => !Bun.deepEquals(was[name] ?? null, is[name] ?? null) || isHidden(sent, is, name);
  const names = Object.keys({ ...was, ...is }).filter((name) => !DERIVED.has(name) && isChanged(name));
  const shown = names.map((name) => [name, { from: shownOf(name, was[name]), to: shownOf(name, is[name]) }]);
  const asSent = (rule.fields ?? []).filter((name) => name in sent);
  const kept = asSent.map((name) => [name, { from: null, to: shownOf(name, sent[name]) }]);
  return fitted(Object.fromEntries([...shown, ...kept]) as Changes);
}

/** With the smallest values, as many as an entry has room for; the mark stands for each of the others. */
function fitted(changes: Changes): AuditChanges {
  const values = Object.values(changes).flatMap((change) =>
    (["from", "to"] as const).map((side) => {
      const bytes = Buffer.byteLength(JSON.stringify(change[side]));
      return { bytes, cut: () => (change[side] = LEFT_OUT) };
    }),
  );
  let bytes = 0;
  for (const value of values.toSorted((a, b) => a.bytes - b.bytes)) {
    bytes += value.bytes;
    if (bytes > limit("auditEntryBytesMax")) value.cut();
  }
  return changes;
}

/** A secret that was sent may be another one than before, although both are shown masked. */
function isHidden(sent: Fields, is: Fields, name: string): boolean {
  return name in sent && JSON.stringify(is[name] ?? null).includes(`"${MASK}"`);
}

function shownOf(name: string, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  return SECRET_FIELDS.includes(name) ? MASK : value;
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}
