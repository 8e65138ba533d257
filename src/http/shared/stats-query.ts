import { Type } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { parseTime, timeParameter } from "./paging.ts";
import { oneOf } from "./shapes.ts";

/** Which numbers are asked for: how wide a point is, from when to when, and of what. */

const DAY_MS = 86_400_000;
/** What is answered unless said otherwise, and the longest span. */
const SPANS = {
  hour: { usualMs: DAY_MS, maxMs: 31 * DAY_MS, maxText: "31 days by hour" },
  day: { usualMs: 30 * DAY_MS, maxMs: 366 * DAY_MS, maxText: "366 days by day" },
} as const;

export const SPAN_TEXT = `At most ${SPANS.hour.maxText} or ${SPANS.day.maxText}.`;

export const spanQuery = {
  since: timeParameter("From this time on; by default the last 24 hours, or 30 days by day."),
  until: timeParameter("Before this time; by default now."),
};

export const statsQuery = Type.Object(
  {
    by: Type.Optional(
      oneOf(["hour", "day"], { description: "The width of a point, in UTC. Default `hour`." }),
    ),
    ...spanQuery,
  },
  { additionalProperties: false },
);

export interface StatsQuery {
  by?: "hour" | "day";
  since?: string;
  until?: string;
}

/** Throws 422 where the span is turned round or too long. */
export function readSpan(
  { by = "hour", since, until }: StatsQuery,
  now: number,
): { since: number; until: number } {
  const { usualMs, maxMs, maxText } = SPANS[by];
  const to = until === undefined ? now : parseTime("until", until);
  const from = since === undefined ? to - usualMs : parseTime("since", since);
  if (from > to) throw invalid("since", "Expected a time before `until`.");
  if (to - from > maxMs) throw invalid("since", `Expected at most ${maxText}.`);
  return { since: from, until: to };
}

const IDS_MAX = 100;

export const idsShape = Type.String({ description: `Up to ${IDS_MAX} ids, with commas between them.` });

/** Throws 422, which names the parameter, where there are too many. */
export function readIds(name: string, text: string): string[] {
  const ids = text.split(",");
  if (ids.length > IDS_MAX) throw invalid(name, `Expected at most ${IDS_MAX} ids.`);
  return ids;
}
