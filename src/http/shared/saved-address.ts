import type { Actors } from "../../delivery/actors.ts";
import type { Guard, UrlVerdict } from "../../transport/guard.ts";

/** Whom it takes to judge an address. */
export interface AddressJudges {
  guard: Pick<Guard, "checkDestination">;
  actors: Pick<Actors, "inSlot">;
}

/**
 * What the guard says of an address that a request saves. The question for its name holds a slot of the
 * account until the resolver answers, which may be long after the request, and takes none from endpoints that
 * have nothing in flight.
 */
export function checkSavedAddress(
  { guard, actors }: AddressJudges,
  projectId: number,
  address: string,
): Promise<UrlVerdict> {
  return guard.checkDestination(address, (ask) => actors.inSlot(projectId, ask, 1));
}
