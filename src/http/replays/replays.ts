import { Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { invalid, notFound, Problem } from "../../core/errors.ts";
import type { Replay, ReplayFilter } from "../../store/log/replays.ts";
import { requirePlaces } from "../../pipeline/admission.ts";
import type { Matched } from "../../pipeline/replayer.ts";
import { commitChange } from "../framework/commit.ts";
import { visibleEndpoints } from "../shared/lookups.ts";
import { listShape, pageOf, pagingQuery } from "../shared/paging.ts";
import { isUncounted, REPLAYS_RUNNING, requireReplayRoom } from "../shared/room.ts";
import { noEndpoint, readReplayFilter, replayInputShape } from "./input.ts";
import { replayExample, replayOf, replayShape } from "./shape.ts";
import { type Answer, type AnyRoute, NO_FIELDS, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

/** What the routes below need together. */
type ReplaysNeeds = Needs<
  | "store"
  | "ids"
  | "tenants"
  | "endpoints"
  | "erasures"
  | "meter"
  | "replays"
  | "deliveryList"
  | "replayer"
  | "wallNow"
>;

/** Bulk replays. */
export function replaysRoutes(services: ReplaysNeeds): AnyRoute[] {
  return [createReplay(services), listReplays(services), readReplay(services), cancelReplay(services)];
}

/** What was asked for, as the audit log keeps it. */
const FILTER_FIELDS = Object.keys(replayInputShape.properties);

function createReplay(
  services: Needs<
    "store" | "ids" | "tenants" | "endpoints" | "erasures" | "meter" | "replays" | "deliveryList" | "replayer"
  >,
): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/replays",
    operationId: "createReplay",
    tag: "Replays",
    summary: "Replay many deliveries",
    description:
      "Takes the deliveries that match now, oldest first, and opens each one afresh, with its `webhook-id`. One whose " +
      "state has changed when its turn comes is left as it is. Test events are left out. It goes on by itself, also over a restart.",
    access: "manage",
    budget: "management",
    audit: { action: "replay.started", object: "replay", fields: FILTER_FIELDS },
    // All that matches is counted before the answer: some 13 µs each.
    waitMaxSeconds: 120,
    longWork: true,
    body: replayInputShape,
    bodyExample: { status: ["dead"], endpoint_id: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7", rate_per_second: 50 },
    answers: {
      202: { description: "It runs.", schema: replayShape, example: replayExample },
      200: {
        description: "What a dry run found.",
        schema: Type.Object({ matched: Type.Integer() }),
        example: { matched: 41 },
      },
    },
    refuses: {
      plan_limit_reached: TOO_MANY_MATCH,
      rate_limited: REPLAYS_RUNNING,
    },
    async handle(context) {
      const { caller, body, turns } = context;
      const filter = readReplayFilter(services, caller, body);
      if (!body.dry_run) requireReplayRoom(services, caller);
      const scope = { projectId: caller.projectId, visible: visibleEndpoints(services, caller) };
      const found = await services.replayer.count(scope, filter, turns);
      if (body.dry_run) return { status: 200, json: { matched: found.matched } };
      requirePlaces(services, caller, found.matched);
      if (isUncounted(caller)) context.takeByHand(found.matched);
      return commitChange(context, {
        write: () => insert(services, caller, filter, found),
        answer: (replay) => started(services, replay),
        remember: (replay) => services.replayer.run(replay),
      });
    },
  });
}

const TOO_MANY_MATCH = "More match than remain of the plan's deliveries for this month. Nothing was stored.";

/** Inside a write. */
function insert(
  services: Needs<"store" | "tenants" | "endpoints" | "erasures" | "meter" | "replays">,
  caller: Caller,
  filter: ReplayFilter,
  { matched, asOf }: Matched,
): Replay {
  const { projectId, consumerId } = caller;
  const ofConsumer = filter.consumerId !== null && { projectId, consumerId: filter.consumerId };
  // What is written now, with the text that was looked for, would outlive it.
  if (ofConsumer && services.erasures.wasAskedSince(ofConsumer, asOf))
    throw invalid("/consumer_id", "The consumer was erased while the deliveries were counted.");
  requireReplayRoom(services, caller);
  requirePlaces(services, caller, matched);
  return services.replays.insert({
    projectId,
    consumerId,
    filter: { ...filter, endpointConsumerId: endpointConsumer(services, filter) },
    matched,
    position: 0,
    last: asOf,
  });
}

/**
 * Inside a write. Throws 422 where the endpoint was deleted while the matches were counted: with its consumer
 * perhaps, of whom nothing is to be written any more.
 */
function endpointConsumer({ endpoints }: Needs<"endpoints">, { endpointId }: ReplayFilter): string | null {
  if (endpointId === null) return null;
  const endpoint = endpoints.current(endpointId);
  if (endpoint === undefined) throw noEndpoint();
  return endpoint.consumerId;
}

/** What was asked for may hold a text of the consumer whose data was looked for. */
function started(services: Needs<"ids">, replay: Replay): Answer {
  const { consumerId, endpointConsumerId } = replay.filter;
  return {
    status: 202,
    json: replayOf(services, replay),
    audited: { consumerId: consumerId ?? endpointConsumerId ?? null },
  };
}

function listReplays(services: Needs<"ids" | "replays">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/replays",
    operationId: "listReplays",
    tag: "Replays",
    summary: "List bulk replays",
    description: "Newest first. A portal token sees those that were asked for with its consumer's tokens.",
    access: "read",
    budget: "management",
    query: Type.Object(pagingQuery, { additionalProperties: false }),
    answers: { 200: { description: "A page of replays.", ...listShape(replayShape, replayExample) } },
    handle(context) {
      const { caller } = context;
      return pageOf(services, "rpl", context, {
        rows: (before, count) => services.replays.list(caller.projectId, caller.consumerId, before, count),
        show: (replay) => replayOf(services, replay),
      });
    },
  });
}

function readReplay(services: Needs<"ids" | "replays">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/replays/:id",
    operationId: "getReplay",
    tag: "Replays",
    summary: "Read how far a bulk replay is",
    access: "read",
    budget: "management",
    answers: { 200: { description: "The replay.", schema: replayShape, example: replayExample } },
    handle({ caller, params }) {
      return { status: 200, json: replayOf(services, findReplay(services, caller, params.id)) };
    },
  });
}

const NOT_RUNNING = "Only a replay that is running can be cancelled.";

function cancelReplay(services: Needs<"ids" | "replays" | "wallNow">): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/replays/:id/cancel",
    operationId: "cancelReplay",
    tag: "Replays",
    summary: "Stop a bulk replay",
    description: "What was replayed already stays so.",
    access: "manage",
    budget: "management",
    audit: { action: "replay.cancelled", object: "replay" },
    body: NO_FIELDS,
    bodyExample: {},
    answers: {
      200: {
        description: "The replay, cancelled.",
        schema: replayShape,
        example: { ...replayExample, status: "cancelled", completed_at: "2026-11-20T09:01:24.000Z" },
      },
    },
    refuses: { conflict: NOT_RUNNING },
    handle(context) {
      const { id, status } = findReplay(services, context.caller, context.params.id);
      if (status !== "running") throw new Problem("conflict", NOT_RUNNING);
      return context.commit(() => ({ status: 200, json: cancel(services, id) }));
    },
  });
}

/** Inside a write. Throws 409 where the replay came to its end a moment ago. */
function cancel(services: Needs<"ids" | "replays" | "wallNow">, id: number) {
  const { replays } = services;
  if (!replays.update(id, { status: "cancelled", completedAt: services.wallNow() })) {
    throw new Problem("conflict", NOT_RUNNING);
  }
  const replay = replays.get(id);
  if (replay === null) throw new Error("a replay is gone that was just cancelled");
  return replayOf(services, replay);
}

/** Throws 404 for an id that is malformed, unknown or foreign. */
function findReplay(services: Needs<"ids" | "replays">, caller: Caller, id: string): Replay {
  const key = services.ids.decode("rpl", id);
  const replay = key === null ? null : services.replays.get(key);
  const isForeign = caller.consumerId !== null && replay?.consumerId !== caller.consumerId;
  if (replay?.projectId !== caller.projectId || isForeign) throw notFound("replay");
  return replay;
}
