import { Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { disabledConflict } from "../endpoints/change.ts";
import { invalid, notFound, Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { PLAN_LIMIT } from "../openapi/shared.ts";
import type { Endpoint, Event } from "../../core/model.ts";
import { piecewise, type Turns } from "../../core/structures/turn-queue.ts";
import { requirePlaces } from "../../pipeline/admission.ts";
import { mayGet } from "../../pipeline/new-delivery.ts";
import { enqueueReplayed, type Replayed, replayOne } from "../../pipeline/replay.ts";
import { commitChange } from "../framework/commit.ts";
import { type DeliveryAnswer, deliveryExample, deliveryOf, deliveryShape } from "../deliveries/shape.ts";
import { isUncounted, REPLAYS_RUNNING, requireReplayRoom } from "../shared/room.ts";
import { replayShape } from "../replays/shape.ts";
import { requireConfirmed } from "./durability.ts";
import { BODY_GONE } from "./shape.ts";
import { requireFewAdded, STILL_ON_ITS_WAY, STILL_SPREADING, WideReplay } from "./wide-replay.ts";
import { belongsTo, findEvent, seenEndpoint, visibleEndpoints } from "../shared/lookups.ts";
import { type Answer, type AnyRoute, type RequestContext, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { idText } from "../shared/shapes.ts";

const ENDPOINT_IDS_MAX = 100;

const bodyShape = Type.Object(
  {
    endpoint_ids: Type.Optional(
      Type.Array(idText("ep"), {
        minItems: 1,
        maxItems: ENDPOINT_IDS_MAX,
        uniqueItems: true,
        description:
          "Endpoints to send it to, also such as were added after it. Default: all that have a delivery of it.",
      }),
    ),
    new_message_id: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "False: the delivery is opened afresh and keeps its `webhook-id`, so that a consumer that has it drops it. " +
          `True: a new delivery with a \`webhook-id\` of its own. Of those an event gets up to ${limit("replayedOfEventMax").toLocaleString("en")} or so.`,
      }),
    ),
  },
  { additionalProperties: false },
);

/** A replay may open deliveries, make new ones, and be refused for the plan. */
type ReplayNeeds = Needs<
  | "store"
  | "ids"
  | "tenants"
  | "endpoints"
  | "events"
  | "fanouts"
  | "deliveries"
  | "eventDeliveries"
  | "notes"
  | "meter"
  | "bodyRetention"
  | "actors"
  | "replays"
  | "replayer"
>;

/** Replay of one event; bulk replays stand in replays.ts. */
export function eventReplayRoutes(services: ReplayNeeds): AnyRoute[] {
  return [replayEvent(services)];
}

function replayEvent(services: ReplayNeeds): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/events/:id/replay",
    operationId: "replayEvent",
    tag: "Events",
    summary: "Send an event again",
    description:
      "With the endpoints' settings of today, a new timestamp, a new signature and the full retry schedule. A delivery " +
      "that is still open starts its schedule again. To more than " +
      `${limit("eventRowsMax")} endpoints it goes slice by slice after the answer: \`replay\` is the bulk replay that does so.`,
    access: "manage",
    budget: "management",
    audit: { action: "event.replayed", object: "event", fields: Object.keys(bodyShape.properties) },
    body: bodyShape,
    bodyExample: { endpoint_ids: [deliveryExample.endpoint_id], new_message_id: false },
    answers: {
      202: {
        description: `The deliveries, on their way: at most the first ${limit("replayNamedMax")}.`,
        schema: Type.Object({ data: Type.Array(deliveryShape), replay: Type.Optional(replayShape) }),
        example: { data: [{ ...deliveryExample, status: "pending", waiting_for: null }] },
      },
    },
    refuses: {
      plan_limit_reached: PLAN_LIMIT,
      rate_limited: `${REPLAYS_RUNNING} To no more than ${limit("eventRowsMax")} endpoints it is always sent.`,
      conflict:
        "The endpoint is disabled: replay once it is enabled. Or the event's body is no longer kept, or it is still on its way to some of these endpoints for the first time, or it has all the deliveries that replays may add, a bulk replay of it is running that adds some, or the replica does not have it yet, which it was published to wait for.",
    },
    async handle(context) {
      const { caller, params, body } = context;
      // Without its data: it may wait in the line of long works.
      const event = findEvent(services, caller, params.id);
      if (!services.bodyRetention.has("bodies", event.id)) throw new Problem("conflict", BODY_GONE);
      requireConfirmed(services, event.id);
      if (!body.endpoint_ids && widthOf(services, caller, event) > limit("eventRowsMax")) {
        requireReplayRoom(services, caller);
        await context.beginWork();
      }
      const targets = body.endpoint_ids
        ? body.endpoint_ids.map((id, at) => namedTarget(services, caller, event, id, at))
        : await formerTargets(services, caller, event, context.turns);
      if (event.isTest || isUncounted(caller)) context.takeByHand(targets.length);
      return new EventReplay(services, caller, event, body.new_message_id ?? false).run(context, targets);
    },
  });
}

/** As many endpoints as may be read, at most: a consumer is not told how many of the project's there are. */
function widthOf(services: Needs<"endpoints">, caller: Caller, { deliveryCount }: Event): number {
  return visibleEndpoints(services, caller)?.size ?? deliveryCount;
}

/** An endpoint that the event is sent to again. */
interface Target {
  id: number;
  /** Its place in the body; null where the body names none. */
  at: number | null;
  /** The key of the newest delivery that it has of the event, where that was read. */
  known?: number | undefined;
}

/**
 * The endpoints that have a delivery of the event, each with its newest, as far as the caller sees them and
 * they take one: not deleted, not disabled. Each slice is done with before others have their turn. Throws 409
 * while some that the caller sees are still to get theirs: only a part of all would be sent to.
 */
async function formerTargets(
  { endpoints, eventDeliveries, fanouts }: Needs<"endpoints" | "eventDeliveries" | "fanouts">,
  caller: Caller,
  event: Event,
  turns: Turns,
): Promise<Target[]> {
  const visible = visibleEndpoints({ endpoints }, caller);
  const rest = fanouts.restOf(event.id);
  const requireWritten = (id: number) => {
    if (visible?.has(id) ?? true) throw new Problem("conflict", STILL_SPREADING);
  };
  await turns.inPieces(0, () => piecewise(rest, requireWritten));
  const targets = new Map<number, Target>();
  let isAnyDisabled = false;
  for await (const slice of eventDeliveries.slices(event.id, turns, visible)) {
    for (const { id: known, endpointId } of eventDeliveries.pick(event.id, slice)) {
      const endpoint = endpoints.get(endpointId);
      if (!endpoint || !mayGet(endpoint, event)) continue;
      if (endpoint.status === "disabled") isAnyDisabled = true;
      else targets.set(endpointId, { id: endpointId, at: null, known });
    }
  }
  if (isAnyDisabled && targets.size === 0) throw disabledConflict();
  return [...targets.values()];
}

/** The endpoint that the body names at this place. Throws 422, or 409 where it is disabled. */
function namedTarget(
  services: Needs<"ids" | "endpoints" | "deliveries">,
  caller: Caller,
  event: Event,
  id: string,
  at: number,
): Target {
  return { id: requireTaker(services, caller, event, seenEndpoint(services, caller, id), at).id, at };
}

function requireTaker(
  { deliveries }: Needs<"deliveries">,
  caller: Caller,
  event: Event,
  endpoint: Endpoint | null | undefined,
  at: number,
): Endpoint {
  const pointer = `/endpoint_ids/${at}`;
  if (!endpoint || !belongsTo(caller, endpoint)) throw invalid(pointer, "There is no such endpoint.");
  if (!mayGet(endpoint, event))
    throw invalid(pointer, "This endpoint belongs to another consumer than the event.");
  // Whoever may test one endpoint has not chosen a type and a body for all others.
  if (event.isTest && deliveries.findOf(event.id, endpoint.id) === null)
    throw invalid(pointer, "The event is a test: it is sent again only to the endpoint that it was for.");
  if (endpoint.status === "disabled") throw disabledConflict();
  return endpoint;
}

/** One event on its way to endpoints again. */
class EventReplay {
  constructor(
    private readonly services: ReplayNeeds,
    private readonly caller: Caller,
    private readonly event: Event,
    private readonly isNewMessage: boolean,
  ) {}

  /** In one transaction; what is wider than an event that is written in one, by a bulk replay. */
  run(context: Pick<RequestContext, "commit" | "turns">, targets: readonly Target[]): Promise<Answer> {
    this.requirePlaces();
    if (targets.length > limit("eventRowsMax")) {
      const wide = new WideReplay(this.services, this.caller, this.event, this.isNewMessage);
      return wide.run(context, targets);
    }
    const toPark = this.services.actors.endpointsToPark(targets);
    return commitChange(context, {
      write: () => this.write(targets, toPark),
      answer: (replayed) => ({ status: 202, json: { data: replayed.map((one) => this.describe(one)) } }),
      remember: (replayed) => enqueueReplayed(this.services.actors, replayed),
    });
  }

  /** As before the write: where all are disabled, the answer says so. */
  private write(targets: readonly Target[], toPark: ReadonlySet<number>): Replayed[] {
    const { actors, deliveries, endpoints, events, fanouts } = this.services;
    this.requirePlaces();
    if (events.get(this.event.id) === null) throw notFound("event");
    const ids = [...new Set(targets.flatMap((target) => this.takerOf(target)?.id ?? []))];
    const takers = ids.flatMap((id) => endpoints.current(id) ?? []);
    const newest = this.isNewMessage ? null : deliveries.newestOf(this.event.id, ids);
    if (ids.some((id) => !newest?.has(id))) requireFewAdded(this.services, this.event);
    const onTheirWay = newest ? fanouts.endpointsOf(this.event.id) : [];
    const replayed = takers.flatMap((endpoint) => {
      const known = newest?.get(endpoint.id) ?? null;
      if (known === null && onTheirWay.includes(endpoint.id)) throw new Problem("conflict", STILL_ON_ITS_WAY);
      return replayOne(this.services, actors.clock, this.event, endpoint, known, toPark) ?? [];
    });
    if (replayed.length === 0 && targets.some(({ id }) => endpoints.current(id)?.status === "disabled"))
      throw disabledConflict();
    return replayed;
  }

  /**
   * The endpoint as it is by now: it may have been disabled, deleted or given to another consumer since
   * the request came. What the body names is refused then; of all others the rest is sent. Null where it
   * takes nothing.
   */
  private takerOf({ id, at }: Target): Endpoint | null {
    const { caller, event } = this;
    const endpoint = this.services.endpoints.current(id);
    if (at !== null) return requireTaker(this.services, caller, event, endpoint, at);
    if (!endpoint || !belongsTo(caller, endpoint) || !mayGet(endpoint, event)) return null;
    return endpoint.status === "disabled" ? null : endpoint;
  }

  /** Tests go on whatever the plan says, and so do their replays. */
  private requirePlaces(): void {
    if (!this.event.isTest) requirePlaces(this.services, this.caller);
  }

  private describe({ delivery }: Replayed): DeliveryAnswer {
    return deliveryOf(this.services, delivery, this.event.type);
  }
}
