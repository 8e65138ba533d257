import { invalid, Problem } from "../../core/errors.ts";
import { DURABILITIES, type Durability } from "../../core/model.ts";
import type { Answer } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

const HEADER = "sealpost-durability";

/** What the request is answered after: its header says more or less than the service's own. Throws 422. */
export function durabilityOf({ durability }: Needs<"durability">, { headers }: Request): Durability {
  const text = headers.get(HEADER);
  if (text === null) return durability;
  const asked = DURABILITIES.find((known) => known === text);
  if (asked !== undefined) return asked;
  throw invalid(HEADER, `Expected one of ${DURABILITIES.join(", ")}.`);
}

const UNCONFIRMED =
  "The replica does not have this event yet, which was published so that it waits for that: nothing is sent before.";

/** Before an event is sent by hand. Throws 409. */
export function requireConfirmed({ actors }: Needs<"actors">, eventId: number): void {
  if (actors.unconfirmed.hasEvent(eventId)) throw new Problem("conflict", UNCONFIRMED);
}

/** A confirmed answer says so: a service that does not know the header would answer without it. */
export function saying(durability: Durability, answer: Answer): Answer {
  if (durability === "disk") return answer;
  return { ...answer, headers: { ...answer.headers, [HEADER]: durability } };
}

/** The answer that was kept for the request's Idempotency-Key: the replica may not have had it then. */
export async function repeated(
  services: Needs<"durability" | "confirmations">,
  request: Request,
  kept: Answer,
): Promise<Answer> {
  const durability = durabilityOf(services, request);
  if (durability === "replica") await services.confirmations.confirmAgain();
  return saying(durability, kept);
}
