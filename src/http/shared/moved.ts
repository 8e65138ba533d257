import { type Problem, unavailable } from "../../core/errors.ts";
import type { MovedTo } from "../../core/model.ts";
import type { Needs } from "../framework/services.ts";

/** Whoever asks for an account that has moved is answered by the cell in which it lives. */
export class MovedAway extends Error {
  constructor(readonly to: MovedTo) {
    super(`moved to cell ${to.cell}`);
    this.name = "MovedAway";
  }
}

/** A move takes a second or two. */
const MOVE_SECONDS = 1;

/** What to throw where an account leaves this cell, or has left it. */
export function goneFrom(standing: "moving" | MovedTo): Problem | MovedAway {
  return standing === "moving"
    ? unavailable("This account moves to another cell. Try again in a moment.", MOVE_SECONDS)
    : new MovedAway(standing);
}

/** Throws where the project's account leaves this cell, or has left it. */
export function requireHere({ tenants }: Needs<"tenants">, projectId: number): void {
  const standing = tenants.standingOf(projectId);
  if (standing === "moving" || typeof standing === "object") throw goneFrom(standing);
}
