import { BUILT_IN_PLANS, type Plan } from "../../src/core/plans.ts";
import { isPolled } from "../../src/destinations/destinations.ts";
import { Retention } from "../../src/maintenance/retention.ts";
import { type Api, startApi } from "../http/log-kit.ts";
import { SetClock } from "./clock.ts";

/** The API under a plan that keeps events for ten days and bodies for two, with the job that removes them. */
export async function startRetention(
  kept: Partial<Plan> = {},
): Promise<{ api: Api; clock: SetClock; retention: Retention }> {
  const clock = new SetClock(Date.UTC(2026, 10, 21));
  const days = { retentionDays: 10, bodyRetentionDays: 2 };
  const unlimited = { ...BUILT_IN_PLANS["free"], deliveries: null, blocks: false, ...days, ...kept };
  const api = await startApi({}, clock, { ...BUILT_IN_PLANS, unlimited });
  const expires = ({ kind }: { kind: string }) => isPolled(kind);
  return { api, clock, retention: new Retention({ data: api.data, actors: api.services.actors, expires }) };
}
