import { Type } from "@sinclair/typebox";
import { limit } from "../../core/limits.ts";

/** The time in which a secret that was rotated holds beside the new one. */

const HOUR_MS = 3_600_000;
const OVERLAP_HOURS_DEFAULT = 24;

/** `expiry_hours` of every rotation. */
export const overlapShape = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: limit("rotationOverlapHoursMax"),
    default: OVERLAP_HOURS_DEFAULT,
    description: "How long the previous secret holds beside the new one; 0: not at all.",
  }),
);

/** When a secret that is replaced at `now` ends; null where it ends at once. */
export function overlapEnd(now: number, hours: number = OVERLAP_HOURS_DEFAULT): number | null {
  return hours === 0 ? null : now + hours * HOUR_MS;
}
