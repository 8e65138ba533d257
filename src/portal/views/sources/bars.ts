import type { Bar, Series } from "../../components/chart.tsx";
import { number } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import type { RefusalReason, SourceNumbers, SourceStats } from "../../types.ts";
import { spread } from "../parts/bars.ts";
import { refusedOf } from "./refusal.ts";

type Part = "accepted" | "duplicates" | "rejected";

export const SOURCE_SERIES: Series<Part> = {
  parts: [
    { name: "accepted", title: "source.accepted", look: "delivered" },
    { name: "duplicates", title: "source.duplicates", look: "again" },
    { name: "rejected", title: "source.rejected", look: "dead" },
  ],
  label: "source.chart",
  bar: "source.chart.bar",
};

/**
 * Numbers by the hour, added up in `count` bars of `width` milliseconds from `begin` on; of one reason alone
 * where one is chosen.
 */
export class SourceBars {
  readonly #sums: readonly SourceNumbers[];

  constructor(
    { data }: SourceStats,
    private readonly window: { begin: number; width: number; count: number },
  ) {
    const { begin, width, count } = window;
    this.#sums = spread(data, begin, width, count).map(sumOf);
  }

  bars(reason: RefusalReason | null): Bar<Part>[] {
    const { begin, width } = this.window;
    return this.#sums.map((sum, index) => {
      const at = begin + index * width;
      if (reason !== null) return { at, accepted: 0, duplicates: 0, rejected: sum.rejected[reason] ?? 0 };
      return { at, accepted: sum.accepted, duplicates: sum.duplicates, rejected: refusedOf(sum) };
    });
  }

  /** How often that reason, bar by bar. */
  of(reason: RefusalReason): number[] {
    return this.#sums.map(({ rejected }) => rejected[reason] ?? 0);
  }

  /** What came in these bars alone; null: in all of them. */
  within(range: readonly [number, number] | null): SourceNumbers {
    const { begin, width } = this.window;
    return sumOf(
      this.#sums.filter((_, index) => {
        const at = begin + index * width;
        return range === null || (at >= range[0] && at <= range[1]);
      }),
    );
  }

  /** Columns behind the chart's own, of its table: each reason that occurred. */
  columns(): { title: string; of: (index: number) => string }[] {
    return reasonsOf(this.within(null)).map(([reason]) => ({
      title: t(`refusal.${reason}`),
      of: (index) => number(this.#sums[index]?.rejected[reason] ?? 0),
    }));
  }
}

/** The most frequent first. */
export function reasonsOf({ rejected }: Pick<SourceNumbers, "rejected">): [RefusalReason, number][] {
  return (Object.entries(rejected) as [RefusalReason, number][])
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a);
}

function sumOf(all: readonly SourceNumbers[]): SourceNumbers {
  const sum: SourceNumbers = { accepted: 0, duplicates: 0, handshakes: 0, rejected: {} };
  for (const { accepted, duplicates, handshakes, rejected } of all) {
    sum.accepted += accepted;
    sum.duplicates += duplicates;
    sum.handshakes += handshakes;
    for (const [reason, count] of reasonsOf({ rejected }))
      sum.rejected[reason] = (sum.rejected[reason] ?? 0) + count;
  }
  return sum;
}
