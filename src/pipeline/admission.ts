import type { Caller } from "../core/caller.ts";
import { Problem } from "../core/errors.ts";
import { limit } from "../core/limits.ts";
import { monthAt } from "../core/plans.ts";
import type { Data } from "../store/data.ts";

/** What an account's plan lets in, and what it turns away. */

const RETRY_SECONDS_MAX = 3600;

type PlanParts = Pick<Data, "store" | "tenants" | "meter">;
type CallerScope = Pick<Caller, "projectId" | "consumerId">;

/**
 * Throws 402 where the plan has no room for `count` deliveries more; none is asked for where one has at least
 * to be left.
 */
export function requirePlaces(data: PlanParts, caller: CallerScope, count = 0): void {
  const remaining = data.meter.remaining(caller.projectId);
  if (remaining === null || (remaining > 0 && count <= remaining)) return;
  const state = remaining === 0 ? "they are used up" : `${remaining} remain, fewer than these ${count}`;
  throw noPlace(data, caller, state);
}

/** A consumer is told nothing of the plan: what remains of it counts what goes to all others. */
export function noPlace({ tenants, meter, store }: PlanParts, caller: CallerScope, state: string): Problem {
  const { projectId, consumerId } = caller;
  const turn = `The next month begins ${new Date(monthAt(store.now()).end).toISOString()}.`;
  if (consumerId !== null)
    return new Problem("plan_limit_reached", `The account's plan has no room for this. ${turn}`);
  const account = tenants.account(tenants.accountIdOf(projectId));
  const plan = account && meter.planOf(account);
  const included = `The plan ${account?.plan} includes ${plan?.deliveries?.toLocaleString("en")} deliveries a month`;
  return new Problem("plan_limit_reached", `${included}, and ${state}. ${turn}`);
}

/** Throws 429 where so many inbound events wait for the plan that no other may. */
export function requireWaitingRoom(data: Pick<Data, "store" | "meter">, projectId: number): void {
  const waiting = limit("planWaitingEventsMax");
  if (data.meter.waitingEvents(projectId) < waiting) return;
  const untilNextMonth = Math.ceil((monthAt(data.store.now()).end - data.store.now()) / 1000);
  const headers = { "retry-after": String(Math.min(RETRY_SECONDS_MAX, untilNextMonth)) };
  const detail = `The plan's deliveries are used up, and ${waiting} events wait for the next month already.`;
  throw new Problem("rate_limited", detail, { headers });
}
