import { Type } from "@sinclair/typebox";
import { isOpen } from "../../core/delivery.ts";
import { notFound, Problem, unavailable } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { type RetryRefusal, Retries } from "../../delivery/retries.ts";
import type { Delivery } from "../../core/model.ts";
import { attemptExample, attemptOf, attemptShape } from "./attempt-shape.ts";
import { requirePlaces } from "../../pipeline/admission.ts";
import { commitChange } from "../framework/commit.ts";
import { deliveryCountsRoute } from "./counts.ts";
import { Exports } from "./export.ts";
import { deliveryFilterQuery, readDeliveryFilter, textQuery } from "./filter.ts";
import { deliveryExample, deliveryOf, deliveryShape } from "./shape.ts";
import { requireConfirmed } from "../events/durability.ts";
import { BODY_GONE } from "../events/shape.ts";
import { findDelivery } from "../shared/lookups.ts";
import {
  listShape,
  searchShape,
  pageAsk,
  pageSize,
  pagingQuery,
  readCursor,
  SHORT_PAGES,
  writePage,
} from "../shared/paging.ts";
import { type AnyRoute, NO_FIELDS, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { oneOf } from "../shared/shapes.ts";

/** What the routes below need together. */
type DeliveriesNeeds = Needs<
  | "store"
  | "ids"
  | "tenants"
  | "endpoints"
  | "events"
  | "deliveries"
  | "attempts"
  | "notes"
  | "meter"
  | "bodyRetention"
  | "deliveryList"
  | "actors"
  | "retries"
>;

/** Deliveries and their attempts. */
export function deliveriesRoutes(services: DeliveriesNeeds): AnyRoute[] {
  return [
    listDeliveries(services),
    deliveryCountsRoute(services),
    readDelivery(services),
    listAttempts(services),
    retryDelivery(services),
    cancelDelivery(services),
  ];
}

const listQuery = Type.Object(
  {
    ...pagingQuery,
    ...deliveryFilterQuery,
    ...textQuery,
    format: Type.Optional(
      oneOf(["json", "ndjson"], {
        description:
          "`ndjson`: all that match, one delivery a line, as `application/x-ndjson`; `limit` then bounds the whole, and " +
          "there is no `next_cursor`.",
      }),
    ),
  },
  { additionalProperties: false },
);

function listDeliveries(services: Needs<"ids" | "endpoints" | "deliveryList" | "actors">): AnyRoute {
  const exports = new Exports(services);
  return route({
    method: "GET",
    path: "/v1/deliveries",
    operationId: "listDeliveries",
    tag: "Deliveries",
    summary: "List or export deliveries",
    description: `Newest first. Filters are ANDed. Dead letters: \`status=dead\`. ${SHORT_PAGES}`,
    access: "read",
    budget: "management",
    query: listQuery,
    answers: {
      200: {
        description: "A page of deliveries, or with `format=ndjson` all of them, one a line.",
        ...searchShape(deliveryShape, deliveryExample),
        otherwise: {
          contentType: "application/x-ndjson",
          schema: Type.String({ description: "A delivery as JSON on each line." }),
          example: `${JSON.stringify(deliveryExample)}\n`,
        },
      },
    },
    async handle(context) {
      const { caller, query, turns } = context;
      const filter = readDeliveryFilter(services, caller, query);
      if (query.format === "ndjson") {
        // Whoever finds the line full is told by a status; the pages take permits of their own.
        if (query.q !== undefined) await context.beginWork();
        return exports.begin(caller, {
          filter,
          before: readCursor(services, "msg", query.cursor),
          countMax: query.limit ?? Number.POSITIVE_INFINITY,
          turns,
          beginPiece: () => context.beginPiece(),
          requireCaller: () => context.requireCaller(),
        });
      }
      const found = await services.deliveryList.page(filter, pageAsk(services, "msg", context));
      return writePage(services, "msg", context, {
        ...found,
        isSearch: filter.q !== null,
        show: (delivery) => deliveryOf(services, delivery, delivery.eventType),
      });
    },
  });
}

function readDelivery(services: Needs<"ids" | "endpoints" | "deliveryList" | "actors">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/deliveries/:id",
    operationId: "getDelivery",
    tag: "Deliveries",
    summary: "Read a delivery",
    access: "read",
    budget: "management",
    answers: { 200: { description: "The delivery.", schema: deliveryShape, example: deliveryExample } },
    handle({ caller, params }) {
      const delivery = findDelivery(services, caller, params.id);
      return { status: 200, json: deliveryOf(services, delivery, delivery.eventType) };
    },
  });
}

function listAttempts(
  services: Needs<"ids" | "endpoints" | "events" | "attempts" | "deliveryList">,
): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/deliveries/:id/attempts",
    operationId: "listAttempts",
    tag: "Deliveries",
    summary: "List the attempts of a delivery",
    description: "Newest first, each with what was sent and what was answered.",
    access: "read",
    budget: "management",
    query: Type.Object(pagingQuery, { additionalProperties: false }),
    longWork: true,
    answers: { 200: { description: "A page of attempts.", ...listShape(attemptShape, attemptExample) } },
    async handle(context) {
      const { caller, params, query, turns } = context;
      const delivery = findDelivery(services, caller, params.id);
      const bytes = services.events.bytesOf(delivery.eventId);
      await turns.giveWay(bytes);
      const event = services.events.getWithData(delivery.eventId);
      if (event === null) throw new Problem("not_found", "The event of this delivery was erased just now.");
      const size = pageSize(query);
      const before = readCursor(services, "att", query.cursor);
      return writePage(services, "att", context, {
        rows: services.attempts.ofDelivery(delivery.id, before, size + 1),
        next: null,
        size,
        bytesOfRow: bytes,
        show: (attempt) => attemptOf(services, attempt, delivery, event),
      });
    },
  });
}

type RetryNeeds = Needs<
  | "store"
  | "ids"
  | "tenants"
  | "endpoints"
  | "meter"
  | "bodyRetention"
  | "deliveryList"
  | "actors"
  | "retries"
>;

function retryDelivery(services: RetryNeeds): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/deliveries/:id/retry",
    operationId: "retryDelivery",
    tag: "Deliveries",
    summary: "Try a delivery now",
    description:
      "One attempt at once, whatever the delivery's state, also while the endpoint is paused or backing off. It uses up no " +
      "scheduled attempt, and changes the state only by succeeding. The answer does not wait for it; what a restart cuts " +
      "off is made after it.",
    access: "manage",
    budget: "management",
    audit: "Its attempt stands in the log as made by hand.",
    body: NO_FIELDS,
    bodyExample: {},
    answers: {
      202: { description: "The attempt is under way.", schema: deliveryShape, example: deliveryExample },
    },
    refuses: {
      plan_limit_reached: "It was never attempted, and the plan's deliveries for this month are used up.",
      conflict:
        "An attempt of it is under way, or there are very many; its endpoint is disabled, deleted or polled; its body is gone; or the replica does not have its event yet, which was published so that it waits for that.",
    },
    async handle(context) {
      const { caller, params } = context;
      findDelivery(services, caller, params.id);
      // The end of an attempt is seen a moment before the disk has it, and whoever saw it may ask for the
      // next one: this write waits for that, and a full disk refuses it.
      await services.store.writeFor(caller.projectId, () => {});
      const delivery = findDelivery(services, caller, params.id);
      if (!services.store.writable) throw unavailable("The service cannot write at the moment.");
      if (!services.bodyRetention.has("bodies", delivery.eventId)) throw new Problem("conflict", BODY_GONE);
      requireConfirmed(services, delivery.eventId);
      requireFewAttempts(delivery);
      if (Retries.needsPlace(delivery)) requirePlaces(services, caller);
      context.requireCaller();
      context.takeByHand(1);
      context.beginChange();
      const begun = services.retries.begin(delivery.id, () =>
        context.commit(() => {
          services.retries.ask(delivery.id);
          return { status: 202, json: deliveryOf(services, delivery, delivery.eventType) };
        }),
      );
      if (typeof begun === "string") throw NO_ATTEMPT[begun]();
      return begun;
    },
  });
}

const NO_ATTEMPT: Readonly<Record<RetryRefusal, () => Problem>> = {
  busy: () => new Problem("conflict", "An attempt of this delivery is under way."),
  closed: () =>
    new Problem(
      "conflict",
      "The delivery's endpoint is disabled or deleted. Enable it first, where it is still there.",
    ),
  full: () =>
    new Problem("rate_limited", "As many attempts are in flight as may be. Ask again in a moment.", {
      headers: { "retry-after": "1" },
    }),
  stopping: () => unavailable("The service is stopping. Try again in a moment."),
  polled: () =>
    new Problem("conflict", "The delivery's endpoint is polled: replay it, and it is handed out again."),
};

function requireFewAttempts({ attemptCount }: Delivery): void {
  const max = limit("attemptsByHandMax");
  if (attemptCount < max) return;
  const detail = `The delivery has ${attemptCount} attempts; by hand it gets at most ${max}. Replay its event instead.`;
  throw new Problem("conflict", detail);
}

const NOT_OPEN = "Only a delivery that is pending or retrying can be cancelled.";

function cancelDelivery(
  services: Needs<"ids" | "endpoints" | "deliveries" | "notes" | "deliveryList" | "actors">,
): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/deliveries/:id/cancel",
    operationId: "cancelDelivery",
    tag: "Deliveries",
    summary: "Cancel a delivery",
    description:
      "No further attempt starts. One that is under way may still arrive, and then counts as delivered.",
    access: "manage",
    budget: "management",
    audit: { action: "delivery.cancelled", object: "delivery" },
    body: NO_FIELDS,
    bodyExample: {},
    answers: {
      200: {
        description: "The delivery, cancelled.",
        schema: deliveryShape,
        example: {
          ...deliveryExample,
          status: "cancelled",
          next_attempt_at: null,
          completed_at: "2026-11-20T09:00:03.000Z",
        },
      },
    },
    refuses: { conflict: NOT_OPEN },
    handle(context) {
      const delivery = findDelivery(services, context.caller, context.params.id);
      const { id, endpointId } = delivery;
      // Asked here too: a throw inside the write costs all that share its transaction a second try.
      if (!isOpen(delivery)) throw new Problem("conflict", NOT_OPEN);
      return commitChange(context, {
        write: () => cancel(services, id),
        answer: (json) => ({ status: 200, json }),
        remember: () => services.actors.forget(endpointId, id),
      });
    },
  });
}

/** Inside a write. Throws 409 where the delivery came to its end a moment ago. */
function cancel(services: Needs<"ids" | "deliveries" | "notes" | "deliveryList" | "actors">, id: number) {
  const { deliveries, notes } = services;
  if (!deliveries.cancel(id)) throw new Problem("conflict", NOT_OPEN);
  const delivery = services.deliveryList.get(id);
  // The event left the log a moment ago, and its deliveries follow.
  if (delivery === null) throw notFound("delivery");
  notes.add(delivery.eventId, id, "cancelled");
  return deliveryOf(services, delivery, delivery.eventType);
}
