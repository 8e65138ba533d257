import { Type } from "@sinclair/typebox";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { DELIVERY_STATUS } from "../../core/model.ts";
import type { DeliveryCount } from "../../store/log/delivery-list.ts";
import { deliveryFilterQuery, readDeliveryFilter } from "./filter.ts";
import { listShape, pageAsk, pagingQuery, writeCursor } from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, timeShape, timeText } from "../shared/shapes.ts";
import { readSpan, SPAN_TEXT, spanQuery, statsQuery } from "../shared/stats-query.ts";

const states = Object.fromEntries(DELIVERY_STATUS.map((status) => [status, Type.Integer()]));

const countShape = Type.Object({ at: timeShape, ...states }, { $id: "DeliveryCount" });

const page = listShape(countShape, {
  at: "2026-11-20T09:00:00.000Z",
  pending: 0,
  retrying: 2,
  delivered: 408,
  dead: 1,
  cancelled: 0,
});

/** A chart above a filtered list: what stands in the list, by the hour or day in which it was made. */
export function deliveryCountsRoute(
  services: Needs<"ids" | "endpoints" | "deliveryList" | "store">,
): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/stats/deliveries",
    operationId: "countDeliveries",
    tag: "Deliveries",
    summary: "Count deliveries by when they were made",
    description:
      `With the filters of the list of deliveries, text aside, each in the state that it has now. ${SPAN_TEXT} Newest first: one answer ` +
      `looks at ${limit("listScanMax")} deliveries at most, and \`next_cursor\` goes on below them. A point that is cut so stands ` +
      "in both answers: add them up.",
    access: "read",
    budget: "management",
    query: Type.Object(
      {
        ...statsQuery.properties,
        ...deliveryFilterQuery,
        since: spanQuery.since,
        cursor: pagingQuery.cursor,
      },
      { additionalProperties: false },
    ),
    answers: {
      200: {
        description: "Points, newest first; those without a delivery are left out.",
        schema: Type.Object({
          ...page.schema.properties,
          counted_since: nullable(timeShape, "How far back this answer came; null where nothing is left."),
        }),
        example: { ...page.example, counted_since: null },
      },
    },
    async handle(context) {
      const { caller, query } = context;
      // Without an end: a delivery of this very millisecond stands in the list too.
      const { since } = readSpan(query, services.store.now());
      const filter = { ...readDeliveryFilter(services, caller, query), since };
      const ask = pageAsk(services, "msg", context);
      const { points, next } = await services.deliveryList.count(filter, query.by ?? "hour", ask);
      const json = {
        data: points.map(pointOf),
        next_cursor: writeCursor(services, "msg", next),
        counted_since: timeText(next && keyTime(next)),
      };
      return { status: 200, json };
    },
  });
}

function pointOf({ at, counts }: DeliveryCount) {
  return { at: timeText(at), ...counts };
}
