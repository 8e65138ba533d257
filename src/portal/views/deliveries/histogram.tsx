import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../../components/chart.tsx";
import { Skeleton } from "../../components/states.tsx";
import { hour } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { setQuery } from "../../router.ts";
import { STATE_SERIES, stateBarsOf, tickOf } from "../parts/bars.ts";
import { useCounts } from "./counts.ts";
import { countsPathOf, type Filter, type Window } from "./filter.ts";

interface HistogramProps {
  filter: Filter;
  window: Window;
}

/**
 * What stands in the list, counted by when it was made, whatever narrows the list; a search alone does not:
 * that would read every body.
 */
export function Histogram({ filter, window }: HistogramProps): JSX.Element {
  const { begin, width, count } = window;
  const { points, error, countedSince } = useCounts(countsPathOf(filter, window));
  const bars = useMemo(
    () => (points ? stateBarsOf(points, begin, width, count) : []),
    [points, begin, width, count],
  );
  if (error && !points) return <></>;
  if (!points) return <Waiting />;
  const notes = [
    t("deliveries.chart.made"),
    countedSince && t("deliveries.chart.cut", { from: hour(Date.parse(countedSince)) }),
    filter.q === null ? null : t("deliveries.chart.search"),
  ];
  return (
    <Chart
      isLow
      series={STATE_SERIES}
      bars={bars}
      note={notes.filter(Boolean).join(" ")}
      tell={hour}
      tick={tickOf(filter.span)}
      chosen={filter.range}
      onChoose={(range) => setQuery({ from: range && String(range[0]), to: range && String(range[1]) })}
    />
  );
}

function Waiting(): JSX.Element {
  return <Skeleton rows={1} height={146} />;
}
