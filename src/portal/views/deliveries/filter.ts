import type { Range } from "../../components/chart.tsx";
import { iso } from "../../display/format.ts";
import type { DeliveryStatus } from "../../types.ts";
import type { ViewProps } from "../../view.ts";

/** What the list is narrowed to, as it stands in the address; null where nothing is chosen. */
export interface Filter {
  status: DeliveryStatus | null;
  endpoint: string | null;
  type: string | null;
  code: string | null;
  /** What stands in the search box. */
  q: string | null;
  span: Span;
  /** First and last bar of the chart. */
  range: Range | null;
}

export const STATUSES = [
  "delivered",
  "retrying",
  "pending",
  "dead",
  "cancelled",
] as const satisfies readonly DeliveryStatus[];

const HOUR_MS = 3_600_000;
/** How far the list goes back, and how wide a bar of the chart is, in hours. */
export const SPANS = {
  day: { hours: 24, bar: 1 },
  week: { hours: 168, bar: 6 },
  month: { hours: 720, bar: 24 },
} as const;
export type Span = keyof typeof SPANS;

/** Parameters of the address that a filter is made of, apart from the span. */
export const FILTER_KEYS = ["status", "endpoint", "type", "code", "q", "from", "to"] as const;

export function readFilter(query: ViewProps["query"]): Filter {
  const { from, to = from, endpoint = null, type = null, code = null, q = null } = query;
  return {
    status: STATUSES.find((one) => one === query["status"]) ?? null,
    endpoint,
    type,
    code,
    q,
    span: query["window"] === "day" || query["window"] === "month" ? query["window"] : "week",
    range: from === undefined ? null : [Number(from), Number(to)],
  };
}

export interface Window {
  begin: number;
  end: number;
  /** Of a bar, in milliseconds. */
  width: number;
  count: number;
}

/** The span in whole bars of the reader's own hours and days: the same for as long as a bar lasts. */
export function windowOf(span: Span, now: number): Window {
  const { hours, bar } = SPANS[span];
  const width = bar * HOUR_MS;
  const zone = new Date(now).getTimezoneOffset() * 60_000;
  const end = Math.ceil((now - zone + 1) / width) * width + zone;
  return { begin: end - hours * HOUR_MS, end, width, count: hours / bar };
}

/** Since when, and until when, as the API takes it. */
function timesOf({ range }: Filter, { begin, width }: Window): { since: string; until?: string } {
  if (range === null) return { since: iso(begin) };
  return { since: iso(range[0]), until: iso(range[1] + width) };
}

/** What the search box means, once it was looked up. */
export type Search =
  | { kind: "none" }
  | { kind: "delivery"; id: string }
  | { kind: "event"; id: string; isExternal: boolean }
  | { kind: "text"; text: string };

/** Where the list is asked for; one that names an event reaches back beyond the span. */
export function pathOf(filter: Filter, window: Window, search: Search): string {
  const { status, endpoint, type, code } = filter;
  const asked = {
    limit: "50",
    status,
    endpoint_id: endpoint,
    event_type: type,
    status_code: code,
    ...(search.kind === "event" ? { event_id: search.id } : timesOf(filter, window)),
    q: search.kind === "text" ? search.text : null,
  };
  const given = Object.entries(asked).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return `/v1/deliveries?${new URLSearchParams(given)}`;
}

/**
 * Where what stands in the list is counted, over the whole span: the range that is chosen in the chart does
 * not cut it.
 */
export function countsPathOf({ status, endpoint, type, code }: Filter, { begin }: Window): string {
  const asked = { since: iso(begin), status, endpoint_id: endpoint, event_type: type, status_code: code };
  const given = Object.entries(asked).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return `/v1/stats/deliveries?${new URLSearchParams(given)}`;
}

/** What a bulk replay takes, as the API names it. */
export interface ReplayFilter {
  since?: string;
  until?: string;
  endpoint_id?: string;
  event_types?: string[];
  status_code?: number;
  q?: string;
}

/** The same filter for a bulk replay; null where a replay cannot say it. */
export function replayBodyOf(filter: Filter, window: Window, search: Search): ReplayFilter | null {
  if (search.kind === "event" || search.kind === "delivery") return null;
  const { endpoint, type, code } = filter;
  return {
    ...timesOf(filter, window),
    ...(endpoint !== null && { endpoint_id: endpoint }),
    ...(type !== null && { event_types: [type] }),
    ...(code !== null && { status_code: Number(code) }),
    ...(search.kind === "text" && { q: search.text }),
  };
}
