import { piecewise, type Turns } from "../core/structures/turn-queue.ts";
import type { Durability, Endpoint, Source } from "../core/model.ts";
import { addressesOf } from "../destinations/destination.ts";
import { findKind } from "../destinations/destinations.ts";
import type { Logger } from "../platform/log.ts";
import { SettingsError } from "../platform/start-error.ts";
import type { Meter } from "../store/counts/meter.ts";
import type { Guard } from "../transport/guard.ts";

/** What a start asks of settings that were changed over a database that was made under others. */

/** Throws SettingsError where an account is on a plan that is not there any more. */
export function requirePlans({ missingPlans }: Pick<Meter, "missingPlans">): void {
  const problems = [...missingPlans].map(([plan, accounts]) => {
    const example = JSON.stringify({ [plan]: { deliveries: 10_000, blocks: true, retention_days: 30 } });
    const who = accounts === 1 ? "1 account is" : `${accounts} accounts are`;
    return `SEALPOST_PLANS lacks the plan ${JSON.stringify(plan)}, which ${who} on, for example SEALPOST_PLANS=${example}`;
  });
  if (problems.length > 0) throw new SettingsError(problems);
}

/**
 * Endpoints whose address was allowed once and is not now: their deliveries will die as `blocked`. Nobody
 * waits for it: of 100,000 endpoints it takes half a second, in which others have their turns.
 */
export async function warnOfForbidden(
  {
    endpoints,
    store,
  }: { endpoints: { all(): Iterable<Endpoint> }; store: { turns: Pick<Turns, "inPieces"> } },
  guard: Pick<Guard, "checkUrl">,
  logger: Pick<Logger, "log">,
): Promise<void> {
  const forbidden = new Set<number>();
  const lookAt = ({ id, kind, config, credentials }: Endpoint) => {
    const known = findKind(kind);
    const addresses = known ? addressesOf(known, { ...config, ...credentials }) : [];
    if (addresses.some(({ url }) => !guard.checkUrl(url).ok)) forbidden.add(id);
  };
  await store.turns.inPieces(0, () => piecewise(endpoints.all(), lookAt));
  if (forbidden.size === 0) return;
  const hint =
    "The addresses of some endpoints are not allowed any more; see SEALPOST_ALLOW_PRIVATE_DESTINATIONS.";
  logger.log("warn", hint, { endpoints: forbidden.size });
}

/** Whoever is to be answered after the replica is refused for as long as there is none. */
export function warnOfNoReplica(
  { durability }: { durability: Durability },
  { sources }: { sources: { all(): Iterable<Pick<Source, "durability">> } },
  logger: Pick<Logger, "log">,
): void {
  const isAsked = durability === "replica" || [...sources.all()].some((one) => one.durability === "replica");
  if (!isAsked) return;
  const hint =
    "SEALPOST_DURABILITY or the durability of a source is replica, and nobody replicates the database: such requests are answered 503.";
  logger.log("warn", hint);
}
