import type { delivery } from "../log-schema.ts";
import {
  DEAD_REASONS,
  DELIVERY_STATUS,
  type Delivery,
  type DeliveryStatus,
  ORIGINS,
} from "../../core/model.ts";

/** A row of `delivery`. */
export type DeliveryRow = Omit<typeof delivery.$inferSelect, "first_attempt">;

export const DELIVERY_COLUMNS =
  "id, event_id, endpoint_id, project_id, status, attempt_count, step, origin, metered, generation, due, queue_order, dead_reason, completed_at";
export const STATUS = {
  pending: 0,
  retrying: 1,
  delivered: 2,
  dead: 3,
  cancelled: 4,
} as const satisfies Record<DeliveryStatus, number>;

export function statusNumber(status: DeliveryStatus): number {
  return STATUS[status];
}

export function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    projectId: row.project_id,
    status: DELIVERY_STATUS[row.status] ?? "pending",
    attemptCount: row.attempt_count,
    step: row.step,
    origin: ORIGINS[row.origin] ?? "publish",
    metered: row.metered === 1,
    generation: row.generation,
    due: row.due,
    deadReason: row.dead_reason === null ? null : (DEAD_REASONS[row.dead_reason] ?? null),
    completedAt: row.completed_at,
  };
}
