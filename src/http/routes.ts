import { apiKeyRoutes } from "./api-keys.ts";
import { auditRoutes } from "./audit.ts";
import { deliveriesRoutes } from "./deliveries.ts";
import { destinationKindRoutes } from "./destination-kinds.ts";
import { endpointTestRoutes } from "./endpoint-actions.ts";
import { endpointSecretRoutes } from "./endpoint-secrets.ts";
import { statsRoutes } from "./endpoint-stats.ts";
import { endpointRoutes } from "./endpoints.ts";
import { erasureRoutes } from "./erasures.ts";
import { eventReplayRoutes } from "./event-replay.ts";
import { eventTypeRoutes } from "./event-types.ts";
import { eventsRoutes } from "./events.ts";
import { inboundRoutes } from "./inbound.ts";
import { operatorRoutes } from "./operator.ts";
import { portalLinkRoutes } from "./portal-links.ts";
import { portalPageRoutes } from "./portal-page.ts";
import { portalRoutes } from "./portal.ts";
import { pollRoutes } from "./poll.ts";
import { previewRoutes } from "./preview.ts";
import { projectRoutes } from "./project.ts";
import { publishRoutes } from "./publish.ts";
import { replaysRoutes } from "./replays.ts";
import { usageRoutes } from "./usage.ts";
import type { AnyRoute } from "./route.ts";
import type { Services } from "./services.ts";

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
    auditRoutes,
    portalPageRoutes,
  ];
  return resources.flatMap((routesOf) => routesOf(services));
}
