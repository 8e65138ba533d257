import { endedBy } from "../../core/delivery.ts";
import type { Data } from "../data.ts";

/**
 * Ends open deliveries of endpoints that are disabled (dead) or deleted (cancelled). Answers those whose
 * endpoint is neither: it was enabled before the write.
 */
export function dispose(
  data: Pick<Data, "store" | "endpoints" | "deliveries" | "notes">,
  ids: readonly number[],
): Promise<number[]> {
  return data.store.write(() => ids.filter((id) => !disposeOne(data, id)), true);
}

/** Inside a write. False where it is still to be sent. */
function disposeOne(
  { deliveries, endpoints, notes }: Pick<Data, "endpoints" | "deliveries" | "notes">,
  id: number,
): boolean {
  const delivery = deliveries.get(id);
  if (!delivery) return true;
  const as = endedBy(endpoints.current(delivery.endpointId) ?? { status: "deleted" });
  if (as === null) return false;
  if (deliveries.dispose(id, as)) notes.addEnding(delivery.eventId, id, as);
  return true;
}
