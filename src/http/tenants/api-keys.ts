import { type Static, Type } from "@sinclair/typebox";
import { invalid, notFound } from "../../core/errors.ts";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import type { Project } from "../../core/model.ts";
import { parseRfc3339 } from "../../core/rfc3339.ts";
import type { ApiKey } from "../../store/resources/tenants.ts";
import { MOVED, requireResident } from "./account-shape.ts";
import { commitChange } from "../framework/commit.ts";
import { requireRoomFor } from "../shared/room.ts";
import { listShape, pageOf, pagingQuery } from "../shared/paging.ts";
import { type Answer, type AnyRoute, type RequestContext, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nameText, nullable, oneOf, shownOnce, timeInput, timeShape, timeText } from "../shared/shapes.ts";

/** The keys of the caller's project, and the operator's way to a new one. */
export function apiKeyRoutes(services: Needs<"ids" | "tenants" | "wallNow">): AnyRoute[] {
  return [createRoute(services), listRoute(services), deleteRoute(services), createForProject(services)];
}

const SCOPES = ["full", "publish", "read"] as const;
const scopesShape = Type.Array(oneOf(SCOPES, { $id: "Scope" }), {
  minItems: 1,
  maxItems: SCOPES.length,
  uniqueItems: true,
  description: "`full`: everything. `publish`: POST /v1/events only. `read`: GET only.",
});

const answeredFields = {
  id: Type.String(),
  name: Type.String(),
  prefix: Type.String({ description: "How the key begins, to tell it from others." }),
  scopes: scopesShape,
  expires_at: nullable(timeShape),
  last_used_at: nullable(timeShape),
  created_at: timeShape,
};

const keyShape = Type.Object(answeredFields, { $id: "ApiKey" });
const createdKeyShape = Type.Object(
  { ...answeredFields, key: shownOnce("The key itself.") },
  { $id: "CreatedApiKey" },
);

const keyExample = {
  id: "key_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  name: "Publisher",
  prefix: "sp_live_00kY3t",
  scopes: ["publish"],
  expires_at: null,
  last_used_at: "2026-11-20T09:00:00.000Z",
  created_at: "2026-11-20T08:00:00.000Z",
};

const newKeyShape = Type.Object(
  {
    name: nameText(limit("apiKeyNameMax")),
    scopes: Type.Optional(scopesShape),
    expires_at: Type.Optional(
      nullable(timeInput({ examples: ["2030-01-01T00:00:00Z"] }), "In the future. Default: never."),
    ),
  },
  { additionalProperties: false, $id: "NewApiKey" },
);

/** What the two ways to a new key have in common. */
const CREATION = {
  method: "POST",
  audit: { action: "api_key.created", object: "api_key" },
  body: newKeyShape,
  bodyExample: { name: "Publisher", scopes: ["publish"] },
  answers: {
    201: {
      description: "The key, shown here only.",
      schema: createdKeyShape,
      example: { ...keyExample, last_used_at: null, key: "sp_live_00kY3t…" },
    },
  },
} as const;

interface KeyRequest extends Pick<RequestContext, "commit"> {
  readonly body: Static<typeof newKeyShape>;
}

function createRoute(services: Needs<"ids" | "tenants" | "wallNow">): AnyRoute {
  return route({
    ...CREATION,
    path: "/v1/api-keys",
    operationId: "createApiKey",
    tag: "API keys",
    summary: "Create an API key",
    access: "owner",
    budget: "management",
    handle(context) {
      const { projectId } = context.caller;
      const room = () => requireRoomFor("apiKeysPerProjectMax", services.tenants.keysOf(projectId));
      return createKey(services, context, services.tenants.project(projectId), room);
    },
  });
}

function createForProject(services: Needs<"ids" | "tenants" | "wallNow">): AnyRoute {
  return route({
    ...CREATION,
    path: "/v1/operator/projects/:id/api-keys",
    operationId: "createProjectApiKey",
    tag: "Operator",
    summary: "Create an API key for a project",
    description:
      "For a customer who has lost every key of it. What keys it has stay valid; whoever holds a full one can revoke them. " +
      "The project's audit log tells of it.",
    access: "operator",
    budget: "none",
    refuses: { conflict: MOVED },
    handle(context) {
      const id = services.ids.decode("proj", context.params.id);
      const project = id === null ? undefined : services.tenants.project(id);
      const requireHome = () => project && requireResident(services, project.accountId);
      requireHome();
      return createKey(services, context, project, requireHome);
    },
  });
}

/** Throws 404 where there is no such project. `requireRoom` is asked inside the write. */
function createKey(
  services: Needs<"ids" | "tenants" | "wallNow">,
  context: KeyRequest,
  project: Project | undefined,
  requireRoom: () => void,
): Promise<Answer> {
  const { tenants } = services;
  const { name, scopes = ["full"], expires_at: expiry = null } = context.body;
  const expiresAt = readExpiry(expiry, services.wallNow());
  if (project === undefined) throw notFound("project");
  return commitChange(context, {
    write() {
      requireRoom();
      return tenants.insertKey(project, { name, scopes, expiresAt });
    },
    answer: ({ key, token }) => ({
      status: 201,
      json: { ...keyOf(services, key), key: token },
      audited: { scope: project.id },
    }),
    remember: ({ key }) => tenants.rememberKey(key),
  });
}

function readExpiry(text: string | null, now: number): number | null {
  if (text === null) return null;
  const at = parseRfc3339(text);
  if (at !== null && at > now) return at;
  throw invalid(
    "/expires_at",
    "Expected a time in the future as RFC 3339 has it, such as 2030-01-01T00:00:00Z.",
  );
}

function listRoute(services: Needs<"ids" | "tenants">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/api-keys",
    operationId: "listApiKeys",
    tag: "API keys",
    summary: "List API keys",
    description: "Newest first, without the keys themselves.",
    access: "owner_read",
    budget: "management",
    query: Type.Object(pagingQuery, { additionalProperties: false }),
    answers: { 200: { description: "A page of keys.", ...listShape(keyShape, keyExample) } },
    handle(context) {
      const { caller } = context;
      const keys = services.tenants.keysOf(caller.projectId);
      return pageOf(services, "key", context, {
        rows: (before) => keys.below(before),
        show: (key) => keyOf(services, key),
      });
    },
  });
}

function deleteRoute(services: Needs<"ids" | "tenants">): AnyRoute {
  return route({
    method: "DELETE",
    path: "/v1/api-keys/:id",
    operationId: "deleteApiKey",
    tag: "API keys",
    summary: "Revoke an API key",
    description: "At once; a key may revoke itself.",
    access: "owner",
    budget: "management",
    audit: { action: "api_key.revoked", object: "api_key", isNeverRefused: true },
    answers: { 204: "It is revoked." },
    handle(context) {
      const { caller, params } = context;
      const { tenants } = services;
      const id = services.ids.decode("key", params.id);
      const key = id === null ? undefined : tenants.keysOf(caller.projectId).get(id);
      if (key === undefined) throw notFound("API key");
      const audited = { before: { name: key.name, scopes: key.scopes }, after: null };
      return commitChange(context, {
        write() {
          if (!tenants.deleteKey(key)) throw notFound("API key");
        },
        answer: () => ({ status: 204, audited }),
        remember: () => tenants.forgetKey(key),
      });
    },
  });
}

function keyOf({ ids }: Needs<"ids">, key: ApiKey) {
  return {
    id: ids.encode("key", key.id),
    name: key.name,
    prefix: key.prefix,
    scopes: key.scopes,
    expires_at: timeText(key.expiresAt),
    last_used_at: timeText(key.lastUsedAt),
    created_at: timeText(keyTime(key.id)),
  };
}
