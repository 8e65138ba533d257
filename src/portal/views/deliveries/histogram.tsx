import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Bar, Chart, type Series } from "../../components/chart.tsx";
import { Skeleton } from "../../components/states.tsx";
import { clock, day, hour } from "../../format.ts";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { setQuery } from "../../router.ts";
import type { Stats } from "../../types.ts";
import { barsOf, DELIVERY_SERIES, STATE_SERIES, stateBarsOf } from "../parts/bars.ts";
import { useCounts } from "./counts.ts";
import { countsPathOf, type Filter, type Window } from "./filter.ts";

interface HistogramProps {
  filter: Filter;
  window: Window;
}

/**
 * What happened hour by hour, to all deliveries or to an endpoint's; where the list is narrower, what stands in it is counted. A search
 * alone does not narrow it: that would read every body.
 */
export function Histogram(props: HistogramProps): JSX.Element {
  const { status, type, code } = props.filter;
  return (status ?? type ?? code) ? <Listed {...props} /> : <Happened {...props} />;
}

function Happened({ filter, window }: HistogramProps): JSX.Element {
  const { begin, width, count } = window;
  const place =
    filter.endpoint === null ? "/v1/stats" : `/v1/endpoints/${encodeURIComponent(filter.endpoint)}/stats`;
  const { data, error } = useResource<Stats>(`${place}?since=${new Date(begin).toISOString()}`);
  const bars = useMemo(() => (data ? barsOf(data, begin, width, count) : []), [data, begin, width, count]);
  if (error && !data) return <></>;
  if (!data) return <Waiting />;
  return <Bars series={DELIVERY_SERIES} bars={bars} filter={filter} note={null} />;
}

function Listed({ filter, window }: HistogramProps): JSX.Element {
  const { begin, width, count } = window;
  const { points, error, countedSince } = useCounts(countsPathOf(filter, window));
  const bars = useMemo(
    () => (points ? stateBarsOf(points, begin, width, count) : []),
    [points, begin, width, count],
  );
  if (error && !points) return <></>;
  if (!points) return <Waiting />;
  const note = countedSince && t("deliveries.chart.cut", { from: hour(Date.parse(countedSince)) });
  return <Bars series={STATE_SERIES} bars={bars} filter={filter} note={note} />;
}

function Waiting(): JSX.Element {
  return <Skeleton rows={1} height={146} />;
}

interface BarsProps<Part extends string> {
  series: Series<Part>;
  bars: readonly Bar<Part>[];
  filter: Filter;
  note: string | null;
}

function Bars<Part extends string>({ series, bars, filter, note }: BarsProps<Part>): JSX.Element {
  const notes = [note, filter.q === null ? null : t("deliveries.chart.search")].filter(Boolean);
  return (
    <Chart
      isLow
      series={series}
      bars={bars}
      note={notes.length === 0 ? null : notes.join(" ")}
      tell={hour}
      tick={filter.span === "day" ? clock : day}
      chosen={filter.range}
      onChoose={(range) => setQuery({ from: range && String(range[0]), to: range && String(range[1]) })}
    />
  );
}
