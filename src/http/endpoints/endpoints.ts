import { Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { Problem } from "../../core/errors.ts";
import { childPointer } from "../../core/json/value.ts";
import type { Endpoint } from "../../core/model.ts";
import { limit } from "../../core/limits.ts";
import { listKinds } from "../../destinations/destinations.ts";
import { changeEndpoint, moveTo, requireLighter } from "./change.ts";
import { findEndpoint, endpointsOf } from "../shared/lookups.ts";
import { endpointCreationRoute } from "./creation.ts";
import { requireSafeDestination } from "./destination.ts";
import { readEndpointChange, readRouting } from "./input.ts";
import { requireOwnCredentials } from "./own-credentials.ts";
import {
  type EndpointChangeBody,
  endpointChangeShape,
  endpointExample,
  endpointOf,
  endpointShape,
  changedEndpointShape,
} from "./shape.ts";
import { endpointStateRoutes } from "./state.ts";
import { warningsPart } from "./filter-warnings.ts";
import { listShape, pageOf, pagingQuery } from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { consumerText, oneOf } from "../shared/shapes.ts";
import { idsShape, readIds } from "../shared/stats-query.ts";

/** Endpoints, for the project's keys and, where they are their consumer's, for portal tokens. */
export function endpointRoutes(
  services: Needs<
    "ids" | "endpoints" | "health" | "index" | "fanouts" | "actors" | "guard" | "sendTrial" | "wallNow"
  >,
): AnyRoute[] {
  return [
    endpointCreationRoute(services),
    listRoute(services),
    readRoute(services),
    changeRoute(services),
    deleteRoute(services),
    ...endpointStateRoutes(services),
  ];
}

function listRoute(services: Needs<"ids" | "endpoints" | "actors">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/endpoints",
    operationId: "listEndpoints",
    tag: "Endpoints",
    summary: "List endpoints",
    description: "Newest first. A portal token sees the endpoints of its consumer.",
    access: "read",
    budget: "management",
    query: Type.Object(
      {
        consumer_id: Type.Optional(consumerText({ description: "Of this consumer only." })),
        status: Type.Optional(oneOf(["active", "paused", "disabled"])),
        kind: Type.Optional(oneOf(listKinds().map(({ kind }) => kind))),
        failing: Type.Optional(
          Type.Boolean({
            description:
              "`true`: those that do not work, failing since some time or disabled. `false`: the others.",
          }),
        ),
        endpoint_ids: Type.Optional(idsShape),
        q: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: limit("searchTextMax"),
            description: "Its id, or text in its description, event types or config, whatever the case.",
          }),
        ),
        ...pagingQuery,
      },
      { additionalProperties: false },
    ),
    answers: { 200: { description: "A page of endpoints.", ...listShape(endpointShape, endpointExample) } },
    handle(context) {
      const { caller, query } = context;
      return pageOf(services, "ep", context, {
        rows: candidatesOf(services, caller, query),
        keep: matcherOf(services, query),
        show: (endpoint) => endpointOf(services, endpoint),
      });
    },
  });
}

interface ListFilter {
  consumer_id?: string;
  status?: string;
  kind?: string;
  failing?: boolean;
  endpoint_ids?: string;
  q?: string;
}

/** Endpoints that the list may hold below a key, newest first: all of its owner, or those that are named. */
function candidatesOf(
  { ids, endpoints }: Needs<"ids" | "endpoints">,
  caller: Caller,
  { consumer_id: consumerId, endpoint_ids: named }: ListFilter,
): (before: number) => Iterable<Endpoint> {
  const all = endpointsOf({ endpoints }, caller, consumerId);
  if (named === undefined) return (before) => all.below(before);
  const keys = new Set(readIds("endpoint_ids", named).map((id) => ids.decode("ep", id) ?? 0));
  const few = [...keys].flatMap((key) => all.get(key) ?? []).sort((a, b) => b.id - a.id);
  return (before) => few.filter(({ id }) => id < before);
}

/** What is asked beside that. */
function matcherOf(services: Needs<"ids" | "actors">, query: ListFilter): (endpoint: Endpoint) => boolean {
  const { status, kind, failing, q } = query;
  const isFailing = ({ id, status: now }: Endpoint) =>
    now === "disabled" || services.actors.failingSince(id) !== null;
  const wanted = q === undefined ? null : { key: services.ids.decode("ep", q), text: q.toLowerCase() };
  return (endpoint) => {
    if (status !== undefined && endpoint.status !== status) return false;
    if (kind !== undefined && endpoint.kind !== kind) return false;
    if (failing !== undefined && isFailing(endpoint) !== failing) return false;
    return wanted === null || wanted.key === endpoint.id || holds(endpoint, wanted.text);
  };
}

/** Of the config what is shown: credentials stand apart from it. */
function holds({ description, eventTypes, config }: Endpoint, text: string): boolean {
  const texts = [description ?? "", ...(eventTypes ?? []), ...Object.values(config).map(String)];
  return texts.some((one) => one.toLowerCase().includes(text));
}

function readRoute(services: Needs<"ids" | "endpoints" | "actors">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/endpoints/:id",
    operationId: "getEndpoint",
    tag: "Endpoints",
    summary: "Read an endpoint",
    access: "read",
    budget: "management",
    answers: { 200: { description: "The endpoint.", schema: endpointShape, example: endpointExample } },
    handle: ({ caller, params }) => ({
      status: 200,
      json: endpointOf(services, findEndpoint(services, caller, params.id)),
    }),
  });
}

/** What the grant `manage` may change; the rest is for the project's own keys: 403. */
const PORTAL_FIELDS = new Set([
  "url",
  "config",
  "description",
  "event_types",
  "filter",
  "transformations",
  "headers",
]);

const CHANGE_DESCRIPTION =
  "A merge patch (RFC 7396): null resets a field to its default; `filter`, `transformations`, `retry`, `headers` and `config` " +
  "are replaced whole. Takes effect at the next attempt. Adding `v1a` makes a key and answers its `public_key`. A portal token " +
  `may change ${[...PORTAL_FIELDS].map((name) => `\`${name}\``).join(", ")}; any other field is answered 403. Where it changes the host of an ` +
  "address, the credentials and headers that are stored must be given again, or left out, in the same request: `***` is 422 then, and so is a " +
  "body without `headers` where there are some. Where it changes anything else of `url`, `config` or `headers`, that holds for the credentials.";

const CHANGED = {
  description: "The endpoint as it now is.",
  schema: changedEndpointShape,
  example: endpointExample,
};

function changeRoute(
  services: Needs<"ids" | "endpoints" | "health" | "index" | "fanouts" | "actors" | "guard">,
): AnyRoute {
  return route({
    method: "PATCH",
    path: "/v1/endpoints/:id",
    operationId: "updateEndpoint",
    tag: "Endpoints",
    summary: "Change an endpoint",
    description: CHANGE_DESCRIPTION,
    access: "manage",
    budget: "management",
    audit: { action: "endpoint.updated", object: "endpoint" },
    body: endpointChangeShape,
    bodyExample: { event_types: ["invoice.paid"], description: null },
    answers: { 200: CHANGED },
    refuses: {
      conflict:
        "It had deliveries, or deliveries of an event that goes to many are still to be written: its consumer stays.",
      unsafe_destination: "The address is not allowed.",
    },
    async handle(context) {
      const { caller, params, body } = context;
      const endpoint = findEndpoint(services, caller, params.id);
      requirePortalFields(caller, body);
      const routing = await readRouting(body, context.turns);
      const preview = { ...endpoint, ...readEndpointChange(body, routing, endpoint) };
      await requireSafeDestination(services, body, preview);
      requireOwnCredentials(caller, body, endpoint, preview);
      return changeEndpoint(
        services,
        context,
        endpoint.id,
        (current) => {
          const change = readEndpointChange(body, routing, current);
          requireOwnCredentials(caller, body, current, { ...current, ...change });
          requireLighter(services, current, { ...current, ...change });
          const { consumerId = current.consumerId } = change;
          return { ...change, ...moveTo(services, current, consumerId) };
        },
        (made) => ({ status: 200, json: { ...endpointOf(services, made), ...warningsPart(body.filter) } }),
      );
    },
  });
}

function requirePortalFields(caller: Caller, body: EndpointChangeBody): void {
  if (caller.kind !== "portal") return;
  const names = Object.keys(body).filter((name) => !PORTAL_FIELDS.has(name));
  if (names.length === 0) return;
  const errors = names.map((name) => ({
    pointer: childPointer("", name),
    detail: "A portal link may not change this field.",
  }));
  throw new Problem("forbidden", "A portal link may not change this.", { errors });
}

function deleteRoute(services: Needs<"ids" | "endpoints" | "health" | "actors">): AnyRoute {
  return route({
    method: "DELETE",
    path: "/v1/endpoints/:id",
    operationId: "deleteEndpoint",
    tag: "Endpoints",
    summary: "Delete an endpoint",
    description:
      "What is pending is cancelled; an attempt that is under way may still arrive, and its delivery then counts as delivered. Events, " +
      "deliveries and attempts stay readable.",
    access: "create",
    budget: "management",
    audit: { action: "endpoint.deleted", object: "endpoint" },
    answers: { 204: "It is deleted." },
    handle(context) {
      const endpoint = findEndpoint(services, context.caller, context.params.id);
      return changeEndpoint(
        services,
        context,
        endpoint.id,
        () => ({ status: "deleted" }),
        () => ({ status: 204 }),
      );
    },
  });
}
