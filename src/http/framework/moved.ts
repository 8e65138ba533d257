import { type Problem, unavailable } from "../../core/errors.ts";
import type { MovedTo } from "../../core/model.ts";
import { isAway } from "../../store/resources/tenants.ts";
import type { Needs } from "./services.ts";

/** Whoever asks for an account that has moved is answered by the cell in which it lives. */
export class MovedAway extends Error {
  constructor(readonly to: MovedTo) {
    super(`moved to cell ${to.cell}`);
    this.name = "MovedAway";
  }
}

/** Most moves are through by then. */
const RETRY_SECONDS = 1;

/** What to throw where an account leaves this cell, or has left it. */
export function goneFrom(residence: "moving" | MovedTo): Problem | MovedAway {
  return residence === "moving"
    ? unavailable("This account moves to another cell. Try again in a moment.", RETRY_SECONDS)
    : new MovedAway(residence);
}

/** Throws where the project's account leaves this cell, or has left it. */
export function requireHere({ tenants }: Needs<"tenants">, projectId: number): void {
  const residence = tenants.residenceOf(projectId);
  if (isAway(residence)) throw goneFrom(residence);
}
