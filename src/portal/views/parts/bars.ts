import type { Bar } from "../../components/chart.tsx";
import type { Stats } from "../../types.ts";

/** Numbers by the hour, added up in `count` bars of `width` milliseconds from `begin` on. */
export function barsOf({ data }: Stats, begin: number, width: number, count: number): Bar[] {
  const bars = Array.from({ length: count }, (_, at) => ({
    at: begin + at * width,
    delivered: 0,
    failed: 0,
    dead: 0,
  }));
  for (const point of data) {
    const target = bars[Math.floor((Date.parse(point.at) - begin) / width)];
    if (!target) continue;
    target.delivered += point.delivered;
    target.failed += point.failed;
    target.dead += point.dead;
  }
  return bars;
}
