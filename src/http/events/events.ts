import { type Static, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { limit } from "../../core/limits.ts";
import { type Delivery, DELIVERY_STATUS, type Event } from "../../core/model.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { EventFilter } from "../../store/log/event-list.ts";
import { LOOKS_PER_ENTRY } from "../../store/page.ts";
import {
  eventExample,
  eventOf,
  eventShape,
  eventText,
  eventWithDataExample,
  eventWithDataShape,
} from "./shape.ts";
import { consumerFilter, findEvent, visibleEndpoints, withData } from "../shared/lookups.ts";
import {
  searchShape,
  pageAsk,
  pagingQuery,
  parseTime,
  readFilterId,
  requirePattern,
  SHORT_PAGES,
  timeParameter,
  writeCursor,
  writePage,
} from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { consumerText, idText, nameText, oneOf, typePatternText } from "../shared/shapes.ts";
import { timelineCursor, timelineExample, timelineOf, timelineShape } from "./timeline.ts";

/** The event log. */
export function eventsRoutes(
  services: Needs<
    | "ids"
    | "endpoints"
    | "events"
    | "deliveries"
    | "eventDeliveries"
    | "attempts"
    | "notes"
    | "eventList"
    | "actors"
  >,
): AnyRoute[] {
  return [listEvents(services), readEvent(services), readTimeline(services)];
}

const NAMED_MAX = limit("filteredNamedMax").toLocaleString("en");
/** More deliveries than that are read by the list of deliveries. */
const DELIVERIES_SHOWN_MAX = 1000;

const listQuery = Type.Object(
  {
    ...pagingQuery,
    type: Type.Optional(typePatternText({ description: "A name, `invoice.*` (any depth below), or `*`." })),
    consumer_id: Type.Optional(consumerText()),
    source_id: Type.Optional(idText("src")),
    endpoint_id: Type.Optional(
      idText("ep", {
        description: "Events with a delivery to this endpoint, in the order of those deliveries.",
      }),
    ),
    external_id: Type.Optional(nameText(limit("externalIdLengthMax"))),
    status: Type.Optional(oneOf(DELIVERY_STATUS, { description: "Events with a delivery in this state." })),
    matched: Type.Optional(Type.Boolean({ description: "Whether it has a delivery." })),
    since: timeParameter("Accepted at this time or later."),
    until: timeParameter("Accepted before this time."),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limit("searchTextMax"),
        description: "Text that stands in `data`, in upper or lower case.",
      }),
    ),
  },
  { additionalProperties: false },
);

function listEvents(services: Needs<"ids" | "endpoints" | "eventList" | "eventDeliveries">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/events",
    operationId: "listEvents",
    tag: "Events",
    summary: "List events",
    description:
      `Newest first. Filters are ANDed. ${SHORT_PAGES} By a portal token an event is looked for at each endpoint of the ` +
      `consumer, for a filter and for its counts; ${LOOKS_PER_ENTRY} of these looks are an entry.`,
    access: "read",
    budget: "management",
    query: listQuery,
    answers: { 200: { description: "A page of events.", ...searchShape(eventShape, eventExample) } },
    async handle(context) {
      const { caller, query, turns } = context;
      const filter = readFilter(services, caller, query);
      const found = await services.eventList.page(filter, pageAsk(services, "evt", context));
      const show = async (event: Event) =>
        eventOf(services, caller, event, await countOf(services, event, filter.visible, turns));
      return writePage(services, "evt", context, { ...found, isSearch: filter.q !== null, show });
    },
  });
}

function readFilter(
  services: Needs<"ids" | "endpoints">,
  caller: Caller,
  query: Static<typeof listQuery>,
): EventFilter {
  if (query.type !== undefined) requirePattern("type", query.type);
  return {
    projectId: caller.projectId,
    type: query.type ?? null,
    consumerId: consumerFilter(caller, query.consumer_id),
    sourceId: readFilterId(services, "src", "source_id", query.source_id),
    endpointId: readFilterId(services, "ep", "endpoint_id", query.endpoint_id),
    externalId: query.external_id ?? null,
    status: query.status ?? null,
    matched: query.matched ?? null,
    since: query.since === undefined ? null : parseTime("since", query.since),
    until: query.until === undefined ? null : parseTime("until", query.until),
    q: query.q ?? null,
    visible: visibleEndpoints(services, caller),
  };
}

/** The deliveries of an event that the caller sees. */
function countOf(
  { eventDeliveries }: Needs<"eventDeliveries">,
  { id, deliveryCount }: Event,
  visible: ReadonlySet<number> | null,
  turns: Turns,
): number | Promise<number> {
  if (visible === null) return deliveryCount;
  return eventDeliveries.count(id, turns, { visible });
}

/** The first ones of them, as many as an event shows. */
async function shownOf(
  { deliveries, eventDeliveries }: Needs<"deliveries" | "eventDeliveries">,
  { id }: Event,
  visible: ReadonlySet<number> | null,
  turns: Turns,
): Promise<Delivery[]> {
  const shown: Delivery[] = [];
  for await (const slice of eventDeliveries.slices(id, turns, visible)) {
    shown.push(...deliveries.ofEvent(id, slice));
    if (shown.length >= DELIVERIES_SHOWN_MAX) break;
  }
  return shown.slice(0, DELIVERIES_SHOWN_MAX);
}

function readEvent(
  services: Needs<"ids" | "endpoints" | "events" | "deliveries" | "eventDeliveries" | "actors">,
): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/events/:id",
    operationId: "getEvent",
    tag: "Events",
    summary: "Read an event",
    description:
      "`data` is what was published, byte for byte but for white space between tokens. Of `deliveries` the first " +
      `${DELIVERIES_SHOWN_MAX} are answered; all of them by \`GET /v1/deliveries?event_id=…\`.`,
    access: "read",
    budget: "management",
    answers: {
      200: { description: "The event.", schema: eventWithDataShape, example: eventWithDataExample },
    },
    async handle({ caller, params, turns }) {
      const found = findEvent(services, caller, params.id);
      const visible = visibleEndpoints(services, caller);
      const deliveries = await shownOf(services, found, visible, turns);
      const count = await countOf(services, found, visible, turns);
      await turns.giveWay(services.events.bytesOf(found.id));
      // Last: a body is not held while others have their turns.
      const body = eventText(services, caller, withData(services, found), count, deliveries);
      return { status: 200, body, headers: { "content-type": "application/json" } };
    },
  });
}

function readTimeline(
  services: Needs<"ids" | "endpoints" | "events" | "eventDeliveries" | "attempts" | "notes">,
): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/events/:id/timeline",
    operationId: "getEventTimeline",
    tag: "Events",
    summary: "Read what happened to an event",
    description:
      "Oldest first. One answer holds what happened when the event was accepted and up to 1,000 attempts and other " +
      "happenings; `next_cursor` leads on. Of the endpoints whose filter said no up to " +
      `${NAMED_MAX} are named, each as \`filtered\`; \`filtered_others\` says how many more there are.`,
    access: "read",
    budget: "management",
    query: Type.Object({ cursor: pagingQuery.cursor }, { additionalProperties: false }),
    answers: {
      200: {
        description: "The timeline.",
        schema: timelineShape,
        example: { data: timelineExample, next_cursor: null },
      },
    },
    async handle({ caller, params, query, turns }) {
      const event = findEvent(services, caller, params.id);
      const after = timelineCursor(services, query.cursor);
      const { data, next } = await timelineOf(services, caller, event, after, turns);
      return { status: 200, json: { data, next_cursor: writeCursor(services, "att", next) } };
    },
  });
}
