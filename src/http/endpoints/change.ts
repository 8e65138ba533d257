import type { Caller } from "../../core/caller.ts";
import { invalid, notFound, Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { type Endpoint, HEALTHY, isSameDestination } from "../../core/model.ts";
import { rotated } from "../../core/signing.ts";
import { commitChange } from "../framework/commit.ts";
import { belongsTo } from "../shared/lookups.ts";
import { requireRoomFor, requireWeight } from "../shared/room.ts";
import { endpointWeight } from "../../store/resources/endpoint-weights.ts";
import type { NewEndpoint } from "../../store/resources/endpoints.ts";
import { endpointOf } from "./shape.ts";
import type { Answer, RequestContext } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

/** What every change of one endpoint goes through: how it is written and takes effect. */

type Owner = Pick<Endpoint, "projectId" | "consumerId">;

/**
 * Inside a write: throws 422 where the project, or the consumer, has as many endpoints as it may have, or
 * their settings would weigh too much.
 */
export function requireRoom(services: Needs<"endpoints">, made: NewEndpoint): void {
  requireRoomFor("endpointsPerProjectMax", services.endpoints.ofProject(made.projectId));
  requireConsumerRoom(services, made);
  const weight = endpointWeight(made);
  requireWeights(services, made, weight, weight);
}

function requireConsumerRoom({ endpoints }: Needs<"endpoints">, { projectId, consumerId }: Owner): void {
  if (consumerId === null) return;
  const max = limit("endpointsPerConsumerMax");
  if (endpoints.countOf(projectId, consumerId) < max) return;
  throw invalid("/consumer_id", `A consumer has at most ${max} endpoints.`);
}

/**
 * Throws 422 where an endpoint's settings, heavier than before or brought to another consumer, would make all
 * together too heavy.
 */
export function requireLighter(services: Needs<"endpoints">, current: Endpoint, made: Endpoint): void {
  const weight = endpointWeight(made);
  const added = weight - endpointWeight(current);
  requireWeights(services, made, added, made.consumerId === current.consumerId ? added : weight);
}

/** Each in bytes: what is added to the project's endpoints, and to the consumer's. */
function requireWeights(
  { endpoints }: Needs<"endpoints">,
  { projectId, consumerId }: Owner,
  added: number,
  addedToConsumer: number,
): void {
  if (consumerId !== null) {
    const held = endpoints.ofConsumer(projectId, consumerId);
    requireWeight("endpointsOfConsumerBytesMax", held, addedToConsumer);
  }
  requireWeight("endpointsOfProjectBytesMax", endpoints.ofProject(projectId), added);
}

/**
 * Inside a write: what becomes of an endpoint that another consumer gets. Throws where that cannot be: what
 * it got so far, and the numbers of that, stay with whom it was for. A consumer that it is taken from may
 * know its secret.
 */
export function moveTo(
  services: Needs<"endpoints" | "index" | "fanouts">,
  current: Endpoint,
  consumerId: string | null,
): Partial<Endpoint> {
  if (consumerId === current.consumerId) return {};
  requireConsumerRoom(services, { projectId: current.projectId, consumerId });
  const { fanouts, index } = services;
  if (!index.isEmpty(current.id) || index.hasHours(current.id))
    throw new Problem("conflict", "It had deliveries: its consumer stays. Create another endpoint.");
  // It may be among those that a wide event, whose count is told already, still has a delivery for.
  if (fanouts.isPending(current.projectId))
    throw new Problem(
      "conflict",
      "Deliveries of an event that goes to many are still to be written, and it may get one: its consumer stays until they are. Try again, or create another endpoint.",
    );
  return current.consumerId === null ? {} : rotated(current, null);
}

type Committer = Pick<RequestContext, "commit"> & { readonly caller: Caller };

/**
 * Changes an endpoint as it stands at the moment of the write, in one durable transaction with its answer
 * (default: 200 with the endpoint); it takes effect at the next attempt. `change` may throw a Problem:
 * nothing is written then.
 */
export function changeEndpoint(
  services: Needs<"ids" | "endpoints" | "health" | "actors">,
  context: Committer,
  id: number,
  change: (current: Endpoint) => Partial<Endpoint>,
  answer: (made: Endpoint) => Answer = (made) => ({ status: 200, json: endpointOf(services, made) }),
  remember: (made: Endpoint) => void = () => {},
): Promise<Answer> {
  const { endpoints } = services;
  return commitChange(context, {
    write() {
      let before: unknown;
      let moved = false;
      const made = endpoints.update(id, (current) => {
        // The endpoint may be another consumer's since the caller found it.
        if (!belongsTo(context.caller, current)) throw notFound("endpoint");
        before = endpointOf(services, current);
        const changes = change(current);
        moved = !isSameDestination(current, { ...current, ...changes });
        return changes;
      });
      if (made === null) throw notFound("endpoint");
      // How the destination before has been answering says nothing of this one.
      if (moved) services.health.set(id, HEALTHY);
      return { made, before };
    },
    answer({ made, before }) {
      const after = made.status === "deleted" ? null : endpointOf(services, made);
      return { ...answer(made), audited: { before, after } };
    },
    remember({ made }) {
      endpoints.announce(made);
      remember(made);
    },
  });
}

/** 409, for what an endpoint that is disabled cannot do. */
export function disabledConflict(): Problem {
  return new Problem("conflict", "This endpoint is disabled. Enable it first.");
}
