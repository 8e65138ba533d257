import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { limit } from "../../core/limits.ts";
import type { DeliveryFilter } from "../../store/log/delivery-list.ts";
import { deliveryStatusShape } from "./shape.ts";
import { consumerFilter, visibleEndpoints } from "../shared/lookups.ts";
import { parseTime, readFilterId, requirePattern, timeParameter } from "../shared/paging.ts";
import type { Needs } from "../framework/services.ts";
import { consumerText, idText, typePatternText } from "../shared/shapes.ts";

/** What narrows deliveries, in lists and in counts. */
export const deliveryFilterQuery = {
  status: Type.Optional(deliveryStatusShape),
  endpoint_id: Type.Optional(idText("ep")),
  event_id: Type.Optional(idText("evt")),
  event_type: Type.Optional(
    typePatternText({ description: "A name, `invoice.*` (any depth below), or `*`." }),
  ),
  consumer_id: Type.Optional(consumerText({ description: "Of the event." })),
  status_code: Type.Optional(
    Type.Integer({ minimum: 100, maximum: 999, description: "What the last attempt was answered." }),
  ),
  since: timeParameter("Made at this time or later."),
  until: timeParameter("Made before this time."),
};

/** What reads bodies: for lists alone. */
export const textQuery = {
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limit("searchTextMax"),
      description: "Text that stands in the event's `data`, in upper or lower case.",
    }),
  ),
};

/** Throws 422 with the parameter's name. */
export function readDeliveryFilter(
  services: Needs<"ids" | "endpoints">,
  caller: Caller,
  query: Static<TObject<typeof deliveryFilterQuery & typeof textQuery>>,
): DeliveryFilter {
  if (query.event_type !== undefined) requirePattern("event_type", query.event_type);
  return {
    projectId: caller.projectId,
    status: query.status === undefined ? null : [query.status],
    endpointId: readFilterId(services, "ep", "endpoint_id", query.endpoint_id),
    eventId: readFilterId(services, "evt", "event_id", query.event_id),
    eventTypes: query.event_type === undefined ? null : [query.event_type],
    consumerId: consumerFilter(caller, query.consumer_id),
    statusCode: query.status_code ?? null,
    since: query.since === undefined ? null : parseTime("since", query.since),
    until: query.until === undefined ? null : parseTime("until", query.until),
    q: query.q ?? null,
    visible: visibleEndpoints(services, caller),
    asOf: null,
  };
}
