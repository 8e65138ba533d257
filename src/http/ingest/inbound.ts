import { ingestRoutes } from "./ingest.ts";
import { openKeys } from "../sources/provider-network.ts";
import { providerRoutes } from "../sources/providers.ts";
import type { AnyRoute } from "../framework/route.ts";
import type { Services } from "../framework/services.ts";
import { sourceActionRoutes } from "../sources/actions.ts";
import { SourceDesk } from "../sources/desk.ts";
import { sourceStatsRoutes } from "../sources/stats.ts";
import { sourceRoutes } from "../sources/sources.ts";

/** Everything inbound: the routes share what is known of each source and of the providers' keys. */
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
