import { type Static, Type } from "@sinclair/typebox";
import { waitsForPlan } from "../../core/delivery.ts";
import { keyTime } from "../../core/ids.ts";
import { DEAD_REASONS, type Delivery, DELIVERY_STATUS, WAITING_FOR } from "../../core/model.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, oneOf, timeShape, timeText } from "../shared/shapes.ts";

export const deliveryStatusShape = oneOf(DELIVERY_STATUS, {
  $id: "DeliveryStatus",
  description:
    "`pending`: not tried since it was published or replayed, or handed to a poller that has not acknowledged it. `retrying`: failed, a retry is scheduled. `dead`: given up.",
});

export const deadReasonShape = oneOf(DEAD_REASONS, { $id: "DeadReason" });

/** A delivery as the API answers it. */
export const deliveryShape = Type.Object(
  {
    id: Type.String({ description: "Also the `webhook-id` of what is sent." }),
    event_id: Type.String(),
    event_type: Type.String(),
    endpoint_id: Type.String(),
    status: deliveryStatusShape,
    attempt_count: Type.Integer(),
    next_attempt_at: nullable(timeShape),
    waiting_for: nullable(
      oneOf(WAITING_FOR, { $id: "WaitingFor" }),
      "Why it does not go out although its time has come: its endpoint is paused; `rate_limit_per_second` or `max_concurrency` is used up; the endpoint backs off or asked for a break (`backoff`); an earlier delivery has to arrive first (`order`); the account's plan has no room; the disk is full, so that no outcome could be written (`disk`); or its event waits for the replica, as its publish asked for (`replica`).",
    ),
    dead_reason: nullable(deadReasonShape),
    created_at: timeShape,
    completed_at: nullable(timeShape),
  },
  { $id: "Delivery" },
);

export type DeliveryAnswer = Static<typeof deliveryShape>;

export const deliveryExample: DeliveryAnswer = {
  id: "msg_01KAHM9Q7W00B5C1D7E9F3G6HJ",
  event_id: "evt_01KAHM9Q7W00A1B2C3D4E5F6G7",
  event_type: "invoice.paid",
  endpoint_id: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  status: "retrying",
  attempt_count: 1,
  next_attempt_at: "2026-11-20T09:00:05.131Z",
  waiting_for: null,
  dead_reason: null,
  created_at: "2026-11-20T09:00:00.000Z",
  completed_at: null,
};

/** A delivery as the API answers it, with the type of its event. */
export function deliveryOf(
  services: Needs<"ids" | "actors">,
  delivery: Delivery,
  eventType: string,
): DeliveryAnswer {
  const { ids, actors } = services;
  return {
    id: ids.encode("msg", delivery.id),
    event_id: ids.encode("evt", delivery.eventId),
    event_type: eventType,
    endpoint_id: ids.encode("ep", delivery.endpointId),
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    next_attempt_at: timeText(actors.nextAttemptAt(delivery.endpointId, delivery.due)),
    waiting_for: waitsForPlan(delivery) ? "plan_limit" : actors.waitingFor(delivery),
    dead_reason: delivery.deadReason,
    created_at: timeText(keyTime(delivery.id)),
    completed_at: timeText(delivery.completedAt),
  };
}
