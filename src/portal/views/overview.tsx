import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { LinkButton } from "../components/button.tsx";
import { Chart, type Range } from "../components/chart.tsx";
import { Choice, Head, Section } from "../components/layout.tsx";
import { Empty, Failure, Skeleton } from "../components/states.tsx";
import { now } from "../components/time.tsx";
import { compact, duration, hour, iso, percent } from "../display/format.ts";
import { type Key, t } from "../i18n.ts";
import { useResource } from "../resource.ts";
import { setQuery, to } from "../router.ts";
import { may } from "../session.ts";
import type { Endpoint, Page, Stats } from "../types.ts";
import type { ViewProps } from "../view.ts";
import { windowOf } from "./deliveries/filter.ts";
import { barsOf, DELIVERY_SERIES, tickOf } from "./parts/bars.ts";
import { DeliveryTable } from "./parts/delivery-table.tsx";
import { FAILING, Failing } from "./parts/failing.tsx";

/** Whether there is any. */
const ANY_ENDPOINT = "/v1/endpoints?limit=1";
const statsPath = (begin: number) => `/v1/stats?since=${iso(begin)}`;
const spanOf = (query: ViewProps["query"]) => (query["window"] === "week" ? "week" : "day");

/** What the overview asks for first, for a page that begins with it. */
export function overviewPaths(query: ViewProps["query"]): string[] {
  return [statsPath(windowOf(spanOf(query), Date.now()).begin), ANY_ENDPOINT, FAILING];
}

/** Is it working, what failed, why, and what now? */
export function Overview({ query }: ViewProps): JSX.Element {
  const span = spanOf(query);
  const { begin, width, count } = windowOf(span, now.value);
  const stats = useResource<Stats>(statsPath(begin));
  const endpoints = useResource<Page<Endpoint>>(ANY_ENDPOINT);
  const isEmpty = endpoints.data?.data.length === 0;
  const first = query["at"];
  const chosen: Range | null = first === undefined ? null : [Number(first), Number(query["to"] ?? first)];
  return (
    <>
      <Head title={t("overview.title")}>
        <Choice
          label={t("overview.window")}
          value={span}
          options={[
            { value: "day", text: t("overview.day") },
            { value: "week", text: t("overview.week") },
          ]}
          onChange={(value) => setQuery({ window: value === "day" ? null : value, at: null, to: null })}
        />
      </Head>
      {isEmpty ? <NoEndpoints /> : null}
      {stats.error && !stats.data ? <Failure error={stats.error} /> : null}
      {stats.data ? (
        <>
          <Cards stats={stats.data} />
          {endpoints.data && !isEmpty ? <Failing stats={stats.data} /> : null}
          <Activity stats={stats.data} span={span} chosen={chosen} {...{ begin, width, count }} />
        </>
      ) : (
        !stats.error && <Skeleton rows={3} height={96} />
      )}
      <Recent chosen={chosen} bar={width} since={iso(begin)} span={span} />
    </>
  );
}

function NoEndpoints(): JSX.Element {
  return (
    <Empty title={t("endpoints.none")} icon="open">
      <p>{may.create ? t("endpoints.none.create") : t("endpoints.none.ask")}</p>
      {may.create && (
        <LinkButton kind="primary" icon="plus" href={to("/endpoints/new")}>
          {t("endpoints.add")}
        </LinkButton>
      )}
    </Empty>
  );
}

/**
 * Dead ones are what one replays: the number leads to them, also to those that were made long before
 * they died.
 */
function Cards({ stats: { total, waiting } }: { stats: Stats }): JSX.Element {
  const attempts = total.delivered + total.failed;
  const cards: [Key, string, string | null, string][] = [
    [
      "overview.delivered",
      compact(total.delivered),
      total.p95_ms === null ? null : t("overview.p95", { time: duration(total.p95_ms) }),
      "good",
    ],
    [
      "overview.failed",
      compact(total.failed),
      attempts === 0 ? null : t("overview.rate", { share: percent(total.delivered / attempts) }),
      total.failed > 0 ? "warn" : "",
    ],
    ["overview.dead", compact(total.dead), t("overview.dead.help"), total.dead > 0 ? "bad" : ""],
    ["overview.waiting", compact(waiting), t("overview.waiting.help"), ""],
  ];
  return (
    <dl class="cards">
      {cards.map(([key, value, more, tone]) => (
        <div key={key} class={`card ${tone}`}>
          <dt>{t(key)}</dt>
          <dd>
            <strong>
              {tone === "bad" ? (
                <a href={to("/deliveries", { status: "dead", window: "month" })}>{value}</a>
              ) : (
                value
              )}
            </strong>
            {more && <span class="muted">{more}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface ActivityProps {
  stats: Stats;
  span: "day" | "week";
  begin: number;
  width: number;
  count: number;
  chosen: Range | null;
}

function Activity({ stats, span, begin, width, count, chosen }: ActivityProps): JSX.Element {
  const bars = useMemo(() => barsOf(stats, begin, width, count), [stats, begin, width, count]);
  return (
    <Section title={t("overview.activity")}>
      <Chart
        series={DELIVERY_SERIES}
        bars={bars}
        tell={hour}
        tick={tickOf(span)}
        chosen={chosen}
        onChoose={(range) => setQuery({ at: range && String(range[0]), to: range && String(range[1]) })}
      />
    </Section>
  );
}

interface RecentProps {
  chosen: Range | null;
  bar: number;
  since: string;
  span: "day" | "week";
}

function Recent({ chosen, bar, since, span }: RecentProps): JSX.Element {
  const title =
    chosen === null
      ? t(span === "day" ? "overview.recent.day" : "overview.recent.week")
      : t("overview.recent.bar", { from: hour(chosen[0]), to: hour(chosen[1] + bar) });
  const query = chosen === null ? `since=${since}` : `since=${iso(chosen[0])}&until=${iso(chosen[1] + bar)}`;
  return (
    <Section title={title}>
      <DeliveryTable path={`/v1/deliveries?limit=10&${query}`} empty={t("overview.recent.none")} />
    </Section>
  );
}
