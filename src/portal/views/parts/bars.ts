import type { Bar, Series } from "../../components/chart.tsx";
import { clock, day } from "../../display/format.ts";
import type { DeliveryCount, Stats } from "../../types.ts";

/** Below the axis: hours of the reader's day, their midnights, and for a month a day now and then. */
const TICK_HOURS = 4;
const TICK_DAYS = 5;
const WEEK_BAR_HOURS = 6;

export function tickOf(span: "day" | "week" | "month"): (at: number, nth: number) => string | null {
  if (span === "day") return (at) => (new Date(at).getHours() % TICK_HOURS === 0 ? clock(at) : null);
  if (span === "week") return (at) => (new Date(at).getHours() < WEEK_BAR_HOURS ? day(at) : null);
  return (at, nth) => (nth % TICK_DAYS === 0 ? day(at) : null);
}

type Part = "delivered" | "failed" | "dead";

export const DELIVERY_SERIES: Series<Part> = {
  parts: [
    { name: "delivered", title: "chart.delivered", look: "delivered" },
    { name: "failed", title: "chart.failed", look: "failed" },
    { name: "dead", title: "chart.dead", look: "dead" },
  ],
  label: "chart.label",
  bar: "chart.bar",
};

/** Numbers by the hour, added up in `count` bars of `width` milliseconds from `begin` on. */
export function barsOf({ data }: Stats, begin: number, width: number, count: number): Bar<Part>[] {
  return addUp(["delivered", "failed", "dead"], data, begin, width, count);
}

type State = "delivered" | "waiting" | "dead" | "cancelled";

/** Deliveries in the state that they have now, where the chart is of those alone that a list shows. */
export const STATE_SERIES: Series<State> = {
  parts: [
    { name: "delivered", title: "chart.delivered", look: "delivered" },
    { name: "waiting", title: "chart.waiting", look: "waits" },
    { name: "dead", title: "chart.dead", look: "dead" },
    { name: "cancelled", title: "chart.cancelled", look: "ended" },
  ],
  label: "chart.label",
  bar: "chart.states",
};

export function stateBarsOf(
  counts: readonly DeliveryCount[],
  begin: number,
  width: number,
  count: number,
): Bar<State>[] {
  const data = counts.map((one) => ({ ...one, waiting: one.pending + one.retrying }));
  return addUp(["delivered", "waiting", "dead", "cancelled"], data, begin, width, count);
}

type Point<Name extends string> = { at: string } & Readonly<Record<Name, number>>;

function addUp<Name extends string>(
  names: readonly Name[],
  data: readonly Point<Name>[],
  begin: number,
  width: number,
  count: number,
): Bar<Name>[] {
  return spread(data, begin, width, count).map((points, at) => {
    const sumOf = (name: Name) => points.reduce((sum, point) => sum + point[name], 0);
    const numbers = Object.fromEntries(names.map((name) => [name, sumOf(name)]));
    return { at: begin + at * width, ...(numbers as Record<Name, number>) };
  });
}

/** Points in time by the bar that they fall into; those outside of all bars are left out. */
export function spread<Timed extends { at: string }>(
  data: readonly Timed[],
  begin: number,
  width: number,
  count: number,
): Timed[][] {
  const bars = Array.from({ length: count }, (): Timed[] => []);
  for (const point of data) bars[Math.floor((Date.parse(point.at) - begin) / width)]?.push(point);
  return bars;
}
