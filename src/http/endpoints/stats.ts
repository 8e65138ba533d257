import { Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import type { Endpoint } from "../../core/model.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { keyTime } from "../../core/ids.ts";
import type { StatNumbers, StatPoint, StatSpan, StatSum } from "../../store/counts/stats.ts";
import { deliveryExample, deliveryStatusShape } from "../deliveries/shape.ts";
import { endpointsOf, findEndpoint, seenEndpoint } from "../shared/lookups.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, timeShape, timeText } from "../shared/shapes.ts";
import {
  idsShape,
  readIds,
  readSpan,
  SPAN_TEXT,
  spanQuery,
  type StatsQuery,
  statsQuery,
} from "../shared/stats-query.ts";

/** Numbers for charts: of one endpoint, and of all that the caller may see. */
export function statsRoutes(
  services: Needs<"ids" | "endpoints" | "deliveries" | "index" | "stats" | "tally" | "store">,
): AnyRoute[] {
  return [endpointStatsRoute(services), allStatsRoute(services), statsByEndpointRoute(services)];
}

const numbers = {
  delivered: Type.Integer({ description: "Deliveries that arrived." }),
  failed: Type.Integer({ description: "Attempts that failed." }),
  dead: Type.Integer({ description: "Deliveries that were given up." }),
  p50_ms: nullable(Type.Integer(), "Of the durations of all attempts, to within 4 %."),
  p95_ms: nullable(Type.Integer()),
};

const pointShape = Type.Object({ at: timeShape, ...numbers }, { $id: "StatPoint" });
const totalShape = Type.Object(numbers, { $id: "StatTotal" });
const waitingShape = Type.Integer({
  description: "Deliveries that are open now: not tried yet, or to be tried again.",
});

const totalExample = { delivered: 412, failed: 3, dead: 0, p50_ms: 84, p95_ms: 310 };

const answers = {
  200: {
    description: "Points, oldest first; those at which nothing happened are left out.",
    schema: Type.Object({ data: Type.Array(pointShape), total: totalShape, waiting: waitingShape }),
    example: {
      data: [{ at: "2026-11-20T09:00:00.000Z", ...totalExample }],
      total: totalExample,
      waiting: 0,
    },
  },
};

function endpointStatsRoute(services: Needs<"ids" | "endpoints" | "stats" | "tally" | "store">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/endpoints/:id/stats",
    operationId: "getEndpointStats",
    tag: "Endpoints",
    summary: "Read the numbers of an endpoint",
    description: SPAN_TEXT,
    access: "read",
    budget: "management",
    longWork: true,
    query: statsQuery,
    answers,
    async handle({ caller, params, query, turns }) {
      const endpoint = findEndpoint(services, caller, params.id);
      const sum = services.stats.over(spanOf(services, query), turns);
      await sum.addEndpoint(endpoint.id);
      const shown = await pointsOf(sum);
      return { status: 200, json: { ...shown, waiting: services.tally.openOf(endpoint.id) } };
    },
  });
}

function allStatsRoute(services: Needs<"endpoints" | "stats" | "tally" | "store">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/stats",
    operationId: "getStats",
    tag: "Endpoints",
    summary: "Read the numbers of all endpoints together",
    description: `Of all endpoints that the caller may see. ${SPAN_TEXT}`,
    access: "read",
    budget: "management",
    longWork: true,
    query: statsQuery,
    answers,
    async handle({ caller, query, turns }) {
      const sum = services.stats.over(spanOf(services, query), turns);
      await addAll(services, caller, sum);
      const shown = await pointsOf(sum);
      return { status: 200, json: { ...shown, waiting: await countWaiting(services, caller, turns) } };
    },
  });
}

const endpointTotalShape = Type.Object(
  {
    endpoint_id: Type.String(),
    ...numbers,
    waiting: waitingShape,
    last_delivery: nullable(
      Type.Object(
        { id: Type.String(), status: deliveryStatusShape, created_at: timeShape },
        { $id: "LastDelivery" },
      ),
      "The newest.",
    ),
  },
  { $id: "EndpointTotal" },
);

function statsByEndpointRoute(
  services: Needs<"ids" | "endpoints" | "deliveries" | "index" | "stats" | "tally" | "store">,
): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/stats/endpoints",
    operationId: "getStatsByEndpoint",
    tag: "Endpoints",
    summary: "Read the numbers of several endpoints, each for itself",
    description: "For a list of endpoints. Those that the caller does not see are left out.",
    access: "read",
    budget: "management",
    longWork: true,
    query: Type.Object({ endpoint_ids: idsShape, ...spanQuery }, { additionalProperties: false }),
    answers: {
      200: {
        description: "In the order of the ids, each once.",
        schema: Type.Object({ data: Type.Array(endpointTotalShape) }),
        example: {
          data: [
            {
              endpoint_id: deliveryExample.endpoint_id,
              ...totalExample,
              waiting: 1,
              last_delivery: {
                id: deliveryExample.id,
                status: "delivered",
                created_at: deliveryExample.created_at,
              },
            },
          ],
        },
      },
    },
    async handle({ caller, query, turns }) {
      const ids = readIds("endpoint_ids", query.endpoint_ids);
      const span = readSpan(query, services.store.now());
      const data = [];
      for (const endpoint of new Set(ids.flatMap((id) => seenEndpoint(services, caller, id) ?? []))) {
        const sum = services.stats.over({ by: "hour", ...span }, turns);
        await sum.addEndpoint(endpoint.id);
        data.push(totalOf(services, endpoint, sum));
      }
      return { status: 200, json: { data } };
    },
  });
}

function totalOf(
  { index, deliveries, ids, tally }: Needs<"ids" | "deliveries" | "index" | "tally">,
  endpoint: Endpoint,
  sum: StatSum,
) {
  const { id: endpointId } = endpoint;
  const [newest] = index.below([endpointId], Number.MAX_SAFE_INTEGER, 1);
  const last = newest === undefined ? null : deliveries.get(newest);
  return {
    endpoint_id: ids.encode("ep", endpointId),
    ...numbersOf(sum.total()),
    waiting: tally.openOf(endpointId),
    last_delivery: last && {
      id: ids.encode("msg", last.id),
      status: last.status,
      created_at: timeText(keyTime(last.id)),
    },
  };
}

function spanOf(services: Needs<"store">, query: StatsQuery): StatSpan {
  return { by: query.by ?? "hour", ...readSpan(query, services.store.now()) };
}

/** A project's numbers stand by themselves; those of a consumer's endpoints are added up. */
async function addAll(services: Needs<"endpoints" | "stats">, caller: Caller, sum: StatSum): Promise<void> {
  const { stats } = services;
  if (caller.consumerId === null) {
    await sum.addProject(caller.projectId);
    for (const id of stats.leavingOf(caller.projectId)) await sum.subtractEndpoint(id);
    return;
  }
  for (const { id } of endpointsOf(services, caller).below()) await sum.addEndpoint(id);
}

async function countWaiting(
  services: Needs<"endpoints" | "tally">,
  caller: Caller,
  turns: Turns,
): Promise<number> {
  let waiting = 0;
  for (const endpoint of endpointsOf(services, caller).below()) {
    // For each it is a microsecond: a turn for each would be as many turns of everybody who waits.
    if (turns.isOver) await turns.next();
    waiting += services.tally.openOf(endpoint.id);
  }
  return waiting;
}

async function pointsOf(sum: StatSum) {
  return { data: (await sum.points()).map(pointOf), total: numbersOf(sum.total()) };
}

function pointOf({ at, ...point }: StatPoint) {
  return { at: timeText(at), ...numbersOf(point) };
}

function numbersOf({ delivered, failed, dead, p50Ms, p95Ms }: StatNumbers) {
  return { delivered, failed, dead, p50_ms: p50Ms, p95_ms: p95Ms };
}
