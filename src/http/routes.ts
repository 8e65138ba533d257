import { apiKeyRoutes } from "./tenants/api-keys.ts";
import { auditRoutes } from "./tenants/audit.ts";
import { deliveriesRoutes } from "./deliveries/deliveries.ts";
import { destinationKindRoutes } from "./endpoints/destination-kinds.ts";
import { endpointTestRoutes } from "./endpoints/test-event.ts";
import { endpointSecretRoutes } from "./endpoints/secrets.ts";
import { statsRoutes } from "./endpoints/stats.ts";
import { endpointRoutes } from "./endpoints/endpoints.ts";
import { erasureRoutes } from "./erasures/erasures.ts";
import { eventReplayRoutes } from "./events/replay.ts";
import { eventTypeRoutes } from "./event-types/event-types.ts";
import { eventsRoutes } from "./events/events.ts";
import { inboundRoutes } from "./ingest/inbound.ts";
import { moveRoutes } from "./tenants/moves.ts";
import { operatorRoutes } from "./tenants/operator.ts";
import { portalLinkRoutes } from "./portal/links.ts";
import { portalPageRoutes } from "./portal/page.ts";
import { portalRoutes } from "./portal/portal.ts";
import { pollRoutes } from "./endpoints/poll.ts";
import { previewRoutes } from "./preview/preview.ts";
import { projectRoutes } from "./tenants/project.ts";
import { publishRoutes } from "./events/publish.ts";
import { replaysRoutes } from "./replays/replays.ts";
import { usageRoutes } from "./tenants/usage.ts";
import type { AnyRoute } from "./framework/route.ts";
import type { Services } from "./framework/services.ts";

/** Every resource of the API, in the order of the documentation. */
export function allRoutes(services: Services): AnyRoute[] {
  const resources = [
    publishRoutes,
    eventsRoutes,
    eventReplayRoutes,
    erasureRoutes,
    deliveriesRoutes,
    replaysRoutes,
    endpointRoutes,
    endpointSecretRoutes,
    endpointTestRoutes,
    destinationKindRoutes,
    pollRoutes,
    previewRoutes,
    statsRoutes,
    eventTypeRoutes,
    inboundRoutes,
    projectRoutes,
    apiKeyRoutes,
    portalLinkRoutes,
    portalRoutes,
    usageRoutes,
    operatorRoutes,
    moveRoutes,
    auditRoutes,
    portalPageRoutes,
  ];
  return resources.flatMap((routesOf) => routesOf(services));
}
