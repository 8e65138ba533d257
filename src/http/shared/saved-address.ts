import { type Problem, unavailable } from "../../core/errors.ts";
import type { Actors } from "../../delivery/actors.ts";
import type { Guard, UrlVerdict } from "../../transport/guard.ts";

/** Whom it takes to judge an address. */
export interface AddressJudges {
  guard: Pick<Guard, "checkDestination">;
  actors: Pick<Actors, "inSlot">;
}

/**
 * What the guard says of an address that a request saves. The question for its name holds a slot of the
 * account until the resolver answers, which may be long after the request. Throws 503 where none is left.
 */
export async function checkSavedAddress(
  { guard, actors }: AddressJudges,
  projectId: number,
  address: string,
): Promise<UrlVerdict> {
  const verdict = await guard.checkDestination(address, (ask) => actors.inSlot(projectId, ask));
  if (verdict === null) throw withoutSlot();
  return verdict;
}

/** The account has no slot left for what a request sends or asks. */
export function withoutSlot(): Problem {
  return unavailable("The account has too many attempts in flight. Try again in a moment.");
}
