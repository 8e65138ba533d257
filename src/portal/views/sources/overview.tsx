import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart, type Range } from "../../components/chart.tsx";
import { Code } from "../../components/code.tsx";
import { Facts, Section } from "../../components/layout.tsx";
import { Empty } from "../../components/states.tsx";
import { now } from "../../components/time.tsx";
import { compact, hour } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { setQuery } from "../../router.ts";
import type { RefusalReason, SourceNumbers } from "../../types.ts";
import type { ViewProps } from "../../view.ts";
import { windowOf } from "../deliveries/filter.ts";
import { tickOf } from "../parts/bars.ts";
import { SOURCE_SERIES, SourceBars } from "./bars.ts";
import { SourceEvents } from "./events.tsx";
import { Reasons } from "./reasons.tsx";
import { refusedOf } from "./refusal.ts";
import type { SourceTabProps } from "./source-tab.ts";
import { SpanChoice, spanOf } from "./span.tsx";
import { Trouble } from "./trouble.tsx";

/** Is it working, what was refused and why, and what came lately? */
export function SourceOverview(props: SourceTabProps): JSX.Element {
  const { source, provider, stats, query } = props;
  return (
    <>
      <Trouble {...props} />
      <Section title={t("source.address")}>
        <Code text={source.ingest_url} label={t("source.address.label", { provider: provider.name })} />
      </Section>
      {stats.data.length > 0 ? (
        <Came {...props} />
      ) : (
        <Section title={t("source.came")} actions={<SpanChoice query={query} />}>
          <Empty title={t("source.came.none")} icon="clock" />
        </Section>
      )}
    </>
  );
}

/** The numbers over time, the reasons among them, and the events. */
function Came(props: SourceTabProps): JSX.Element {
  const { source, stats, query } = props;
  const span = spanOf(query);
  const window = windowOf(span, now.value);
  const { begin, width, count } = window;
  const bars = useMemo(() => new SourceBars(stats, { begin, width, count }), [stats, begin, width, count]);
  const range = rangeOf(query);
  const numbers = bars.within(range);
  const wanted = query["reason"] as RefusalReason;
  const reason = Object.hasOwn(numbers.rejected, wanted) && numbers.rejected[wanted] ? wanted : null;
  return (
    <>
      <Section title={t("source.came")} actions={<SpanChoice query={query} />}>
        <Numbers numbers={numbers} />
        <Chart
          series={SOURCE_SERIES}
          bars={bars.bars(reason)}
          columns={reason ? [] : bars.columns()}
          note={reason && t("source.chart.only", { reason: t(`refusal.${reason}`) })}
          tell={hour}
          tick={tickOf(span)}
          chosen={range}
          onChoose={(chosen) =>
            setQuery({ from: chosen && String(chosen[0]), to: chosen && String(chosen[1]) })
          }
        />
      </Section>
      <Reasons bars={bars} numbers={numbers} chosen={reason} {...props} />
      <SourceEvents source={source} since={range?.[0] ?? begin} until={range && range[1] + width} />
    </>
  );
}

function rangeOf({ from, to = from }: ViewProps["query"]): Range | null {
  return from === undefined ? null : [Number(from), Number(to)];
}

function Numbers({ numbers }: { numbers: SourceNumbers }): JSX.Element {
  const { accepted, duplicates, handshakes } = numbers;
  return (
    <Facts
      items={[
        [t("source.accepted"), compact(accepted)],
        [t("source.rejected"), compact(refusedOf(numbers))],
        [t("source.duplicates"), compact(duplicates)],
        [t("source.handshakes"), compact(handshakes)],
      ]}
    />
  );
}
