import { endedBy } from "../../core/delivery.ts";
import type { Endpoint } from "../../core/model.ts";
import type { Data } from "../data.ts";

/**
 * Ends open deliveries of an endpoint that is disabled (dead) or deleted (cancelled), those that `take` gives
 * once it is its account's turn: there may be very many. Answers those that are still to be sent, as it was
 * enabled before the write; null where none were given.
 */
export function dispose(
  data: Pick<Data, "store" | "tenants" | "endpoints" | "deliveries" | "notes">,
  { projectId }: Pick<Endpoint, "projectId">,
  take: () => readonly number[],
): Promise<readonly number[] | null> {
  const { store, tenants } = data;
  return store.slices.run(tenants.accountIdOf(projectId), projectId, () => {
    const ids = take();
    if (ids.length === 0) return null;
    return store.writeFor(projectId, () => ids.filter((id) => !disposeOne(data, id)), true);
  });
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
