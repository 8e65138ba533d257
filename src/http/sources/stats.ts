import { type Static, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { REFUSAL_REASONS } from "../../core/model.ts";
import type { OutcomeCounts } from "../../store/counts/source-stats.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, oneOf, timeShape, timeText } from "../shared/shapes.ts";
import { findSource } from "./change.ts";
import { lastRefusalShape } from "./shape.ts";
import { idsShape, readIds, readSpan, SPAN_TEXT, spanQuery, statsQuery } from "../shared/stats-query.ts";

/** Numbers of sources over time: what was taken, and what was refused for which reason. */
export function sourceStatsRoutes(
  services: Needs<"ids" | "sources" | "sourceStats" | "wallNow">,
): AnyRoute[] {
  return [statsRoute(services), statsBySourceRoute(services)];
}

const numbers = {
  accepted: Type.Integer({ description: "Requests that became an event." }),
  duplicates: Type.Integer({ description: "Genuine ones that had come before." }),
  handshakes: Type.Integer({ description: "Handshakes and pings, answered at the door." }),
  rejected: Type.Partial(Type.Record(oneOf(REFUSAL_REASONS), Type.Integer()), {
    description:
      "By reason, those that occurred. `paused`, `suspended`, `changed`, `rate_limited`, `plan_limit` and `visit_failed` were genuine: " +
      "the provider was told to try again.",
  }),
};

const last = {
  last_received_at: nullable(timeShape, "When the last genuine request came, a duplicate included."),
  last_handshake_at: nullable(timeShape),
  last_rejected: nullable(lastRefusalShape, "Nothing of the request itself is kept."),
};

const pointShape = Type.Object({ at: timeShape, ...numbers }, { $id: "SourceStatPoint" });
const totalShape = Type.Object(numbers, { $id: "SourceStatTotal" });
const sourceTotalShape = Type.Object(
  { source_id: Type.String(), ...numbers, ...last },
  { $id: "SourceTotal" },
);

const totalExample: Static<typeof totalShape> = {
  accepted: 412,
  duplicates: 3,
  handshakes: 1,
  rejected: { bad_signature: 2 },
};
const lastExample = {
  last_received_at: "2026-11-20T09:41:12.310Z",
  last_handshake_at: "2026-11-20T08:00:00.000Z",
  last_rejected: { at: "2026-11-20T09:12:03.004Z", reason: "bad_signature" as const },
};

const DURABILITY =
  "Kept as long as events are; the last seconds before a crash may be missing in them, never an event.";

function statsRoute(services: Needs<"ids" | "sources" | "sourceStats" | "wallNow">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/sources/:id/stats",
    operationId: "getSourceStats",
    tag: "Sources",
    summary: "Read the numbers of a source",
    description: `${DURABILITY} ${SPAN_TEXT}`,
    access: "owner_read",
    budget: "management",
    query: statsQuery,
    answers: {
      200: {
        description: "Points, oldest first; those at which nothing came are left out.",
        schema: Type.Object({ data: Type.Array(pointShape), total: totalShape, ...last }),
        example: {
          data: [{ at: "2026-11-20T09:00:00.000Z", ...totalExample }],
          total: totalExample,
          ...lastExample,
        },
      },
    },
    async handle({ caller, params, query, turns }) {
      const { id } = findSource(services, caller, params.id);
      const span = readSpan(query, services.wallNow());
      const { points, total } = await services.sourceStats.read(id, query.by ?? "hour", span, turns);
      const data = points.map(({ at, counts }) => ({ at: timeText(at), ...numbersOf(counts) }));
      return { status: 200, json: { data, total: numbersOf(total), ...lastOf(services, id) } };
    },
  });
}

function statsBySourceRoute(services: Needs<"ids" | "sources" | "sourceStats" | "wallNow">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/stats/sources",
    operationId: "getStatsBySource",
    tag: "Sources",
    summary: "Read the numbers of several sources, each for itself",
    description: `For a list of sources. Unknown ones are left out. ${DURABILITY}`,
    access: "owner_read",
    budget: "management",
    query: Type.Object({ source_ids: idsShape, ...spanQuery }, { additionalProperties: false }),
    answers: {
      200: {
        description: "In the order of the ids, each once.",
        schema: Type.Object({ data: Type.Array(sourceTotalShape) }),
        example: {
          data: [{ source_id: "src_01KAHM8ZZZ00K1M2N3P4Q5R6S7", ...totalExample, ...lastExample }],
        },
      },
    },
    async handle({ caller, query, turns }) {
      const ids = readIds("source_ids", query.source_ids);
      const span = readSpan(query, services.wallNow());
      const data = [];
      for (const key of new Set(ids.flatMap((id) => keyOf(services, caller, id)))) {
        const total = await services.sourceStats.total(key, span, turns);
        data.push({
          source_id: services.ids.encode("src", key),
          ...numbersOf(total),
          ...lastOf(services, key),
        });
      }
      return { status: 200, json: { data } };
    },
  });
}

/** The key of a source that the caller has; empty where there is none of this id. */
function keyOf({ ids, sources }: Needs<"ids" | "sources">, { projectId }: Caller, id: string): [number] | [] {
  const key = ids.decode("src", id);
  return key !== null && sources.get(key)?.projectId === projectId ? [key] : [];
}

function numbersOf(counts: OutcomeCounts): Static<typeof totalShape> {
  const rejected = REFUSAL_REASONS.flatMap((reason) => {
    const count = counts.get(reason) ?? 0;
    return count === 0 ? [] : [[reason, count]];
  });
  return {
    accepted: counts.get("accepted") ?? 0,
    duplicates: counts.get("duplicate") ?? 0,
    handshakes: counts.get("handshake") ?? 0,
    rejected: Object.fromEntries(rejected),
  };
}

function lastOf({ sourceStats }: Needs<"sourceStats">, key: number) {
  const { takenAt, answeredAt, refused } = sourceStats.last(key);
  return {
    last_received_at: timeText(takenAt),
    last_handshake_at: timeText(answeredAt),
    last_rejected: refused && { at: timeText(refused.at), reason: refused.outcome },
  };
}
