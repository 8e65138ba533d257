import { type Static, Type } from "@sinclair/typebox";
import { AUDIT_ACTORS, AUDIT_OBJECTS, type AuditRow } from "../../core/audit.ts";
import type { Caller } from "../../core/caller.ts";
import { invalid } from "../../core/errors.ts";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import type { AuditFilter } from "../../store/resources/audit.ts";
import {
  listShape,
  pageAsk,
  pagingQuery,
  parseTime,
  readFilterId,
  SHORT_PAGES,
  timeParameter,
  writePage,
} from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { idText, nameText, nullable, oneOf, shownAs, timeShape, timeText } from "../shared/shapes.ts";

/** Who changed what. */
export function auditRoutes(services: Needs<"ids" | "audit">): AnyRoute[] {
  return [listRoute(services)];
}

/** As long as the longest id that an object has: a consumer's. */
const OBJECT_ID_MAX = limit("consumerIdLengthMax");
const ACTION = /^[a-z_]+\.([a-z_]+|\*)$/;

const entryShape = Type.Object(
  {
    id: Type.String(),
    at: timeShape,
    actor: Type.Object({
      kind: oneOf(AUDIT_ACTORS),
      id: nullable(Type.String(), "Of the API key or the portal link; null for the operator."),
    }),
    action: Type.String({ description: "Such as `endpoint.updated`." }),
    object: Type.Object({
      kind: oneOf(AUDIT_OBJECTS),
      id: Type.String({ description: "Its id; the name of an event type, the id that you gave a consumer." }),
    }),
    changes: Type.Record(Type.String(), Type.Object({ from: Type.Unknown(), to: Type.Unknown() }), {
      description:
        "Fields that are not as they were, as the API shows them: secrets and credentials are `***`, and `…` stands for a value that " +
        `does not fit: an entry keeps the smallest, ${limit("auditEntryBytesMax")} bytes together. \`from\` is null where there was no value before, \`to\` where there is none now.`,
    }),
  },
  { $id: "AuditEntry" },
);

const entryExample: Static<typeof entryShape> = {
  id: "aud_01KAHM9Q7W00B5C1D7E9F3G6HJ",
  at: "2026-11-20T09:00:00.000Z",
  actor: { kind: "api_key", id: "key_01KAHM8ZZZ00K1M2N3P4Q5R6S7" },
  action: "endpoint.updated",
  object: { kind: "endpoint", id: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7" },
  changes: { event_types: { from: null, to: ["invoice.*"] } },
};

const ACTION_TEXT = { description: "A name, or `endpoint.*` for all of an object's kind." };

const listQuery = Type.Object(
  {
    ...pagingQuery,
    action: Type.Optional(
      shownAs(Type.String(ACTION_TEXT), Type.String({ pattern: ACTION.source, ...ACTION_TEXT })),
    ),
    actor_kind: Type.Optional(oneOf(AUDIT_ACTORS)),
    actor_id: Type.Optional(idText(["key", "plk"], { description: "Of an API key or a portal link." })),
    object_kind: Type.Optional(oneOf(AUDIT_OBJECTS)),
    object_id: Type.Optional(nameText(OBJECT_ID_MAX)),
    since: timeParameter("Changed at this time or later."),
    until: timeParameter("Changed before this time."),
  },
  { additionalProperties: false },
);

function listRoute(services: Needs<"ids" | "audit">): AnyRoute {
  const days = limit("auditKeptMs") / 86_400_000;
  return route({
    method: "GET",
    path: "/v1/audit",
    operationId: "listAudit",
    tag: "Audit",
    summary: "Read who changed what",
    description:
      "Newest first: every change of the project through this API, and what the operator changed of its account, each written " +
      `together with the change itself, and kept for ${days} days. Publishing and inbound requests are no changes. Filters are ANDed. ` +
      "What a caller's changes take here is bounded: once they have used up their room, the next is refused with 429 before it is made, until some has come back. Revoking a key or a link never is. " +
      SHORT_PAGES,
    access: "owner_read",
    budget: "management",
    query: listQuery,
    answers: { 200: { description: "A page of changes.", ...listShape(entryShape, entryExample) } },
    async handle(context) {
      const filter = readFilter(services, context.caller, context.query);
      const found = await services.audit.page(filter, pageAsk(services, "aud", context));
      return writePage(services, "aud", context, { ...found, show: (row) => entryOf(services, row) });
    },
  });
}

function readFilter(services: Needs<"ids">, caller: Caller, query: Static<typeof listQuery>): AuditFilter {
  const { action = null, since, until } = query;
  if (action !== null && !ACTION.test(action))
    throw invalid("action", "Expected an action such as endpoint.updated, or endpoint.* for all of a kind.");
  return {
    scopes: [caller.projectId, caller.accountId],
    action: action?.endsWith(".*") ? action.slice(0, -1) : action,
    actorKind: query.actor_kind ?? null,
    actorId: readActor(services, query.actor_id),
    objectKind: query.object_kind ?? null,
    objectId: query.object_id === undefined ? null : services.ids.spelled(query.object_id),
    since: since === undefined ? null : parseTime("since", since),
    until: until === undefined ? null : parseTime("until", until),
  };
}

function readActor(services: Needs<"ids">, id: string | undefined): number | null {
  const kind = id?.startsWith("plk_") ? "plk" : "key";
  return readFilterId(services, kind, "actor_id", id);
}

const ACTOR_IDS = { api_key: "key", portal: "plk", operator: "key" } as const;

function entryOf({ ids, audit }: Needs<"ids" | "audit">, row: AuditRow): Static<typeof entryShape> {
  const { id, actor, action, object } = row;
  const actorId = actor.id === null ? null : ids.encode(ACTOR_IDS[actor.kind], actor.id);
  return {
    id: ids.encode("aud", id),
    at: timeText(keyTime(id)),
    actor: { kind: actor.kind, id: actorId },
    action,
    object,
    changes: audit.changesOf(row),
  };
}
