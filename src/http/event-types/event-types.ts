import { type Static, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { EventType } from "../../core/model.ts";
import { eventTypeWeight, type NewEventType, WEIGHED_FIELDS } from "../../store/resources/event-types.ts";
import { commitChange } from "../framework/commit.ts";
import { inferenceRoute } from "./inference.ts";
import { readEventTypeChange, readNewEventType } from "./input.ts";
import {
  eventTypeChangeShape,
  eventTypeExample,
  eventTypeOf,
  eventTypeShape,
  newEventTypeShape,
} from "./shape.ts";
import { requireRoomFor, requireWeight } from "../shared/room.ts";
import { listShape, pageOf, pagingQuery } from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nameText } from "../shared/shapes.ts";

/** Event types: changed with the project's keys, read by portal tokens too. */
export function eventTypeRoutes(
  services: Needs<"ids" | "eventTypes" | "events" | "index" | "wallNow">,
): AnyRoute[] {
  return [
    createRoute(services),
    listRoute(services),
    readRoute(services),
    changeRoute(services),
    deleteRoute(services),
    inferenceRoute(services),
  ];
}

function createRoute(services: Needs<"eventTypes" | "wallNow">): AnyRoute {
  const { eventTypes } = services;
  return route({
    method: "POST",
    path: "/v1/event-types",
    operationId: "createEventType",
    tag: "Event types",
    summary: "Describe an event type",
    description:
      "With a schema, events of this type are published only where `data` satisfies it; what comes in by a source is not held to it.",
    access: "owner",
    budget: "management",
    audit: { action: "event_type.created", object: "event_type" },
    body: newEventTypeShape,
    bodyExample: {
      name: eventTypeExample.name,
      group: eventTypeExample.group,
      schema: eventTypeExample.schema,
      example: eventTypeExample.example,
    },
    answers: {
      201: { description: "The type.", schema: eventTypeShape, example: eventTypeExample },
    },
    refuses: { conflict: "The project has a type of this name." },
    async handle(context) {
      const { caller, body, turns } = context;
      // To compile a schema takes as long as to parse a large body.
      if (body.schema) await turns.ownTurn();
      const fields = readNewEventType(body, caller.projectId, services.wallNow());
      return commitChange(context, {
        write() {
          requireRoomFor("eventTypesPerProjectMax", eventTypes.ofProject(caller.projectId), "/name");
          requireWeightOf(services, fields, null);
          const made = eventTypes.insert(fields);
          if (made === null) throw new Problem("conflict", "There is an event type of this name.");
          return made;
        },
        answer: (made) => ({ status: 201, json: eventTypeOf(made), audited: { objectId: made.name } }),
        remember: (made) => eventTypes.remember(made),
      });
    },
  });
}

/** Inside a write: throws 422 at the field that added most, where the project's types weigh too much. */
function requireWeightOf(
  { eventTypes }: Needs<"eventTypes">,
  made: NewEventType,
  before: EventType | null,
): void {
  const addedBy = (...fields: (typeof WEIGHED_FIELDS)[number][]) =>
    eventTypeWeight(made, fields) - (before === null ? 0 : eventTypeWeight(before, fields));
  const [heaviest] = WEIGHED_FIELDS.toSorted((one, other) => addedBy(other) - addedBy(one));
  const held = eventTypes.ofProject(made.projectId);
  requireWeight("eventTypesOfProjectBytesMax", held, addedBy(...WEIGHED_FIELDS), `/${heaviest}`);
}

const listQuery = Type.Object(
  {
    group: Type.Optional(nameText(limit("nameLengthMax"), { description: "Of this group only." })),
    archived: Type.Optional(Type.Boolean({ description: "Whether they are archived; both unless given." })),
    ...pagingQuery,
  },
  { additionalProperties: false },
);

function listRoute(services: Needs<"ids" | "eventTypes">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/event-types",
    operationId: "listEventTypes",
    tag: "Event types",
    summary: "List event types",
    description: "Newest first.",
    access: "read",
    budget: "management",
    query: listQuery,
    answers: {
      200: { description: "A page of event types.", ...listShape(eventTypeShape, eventTypeExample) },
    },
    handle(context) {
      const { caller, query } = context;
      const types = services.eventTypes.ofProject(caller.projectId);
      return pageOf(services, "typ", context, {
        rows: (before) => types.below(before),
        keep: (type) => matches(type, query),
        show: eventTypeOf,
      });
    },
  });
}

function matches(type: EventType, { group, archived }: Static<typeof listQuery>): boolean {
  if (group !== undefined && type.group !== group) return false;
  return archived === undefined || type.archived === archived;
}

function readRoute(services: Needs<"eventTypes">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/event-types/:name",
    operationId: "getEventType",
    tag: "Event types",
    summary: "Read an event type",
    access: "read",
    budget: "management",
    answers: { 200: { description: "The type.", schema: eventTypeShape, example: eventTypeExample } },
    handle: ({ caller, params }) => ({
      status: 200,
      json: eventTypeOf(findEventType(services, caller, params.name)),
    }),
  });
}

/** Throws 404 for a name that the caller's project has not described. */
function findEventType({ eventTypes }: Needs<"eventTypes">, caller: Caller, name: string): EventType {
  const type = eventTypes.find(caller.projectId, name);
  if (type === undefined) throw notFound("event type");
  return type;
}

function changeRoute(services: Needs<"eventTypes">): AnyRoute {
  const { eventTypes } = services;
  return route({
    method: "PATCH",
    path: "/v1/event-types/:name",
    operationId: "updateEventType",
    tag: "Event types",
    summary: "Change an event type",
    description:
      "Null resets a field; `schema` and `example` are replaced whole. The schema holds from the next publish on; what is in " +
      "the log stays.",
    access: "owner",
    budget: "management",
    audit: { action: "event_type.updated", object: "event_type" },
    body: eventTypeChangeShape,
    bodyExample: { archived: true },
    answers: {
      200: { description: "The type as it now is.", schema: eventTypeShape, example: eventTypeExample },
    },
    async handle(context) {
      const { caller, params, body, turns } = context;
      // An example is held to the schema that is stored, which is compiled for that.
      if (body.schema || body.example) await turns.ownTurn();
      const type = findEventType(services, caller, params.name);
      // Refused before the write, so that a refusal costs its neighbours in the transaction nothing.
      const changeOf = readEventTypeChange(body, type);
      return commitChange(context, {
        write() {
          let before: unknown;
          const made = eventTypes.update(caller.projectId, type.name, (current) => {
            before = eventTypeOf(current);
            const change = changeOf(current);
            requireWeightOf(services, { ...current, ...change }, current);
            return change;
          });
          if (made === null) throw notFound("event type");
          return { made, before };
        },
        answer: ({ made, before }) => ({
          status: 200,
          json: eventTypeOf(made),
          audited: { objectId: made.name, before },
        }),
        remember: ({ made }) => eventTypes.remember(made),
      });
    },
  });
}

function deleteRoute(services: Needs<"eventTypes">): AnyRoute {
  const { eventTypes } = services;
  return route({
    method: "DELETE",
    path: "/v1/event-types/:name",
    operationId: "deleteEventType",
    tag: "Event types",
    summary: "Delete an event type",
    description:
      "Its events stay, and may still be published, unless the project's `unknown_event_types` is `reject`.",
    access: "owner",
    budget: "management",
    audit: { action: "event_type.deleted", object: "event_type" },
    answers: { 204: "It is deleted." },
    async handle(context) {
      const { caller, params } = context;
      const { name } = findEventType(services, caller, params.name);
      return commitChange(context, {
        write() {
          const deleted = eventTypes.delete(caller.projectId, name);
          if (deleted === null) throw notFound("event type");
          return deleted;
        },
        answer: (deleted) => ({
          status: 204,
          audited: { objectId: deleted.name, before: eventTypeOf(deleted), after: null },
        }),
        remember: (deleted) => eventTypes.forget(deleted),
      });
    },
  });
}
