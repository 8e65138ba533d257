import { accountOf } from "../core/caller.ts";
import type { Turns } from "../core/structures/turn-queue.ts";
import type { Data } from "./data.ts";

/**
 * The turns of work for a project, among those of its account, which no caller has begun. What is published
 * does not stand behind all that is to be delivered, or sent again.
 */
export function turnsOf(
  { store, tenants }: Pick<Data, "store" | "tenants">,
  projectId: number,
  work: "project" | "deliveries" | "replays" = "project",
): Turns {
  const accountId = tenants.accountIdOf(projectId);
  return store.turns.of(accountOf({ accountId }), null, `${work}:${projectId}`);
}
