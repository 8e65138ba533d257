import { type Static, Type } from "@sinclair/typebox";
import { notFound } from "../../core/errors.ts";
import { keyTime } from "../../core/ids.ts";
import type { Consumer, Erasure } from "../../store/cleanup/erasures.ts";
import { LABELS } from "../../store/index/index.ts";
import type { HeldDelivery } from "../../store/cleanup/removal.ts";
import { findEvent } from "../shared/lookups.ts";
import { listShape, pageOf, pagingQuery } from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, oneOf, timeShape, timeText } from "../shared/shapes.ts";

/** Forgetting for good, for privacy requests: one event, or all that is known of a consumer. */
export function erasureRoutes(
  services: Needs<"store" | "ids" | "events" | "index" | "audit" | "erasures" | "eraser">,
): AnyRoute[] {
  return [deleteEvent(services), deleteConsumer(services), listErasures(services), readErasure(services)];
}

const erasureShape = Type.Object(
  {
    id: Type.String(),
    consumer_id: Type.String(),
    status: oneOf(["running", "completed"]),
    events: Type.Integer({ description: "Events that are gone so far." }),
    deliveries: Type.Integer({ description: "Their deliveries." }),
    created_at: timeShape,
    completed_at: nullable(timeShape),
  },
  { $id: "Erasure" },
);

const erasureExample: Static<typeof erasureShape> = {
  id: "era_01KAHMC4T900F6G7H8J9K0M1N2",
  consumer_id: "cust_7",
  status: "running",
  events: 250,
  deliveries: 310,
  created_at: "2026-11-20T09:01:20.000Z",
  completed_at: null,
};

function deleteEvent(services: Needs<"ids" | "events" | "eraser">): AnyRoute {
  const { eraser } = services;
  return route({
    method: "DELETE",
    path: "/v1/events/:id",
    operationId: "deleteEvent",
    tag: "Events",
    summary: "Erase an event",
    description:
      "With its deliveries, attempts and timeline, at once and for good. What waits is not sent any more; an attempt that is under way may " +
      "still arrive. What was metered stays metered, and its `external_id` is free again.",
    access: "owner",
    budget: "management",
    audit: { action: "event.deleted", object: "event" },
    answers: { 204: "It is gone." },
    async handle(context) {
      const { caller, params } = context;
      const { id } = findEvent(services, caller, params.id);
      await eraser.close(caller.projectId, id);
      let held: readonly HeldDelivery[] = [];
      const answer = await context.commit(() => {
        const closed = eraser.remove(id);
        if (closed === null) throw notFound("event");
        held = closed;
        return { status: 204 };
      });
      eraser.forget(held);
      eraser.wake(caller.projectId);
      return answer;
    },
  });
}

function deleteConsumer(
  services: Needs<"store" | "ids" | "index" | "audit" | "erasures" | "eraser">,
): AnyRoute {
  const { eraser } = services;
  return route({
    method: "DELETE",
    path: "/v1/consumers/:id",
    operationId: "deleteConsumer",
    tag: "Consumers",
    summary: "Erase a consumer",
    description:
      "All that was published for this `consumer_id` until now, with deliveries and attempts; its endpoints, sources, portal links and bulk replays; and " +
      "what the audit log shows of them, whether or not they have left already. By the answer its endpoints and sources are closed, its links refused, and each `external_id` of its events and `Idempotency-Key` of its links is free; the rest goes on by itself, also over a restart; `GET /v1/erasures/:id` tells how far it is. What was " +
      "metered stays metered. What is published or made for the consumer afterwards is kept. A call while an erasure of the consumer runs is one of its own, behind it; where one waits there already, it is that one, which then takes all until now.",
    access: "owner",
    budget: "management",
    audit: { action: "consumer.erased", object: "consumer" },
    answers: { 202: { description: "It runs.", schema: erasureShape, example: erasureExample } },
    async handle(context) {
      const { caller, params } = context;
      const consumer = { projectId: caller.projectId, consumerId: params.id };
      if (!isKnown(services, consumer)) throw notFound("consumer");
      return eraser.begin(consumer, (write) =>
        context.commit(() => ({
          status: 202,
          json: erasureOf(services, write()),
          audited: { objectId: params.id },
        })),
      );
    },
  });
}

/** A consumer is made by naming it: where nothing names it, there is none. */
function isKnown(
  { audit, erasures, index, store }: Needs<"store" | "index" | "audit" | "erasures">,
  consumer: Consumer,
): boolean {
  const owned = { ...consumer, last: store.keys.last };
  if (index.labels.find(consumer.projectId, LABELS.consumer, consumer.consumerId) !== null) return true;
  return audit.concerns(owned) || erasures.hasAny(owned);
}

function listErasures(services: Needs<"ids" | "erasures">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/erasures",
    operationId: "listErasures",
    tag: "Consumers",
    summary: "List erasures of consumers",
    description: "Newest first.",
    access: "owner_read",
    budget: "management",
    query: Type.Object(pagingQuery, { additionalProperties: false }),
    answers: { 200: { description: "A page of erasures.", ...listShape(erasureShape, erasureExample) } },
    handle(context) {
      const { caller } = context;
      return pageOf(services, "era", context, {
        rows: (before, count) => services.erasures.list(caller.projectId, before, count),
        show: (erasure) => erasureOf(services, erasure),
      });
    },
  });
}

function readErasure(services: Needs<"ids" | "erasures">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/erasures/:id",
    operationId: "getErasure",
    tag: "Consumers",
    summary: "Read how far an erasure is",
    access: "owner_read",
    budget: "management",
    answers: { 200: { description: "The erasure.", schema: erasureShape, example: erasureExample } },
    handle({ caller, params }) {
      const key = services.ids.decode("era", params.id);
      const erasure = key === null ? null : services.erasures.get(key);
      if (erasure?.projectId !== caller.projectId) throw notFound("erasure");
      return { status: 200, json: erasureOf(services, erasure) };
    },
  });
}

function erasureOf({ ids }: Needs<"ids">, erasure: Erasure): Static<typeof erasureShape> {
  return {
    id: ids.encode("era", erasure.id),
    consumer_id: erasure.consumerId,
    status: erasure.status,
    events: erasure.events,
    deliveries: erasure.deliveries,
    created_at: timeText(keyTime(erasure.id)),
    completed_at: timeText(erasure.completedAt),
  };
}
