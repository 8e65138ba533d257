import { type Static, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { type IdCodec, keyTime } from "../../core/ids.ts";
import type { Delivery, Event } from "../../core/model.ts";
import { type EventWithData, isBodyGone } from "../../store/log/events.ts";
import { deliveryStatusShape } from "../deliveries/shape.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, timeShape, timeText } from "../shared/shapes.ts";

const identity = {
  id: Type.String(),
  type: Type.String(),
  timestamp: timeShape,
  consumer_id: nullable(Type.String()),
  external_id: nullable(Type.String()),
};

const deliveryCount = Type.Integer({ description: "How many deliveries it has, as far as the caller sees." });

const listed = {
  ...identity,
  source_id: nullable(
    Type.String(),
    "The source that it came in by; null for a published one, and always for a portal token: it is an address.",
  ),
  test: Type.Boolean({ description: "True for a test event of one endpoint." }),
  delivery_count: deliveryCount,
  created_at: timeShape,
};

/** An event of a list. */
export const eventShape = Type.Object(listed, { $id: "Event" });

const eventDeliveryShape = Type.Object(
  {
    id: Type.String(),
    endpoint_id: Type.String(),
    status: deliveryStatusShape,
    attempt_count: Type.Integer(),
    next_attempt_at: nullable(timeShape),
  },
  { $id: "EventDelivery" },
);

/** An event that is read by its id. */
export const eventWithDataShape = Type.Object(
  {
    ...listed,
    data: Type.Union([Type.Object({}, { additionalProperties: true, $id: "EventData" }), Type.Null()], {
      description:
        "As it was published: order of keys and spelling of numbers survive. Null once it is older than the plan's " +
        "`body_retention_days`: the event can then no longer be replayed, retried or tried.",
    }),
    deliveries: Type.Array(eventDeliveryShape),
  },
  { $id: "EventWithData" },
);

/** What publishing answers. */
export const publishedShape = Type.Object(
  {
    ...identity,
    duplicate: Type.Boolean({ description: "True where an event with this `external_id` was there before." }),
    delivery_count: deliveryCount,
    created_at: timeShape,
  },
  { $id: "PublishedEvent" },
);

/** Why an event without its body is refused where the body is needed. */
export const BODY_GONE = "The body of this event is no longer kept: it is older than the plan keeps bodies.";

type EventAnswer = Static<typeof eventShape>;
export type PublishedAnswer = Static<typeof publishedShape>;

export const publishedExample: PublishedAnswer = {
  id: "evt_01KAHM9Q7W00A1B2C3D4E5F6G7",
  type: "invoice.paid",
  timestamp: "2026-11-20T09:00:00.000Z",
  consumer_id: "cust_7",
  external_id: null,
  duplicate: false,
  delivery_count: 1,
  created_at: "2026-11-20T09:00:00.000Z",
};

export const eventExample: EventAnswer = {
  id: publishedExample.id,
  type: publishedExample.type,
  timestamp: publishedExample.timestamp,
  consumer_id: publishedExample.consumer_id,
  external_id: null,
  source_id: null,
  test: false,
  delivery_count: 1,
  created_at: publishedExample.created_at,
};

export const eventWithDataExample: Static<typeof eventWithDataShape> = {
  ...eventExample,
  data: { id: "in_42", total: 990 },
  deliveries: [
    {
      id: "msg_01KAHM9Q7W00B5C1D7E9F3G6HJ",
      endpoint_id: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
      status: "retrying",
      attempt_count: 1,
      next_attempt_at: "2026-11-20T09:00:05.131Z",
    },
  ],
};

/** What publishing an event answers. */
export function publishedOf({ ids }: Needs<"ids">, event: Event, duplicate: boolean): PublishedAnswer {
  return {
    id: ids.encode("evt", event.id),
    type: event.type,
    timestamp: timeText(event.timestamp),
    consumer_id: event.consumerId,
    external_id: event.externalId,
    duplicate,
    delivery_count: event.deliveryCount,
    created_at: timeText(keyTime(event.id)),
  };
}

/** An event of a list; `count` is that of the deliveries which the caller sees. */
export function eventOf({ ids }: Needs<"ids">, caller: Caller, event: Event, count: number): EventAnswer {
  return {
    id: ids.encode("evt", event.id),
    type: event.type,
    timestamp: timeText(event.timestamp),
    consumer_id: event.consumerId,
    external_id: event.externalId,
    source_id: sourceIdFor(ids, caller, event),
    test: event.isTest,
    delivery_count: count,
    created_at: timeText(keyTime(event.id)),
  };
}

/**
 * Of some providers whoever knows the source's address may send, and its id is that address: a customer's
 * customer does not see it.
 */
export function sourceIdFor(ids: IdCodec, caller: Caller, { sourceId }: Event): string | null {
  return sourceId === null || caller.kind === "portal" ? null : ids.encode("src", sourceId);
}

/**
 * An event with `data` and `deliveries` as JSON text: `data` is put in as it is stored, so that nothing of
 * it changes.
 */
export function eventText(
  services: Needs<"ids" | "actors">,
  caller: Caller,
  event: EventWithData,
  count: number,
  deliveries: readonly Delivery[],
): string {
  const head = JSON.stringify(eventOf(services, caller, event, count)).slice(0, -1);
  const rows = JSON.stringify(deliveries.map((delivery) => eventDeliveryOf(services, delivery)));
  return `${head},"data":${isBodyGone(event) ? "null" : event.data},"deliveries":${rows}}`;
}

function eventDeliveryOf(
  { ids, actors }: Needs<"ids" | "actors">,
  delivery: Delivery,
): Static<typeof eventDeliveryShape> {
  return {
    id: ids.encode("msg", delivery.id),
    endpoint_id: ids.encode("ep", delivery.endpointId),
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    next_attempt_at: timeText(actors.nextAttemptAt(delivery.endpointId, delivery.due)),
  };
}
