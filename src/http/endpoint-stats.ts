import { Type } from "@sinclair/typebox";
import { invalid } from "../core/errors.ts";
import type { StatPoint } from "../store/stats.ts";
import { findEndpoint, endpointsOf } from "./endpoint-change.ts";
import { parseTime, timeParameter } from "./paging.ts";
import { type AnyRoute, route } from "./route.ts";
import type { Services } from "./services.ts";
import { nullable, oneOf, timeShape, timeText } from "./shapes.ts";

/** Numbers for charts: of one endpoint, and of all that the caller may see. */
export function statsRoutes(services: Services): AnyRoute[] {
  return [endpointStatsRoute(services), allStatsRoute(services)];
}

const DAY_MS = 86_400_000;
/** What is answered unless said otherwise, and the longest span. */
const SPANS = {
  hour: { usualMs: DAY_MS, maxMs: 31 * DAY_MS, maxText: "31 days by hour" },
  day: { usualMs: 30 * DAY_MS, maxMs: 366 * DAY_MS, maxText: "366 days by day" },
} as const;

const statsQuery = Type.Object(
  {
    by: Type.Optional(
      oneOf(["hour", "day"], { description: "The width of a point, in UTC. Default `hour`." }),
    ),
    since: timeParameter("From this time on; by default the last 24 hours, or 30 days by day."),
    until: timeParameter("Before this time; by default now."),
  },
  { additionalProperties: false },
);

const pointShape = Type.Object(
  {
    at: timeShape,
    delivered: Type.Integer({ description: "Deliveries that arrived." }),
    failed: Type.Integer({ description: "Attempts that failed." }),
    dead: Type.Integer({ description: "Deliveries that were given up." }),
    p50_ms: nullable(Type.Integer(), "Of the durations of all attempts."),
    p95_ms: nullable(Type.Integer()),
  },
  { $id: "StatPoint" },
);

const answers = {
  200: {
    description: "Points, oldest first; those at which nothing happened are left out.",
    schema: Type.Object({ data: Type.Array(pointShape) }),
    example: {
      data: [{ at: "2026-11-20T09:00:00.000Z", delivered: 412, failed: 3, dead: 0, p50_ms: 84, p95_ms: 310 }],
    },
  },
};

function endpointStatsRoute(services: Services): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/endpoints/:id/stats",
    operationId: "getEndpointStats",
    tag: "Endpoints",
    summary: "Read the numbers of an endpoint",
    description: `At most ${SPANS.hour.maxText} or ${SPANS.day.maxText}.`,
    access: "read",
    budget: "management",
    query: statsQuery,
    answers,
    handle({ caller, params, query }) {
      const endpoint = findEndpoint(services, caller, params.id);
      return { status: 200, json: { data: readPoints(services, [endpoint.id], query) } };
    },
  });
}

function allStatsRoute(services: Services): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/stats",
    operationId: "getStats",
    tag: "Endpoints",
    summary: "Read the numbers of all endpoints together",
    description: `Of all endpoints that the caller may see. At most ${SPANS.hour.maxText} or ${SPANS.day.maxText}.`,
    access: "read",
    budget: "management",
    query: statsQuery,
    answers,
    handle({ caller, query }) {
      const keys = endpointsOf(services, caller).map(({ id }) => id);
      return { status: 200, json: { data: readPoints(services, keys, query) } };
    },
  });
}

interface StatsQuery {
  by?: "hour" | "day";
  since?: string;
  until?: string;
}

function readPoints(services: Services, endpoints: readonly number[], query: StatsQuery) {
  const by = query.by ?? "hour";
  const { since, until } = readSpan(query, SPANS[by], services.now());
  return services.data.stats.read(endpoints, by, since, until).map(pointOf);
}

function readSpan(
  { since, until }: StatsQuery,
  { usualMs, maxMs, maxText }: (typeof SPANS)["hour" | "day"],
  now: number,
): { since: number; until: number } {
  const to = until === undefined ? now : parseTime("until", until);
  const from = since === undefined ? to - usualMs : parseTime("since", since);
  if (from > to) throw invalid("since", "Expected a time before `until`.");
  if (to - from > maxMs) throw invalid("since", `Expected at most ${maxText}.`);
  return { since: from, until: to };
}

function pointOf({ at, delivered, failed, dead, p50Ms, p95Ms }: StatPoint) {
  return { at: timeText(at), delivered, failed, dead, p50_ms: p50Ms, p95_ms: p95Ms };
}
