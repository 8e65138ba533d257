import type { delivery } from "../log-schema.ts";
import {
  DEAD_REASONS,
  DELIVERY_STATUS,
  type Delivery,
  type DeliveryStatus,
  ORIGINS,
} from "../../core/model.ts";

/** A row of `delivery`. */
export type DeliveryRow = Omit<typeof delivery.$inferSelect, "first_attempt" | "changed">;

export const DELIVERY_COLUMNS =
  "id, event_id, endpoint_id, project_id, status, attempt_count, step, origin, metered, generation, due, queue_order, dead_reason, completed_at";
/**
 * SQL of the key that was taken when the delivery came to its status or was opened again: keys taken before
 * are smaller, later ones larger.
 */
export const STATUS_KEY = "coalesce(changed, first_attempt, id)";

/** The columns that STATUS_KEY reads. */
export type StatusKeys = Pick<typeof delivery.$inferSelect, "id" | "first_attempt" | "changed">;

/** STATUS_KEY of a row that was read. */
export function statusKeyOf({ id, first_attempt: first, changed }: StatusKeys): number {
  return changed ?? first ?? id;
}

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
