import type { DoorNeeds } from "./door.ts";
import { ingestRoutes } from "./ingest.ts";
import { openKeys } from "../sources/provider-network.ts";
import { providerRoutes } from "../sources/providers.ts";
import type { AnyRoute } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { sourceActionRoutes } from "../sources/actions.ts";
import { SourceMonitor } from "../sources/monitor.ts";
import { sourceStatsRoutes } from "../sources/stats.ts";
import { sourceRoutes } from "../sources/sources.ts";

/** Everything inbound: the routes share what is known of each source and of the providers' keys. */
export function inboundRoutes(
  services: DoorNeeds & Needs<"sourceStats" | "monotonic" | "onRejected" | "log">,
): AnyRoute[] {
  const { ids, wallNow, monotonic, onRejected, log, sources, sourceStats } = services;
  const count = sourceStats.count.bind(sourceStats);
  const isThere = (id: number) => sources.get(id) !== undefined;
  const monitor = new SourceMonitor({ ids, wallNow, monotonic, onRejected, log, count, isThere });
  sources.onDelete((id) => monitor.forget(id));
  const keys = openKeys(services);
  return [
    ...sourceRoutes(services, monitor),
    ...sourceActionRoutes(services, monitor, keys),
    ...sourceStatsRoutes(services),
    ...providerRoutes(services),
    ...ingestRoutes(services, monitor, keys),
  ];
}
