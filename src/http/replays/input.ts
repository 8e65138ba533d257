import { type Static, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { invalid, type Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { DELIVERY_STATUS } from "../../core/model.ts";
import type { ReplayFilter } from "../../store/log/replays.ts";
import { deliveryStatusShape } from "../deliveries/shape.ts";
import { consumerFilter, seenDelivery, seenEndpoint } from "../shared/lookups.ts";
import { parseTime, requirePattern } from "../shared/paging.ts";
import type { Needs } from "../framework/services.ts";
import { consumerText, idText, timeInput, typePatternText } from "../shared/shapes.ts";

const RATE_MAX = 1000;

/** What `POST /v1/replays` takes. */
export const replayInputShape = Type.Object(
  {
    status: Type.Optional(
      Type.Array(deliveryStatusShape, {
        minItems: 1,
        maxItems: DELIVERY_STATUS.length,
        uniqueItems: true,
        default: ["dead"],
        description: "Deliveries in one of these states. Does not apply with `missing`.",
      }),
    ),
    endpoint_id: Type.Optional(idText("ep")),
    consumer_id: Type.Optional(consumerText({ description: "Of the events." })),
    event_types: Type.Optional(
      Type.Array(typePatternText(), {
        minItems: 1,
        maxItems: limit("eventTypesPerEndpointMax"),
        description: "Names, `invoice.*` (any depth below), or `*`.",
      }),
    ),
    delivery_ids: Type.Optional(
      Type.Array(idText("msg"), {
        minItems: 1,
        maxItems: limit("replayIdsMax"),
        uniqueItems: true,
        description: "Only these deliveries; `status` is any unless given. Does not apply with `missing`.",
      }),
    ),
    status_code: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 999,
        description: "What the last attempt was answered. Does not apply with `missing`.",
      }),
    ),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limit("searchTextMax"),
        description:
          "Text that stands in the event's `data`, in upper or lower case. Does not apply with `missing`.",
      }),
    ),
    since: Type.Optional(timeInput({ description: "Events accepted at this time (RFC 3339) or later." })),
    until: Type.Optional(timeInput({ description: "Events accepted before this time (RFC 3339)." })),
    rate_per_second: Type.Optional(
      Type.Integer({ minimum: 1, maximum: RATE_MAX, description: "Default: as fast as it goes." }),
    ),
    missing: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "True: the events that the endpoint would get today and never had, since it was added or enabled later. " +
          "Needs `endpoint_id`.",
      }),
    ),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: "True: only count what matches." })),
  },
  { additionalProperties: false },
);

type Body = Static<typeof replayInputShape>;

/** Which deliveries or events the body means; a portal token's own only. Throws 422. */
export function readReplayFilter(
  services: Needs<"ids" | "endpoints" | "deliveryList">,
  caller: Caller,
  body: Body,
): ReplayFilter {
  for (const [at, pattern] of (body.event_types ?? []).entries())
    requirePattern(`/event_types/${at}`, pattern);
  return {
    status: body.status ?? (body.delivery_ids ? [...DELIVERY_STATUS] : ["dead"]),
    endpointId: readEndpoint(services, caller, body),
    consumerId: consumerFilter(caller, body.consumer_id),
    eventTypes: body.event_types ?? null,
    deliveryIds: body.delivery_ids ? readDeliveries(services, caller, body.delivery_ids) : null,
    statusCode: body.status_code ?? null,
    q: body.q ?? null,
    since: body.since === undefined ? null : parseTime("/since", body.since),
    until: body.until === undefined ? null : parseTime("/until", body.until),
    missing: body.missing ?? false,
    ratePerSecond: body.rate_per_second ?? null,
  };
}

function readEndpoint(
  services: Needs<"ids" | "endpoints">,
  caller: Caller,
  { endpoint_id: id, missing }: Body,
): number | null {
  if (id === undefined && missing) throw invalid("/endpoint_id", "`missing` needs an endpoint.");
  if (id === undefined) return null;
  const endpoint = seenEndpoint(services, caller, id);
  if (endpoint === null) throw noEndpoint();
  return endpoint.id;
}

export function noEndpoint(): Problem {
  return invalid("/endpoint_id", "There is no such endpoint.");
}

/**
 * Keys of deliveries that a body names, in rising order, as a replay walks; one that is named in two
 * spellings once. Throws 422.
 */
function readDeliveries(
  services: Needs<"ids" | "endpoints" | "deliveryList">,
  caller: Caller,
  ids: readonly string[],
): number[] {
  const keys = ids.map((id, at) => {
    const delivery = seenDelivery(services, caller, id);
    if (delivery === null) throw invalid(`/delivery_ids/${at}`, "There is no such delivery.");
    return delivery.id;
  });
  return [...new Set(keys)].sort((a, b) => a - b);
}
