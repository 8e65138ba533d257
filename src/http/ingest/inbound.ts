import { ingestRoutes } from "./ingest.ts";
import { openKeys } from "../sources/provider-network.ts";
import { providerRoutes } from "../sources/providers.ts";
import type { AnyRoute } from "../framework/route.ts";
import type { Services } from "../framework/services.ts";
import { sourceActionRoutes } from "../sources/actions.ts";
import { SourceMonitor } from "../sources/monitor.ts";
import { sourceStatsRoutes } from "../sources/stats.ts";
import { sourceRoutes } from "../sources/sources.ts";

/** Everything inbound: the routes share what is known of each source and of the providers' keys. */
export function inboundRoutes(services: Services): AnyRoute[] {
  const { sourceStats } = services.data;
  const count = sourceStats.count.bind(sourceStats);
  const monitor = new SourceMonitor({ ...services, count });
  const keys = openKeys(services);
  return [
    ...sourceRoutes(services, monitor),
    ...sourceActionRoutes(services, monitor, keys),
    ...sourceStatsRoutes(services),
    ...providerRoutes(services),
    ...ingestRoutes(services, monitor, keys),
  ];
}
