import { ingestRoutes } from "./ingest.ts";
import { openKeys } from "./provider-network.ts";
import { providerRoutes } from "./providers.ts";
import type { AnyRoute } from "./route.ts";
import type { Services } from "./services.ts";
import { sourceActionRoutes } from "./source-actions.ts";
import { SourceDesk } from "./source-desk.ts";
import { sourceStatsRoutes } from "./source-stats.ts";
import { sourceRoutes } from "./sources.ts";

/** Everything inbound (contract section 8): the routes share what is known of each source and of the providers' keys. */
export function inboundRoutes(services: Services): AnyRoute[] {
  const { sourceStats } = services.data;
  const count = sourceStats.count.bind(sourceStats);
  const desk = new SourceDesk({ ...services, count });
  const keys = openKeys(services);
  return [
    ...sourceRoutes(services, desk),
    ...sourceActionRoutes(services, desk, keys),
    ...sourceStatsRoutes(services),
    ...providerRoutes(services),
    ...ingestRoutes(services, desk, keys),
  ];
}
