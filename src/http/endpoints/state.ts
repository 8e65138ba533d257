import { withoutWaits } from "../../core/delivery.ts";
import { type Endpoint, HEALTHY, isOpenedAgain } from "../../core/model.ts";
import { changeEndpoint, disabledConflict } from "./change.ts";
import { findEndpoint } from "../shared/lookups.ts";
import { endpointExample, endpointOf, endpointShape } from "./shape.ts";
import { type Answer, type AnyRoute, type RequestContext, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

/** Pause, resume, enable: each answers 200 with the endpoint, also where nothing was left to do. */
export function endpointStateRoutes(services: Needs<"ids" | "endpoints" | "health" | "actors">): AnyRoute[] {
  return [pauseRoute(services), resumeRoute(services), enableRoute(services)];
}

type EndpointContext = RequestContext<"/v1/endpoints/:id", "manage">;

const answered = (description: string, status: "active" | "paused") => ({
  description,
  schema: endpointShape,
  example: { ...endpointExample, status },
});

function pauseRoute(services: Needs<"ids" | "endpoints" | "health" | "actors">): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/endpoints/:id/pause",
    operationId: "pauseEndpoint",
    tag: "Endpoints",
    summary: "Pause an endpoint",
    description: "Its deliveries wait and lose nothing; the pause outlives a restart.",
    access: "manage",
    budget: "management",
    audit: { action: "endpoint.paused", object: "endpoint" },
    answers: { 200: answered("It is paused.", "paused") },
    refuses: { conflict: "It is disabled." },
    handle: (context) => setStatus(services, context, "paused"),
  });
}

function resumeRoute(services: Needs<"ids" | "endpoints" | "health" | "actors">): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/endpoints/:id/resume",
    operationId: "resumeEndpoint",
    tag: "Endpoints",
    summary: "Resume an endpoint",
    description:
      "What waited goes out, oldest first, and at once: a backoff and a break that the receiver asked for end, also where the endpoint " +
      "was not paused. After a pause the failures of before it are forgotten. What was tried before keeps to its retry schedule.",
    access: "manage",
    budget: "management",
    audit: { action: "endpoint.resumed", object: "endpoint" },
    answers: { 200: answered("It is active.", "active") },
    refuses: { conflict: "It is disabled; enable it." },
    handle: (context) => setStatus(services, context, "active"),
  });
}

function setStatus(
  services: Needs<"ids" | "endpoints" | "health" | "actors">,
  context: EndpointContext,
  status: "active" | "paused",
): Answer | Promise<Answer> {
  const { actors, health } = services;
  const endpoint = findEndpoint(services, context.caller, context.params.id);
  const resumes = status === "active";
  const isDone = endpoint.status === status && !(resumes && actors.isLeftAlone(endpoint.id));
  if (isDone) return { status: 200, json: endpointOf(services, endpoint) };
  let isOpened = false;
  const change = (current: Endpoint) => {
    if (current.status === "disabled") throw disabledConflict();
    isOpened = isOpenedAgain(current, { status });
    // Whether or not something waited when it was asked for: an answer may have come since.
    if (resumes) health.set(current.id, isOpened ? HEALTHY : withoutWaits(health.get(current.id)));
    return isOpened ? { status, openedAt: actors.clock.now() } : { status };
  };
  const answer = (made: Endpoint) =>
    isOpened ? answerOpened(services, made) : { status: 200, json: endpointOf(services, made) };
  // Refused before the write, so that a refusal costs its neighbours in the transaction nothing.
  if (endpoint.status === "disabled") throw disabledConflict();
  return changeEndpoint(services, context, endpoint.id, change, answer, ({ id }) => {
    if (resumes) actors.clearWaits(id);
  });
}

function enableRoute(services: Needs<"ids" | "endpoints" | "health" | "actors">): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/endpoints/:id/enable",
    operationId: "enableEndpoint",
    tag: "Endpoints",
    summary: "Enable an endpoint that was disabled",
    description:
      "After a 410, or five days without a success. Its failures are forgotten; what died meanwhile may be replayed. An " +
      "endpoint that is not disabled stays as it is.",
    access: "manage",
    budget: "management",
    audit: { action: "endpoint.enabled", object: "endpoint" },
    answers: { 200: answered("It is enabled.", "active") },
    handle(context) {
      const endpoint = findEndpoint(services, context.caller, context.params.id);
      if (endpoint.status !== "disabled") return { status: 200, json: endpointOf(services, endpoint) };
      const answer = (made: Endpoint) => answerOpened(services, made);
      return changeEndpoint(services, context, endpoint.id, (current) => enable(services, current), answer);
    },
  });
}

/** The actor forgets the failures once it hears of the change; the answer is made before. */
function answerOpened(services: Needs<"ids" | "endpoints" | "health" | "actors">, made: Endpoint): Answer {
  return { status: 200, json: { ...endpointOf(services, made), failing_since: null } };
}

/** Inside the write: the row, and the health that a restart would read. */
function enable({ health }: Needs<"health">, current: Endpoint): Partial<Endpoint> {
  if (current.status !== "disabled") return {};
  health.set(current.id, HEALTHY);
  return { status: "active", disabledReason: null };
}
