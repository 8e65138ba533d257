import type { JSX } from "preact";
import { LinkButton } from "../../components/button.tsx";
import { Choice, Head, More, Split } from "../../components/layout.tsx";
import { SearchField } from "../../components/search.tsx";
import { Empty, Failure, Skeleton } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { compact } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { useList, useResource } from "../../resource.ts";
import { setQuery, to } from "../../router.ts";
import { may } from "../../session.ts";
import type { Source, SourceTotal } from "../../types.ts";
import type { ViewProps } from "../../view.ts";
import { SourceBadge } from "./badge.tsx";
import { isRefusing, refusedOf } from "./refusal.ts";
import { SourceDetail } from "./source.tsx";

/** The list of sources, and the one that is open. */
export function Sources({ params, query }: ViewProps): JSX.Element {
  const { id = null } = params;
  return (
    <Split
      list={<SourceList current={id} query={query} />}
      detail={
        id === null ? null : <SourceDetail key={id} id={id} tab={params["tab"] ?? "overview"} query={query} />
      }
      back={to("/sources", query)}
      backText={t("sources.back")}
    />
  );
}

const STATES = ["all", "active", "attention", "paused"] as const;
type State = (typeof STATES)[number];

/** As many as their numbers are asked for at once. */
const PAGE = 100;

interface ListProps {
  current: string | null;
  query: ViewProps["query"];
}

function SourceList({ current, query }: ListProps): JSX.Element {
  const { rows, error, more } = useList<Source>(`/v1/sources?limit=${PAGE}`);
  const totals = useTotals(rows);
  const state = STATES.find((one) => one === query["status"]) ?? "all";
  const wanted = (query["q"] ?? "").toLowerCase();
  const shown = rows?.filter((source) => fits(source, totals.get(source.id), state, wanted));
  return (
    <>
      <Head title={t("tab.sources")} isBeside={current !== null}>
        {may.manage && (
          <LinkButton kind="primary" icon="plus" href={to("/sources/new")}>
            {t("sources.add")}
          </LinkButton>
        )}
      </Head>
      {rows && rows.length > 0 && <Filters state={state} q={query["q"] ?? ""} />}
      {error && !rows ? <Failure error={error} /> : null}
      {!shown && !error ? <Skeleton rows={6} height={56} /> : null}
      {rows?.length === 0 ? <NoSources /> : null}
      {rows && rows.length > 0 && shown?.length === 0 ? (
        <Empty title={t("sources.nomatch")} icon="search" />
      ) : null}
      {shown && shown.length > 0 ? (
        <Table
          caption={t("tab.sources")}
          columns={columnsOf(totals)}
          rows={shown}
          keyOf={({ id }) => id}
          href={({ id }) => to(`/sources/${id}`, query)}
          current={current}
        />
      ) : null}
      <More more={more} />
    </>
  );
}

/** Numbers of the last 24 hours, by source. */
function useTotals(rows: readonly Source[] | undefined): ReadonlyMap<string, SourceTotal> {
  const ids = rows?.slice(0, PAGE).map(({ id }) => id) ?? [];
  const { data } = useResource<{ data: SourceTotal[] }>(
    ids.length === 0 ? null : `/v1/stats/sources?source_ids=${ids.join(",")}`,
  );
  return new Map(data?.data.map((total) => [total.source_id, total]));
}

function fits(source: Source, total: SourceTotal | undefined, state: State, wanted: string): boolean {
  const needsAttention = source.status === "awaiting_secret" || isRefusing(source, total);
  if (state === "attention" && !needsAttention) return false;
  if ((state === "active" || state === "paused") && source.status !== state) return false;
  const texts = [source.name, source.provider_name, source.provider, source.id, source.consumer_id ?? ""];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

function Filters({ state, q }: { state: State; q: string }): JSX.Element {
  return (
    <div class="filters">
      <SearchField label={t("sources.search")} value={q} onInput={(text) => setQuery({ q: text })} />
      <Choice
        label={t("delivery.status")}
        value={state}
        options={STATES.map((value) => ({ value, text: t(`sources.state.${value}`) }))}
        onChange={(value) => setQuery({ status: value === "all" ? null : value })}
      />
    </div>
  );
}

function NoSources(): JSX.Element {
  return (
    <Empty title={t("sources.none")} icon="open">
      <p>{t("sources.none.text")}</p>
      {may.manage ? (
        <LinkButton kind="primary" icon="plus" href={to("/sources/new")}>
          {t("sources.add")}
        </LinkButton>
      ) : (
        <p>{t("sources.none.ask")}</p>
      )}
    </Empty>
  );
}

function columnsOf(totals: ReadonlyMap<string, SourceTotal>): Column<Source>[] {
  const count = (of: (total: SourceTotal) => number) =>
    function Count({ id }: Source) {
      const total = totals.get(id);
      return total ? compact(of(total)) : <span class="muted">–</span>;
    };
  return [
    {
      title: t("sources.name"),
      cell: ({ name, provider_name: provider }) => (
        <span class="named">
          <span class="strong cut">{name}</span>
          {provider !== name && <span class="muted small cut">{provider}</span>}
        </span>
      ),
    },
    {
      title: t("delivery.status"),
      lead: true,
      cell: (source) => <SourceBadge source={source} total={totals.get(source.id)} />,
    },
    { title: t("sources.accepted"), align: "end", wide: true, cell: count(({ accepted }) => accepted) },
    { title: t("sources.rejected"), align: "end", wide: true, cell: count(refusedOf) },
    {
      title: t("sources.lastrejected"),
      wide: true,
      extra: true,
      cell: ({ id }) => <LastRejected total={totals.get(id)} />,
    },
    { title: t("sources.lastreceived"), align: "end", cell: ({ id }) => <Last total={totals.get(id)} /> },
  ];
}

function LastRejected({ total }: { total: SourceTotal | undefined }): JSX.Element {
  if (!total?.last_rejected) return <span class="muted">–</span>;
  const { reason, at } = total.last_rejected;
  return (
    <span class="named">
      <span>{t(`refusal.${reason}`)}</span>
      <span class="muted small">
        <Time at={at} />
      </span>
    </span>
  );
}

function Last({ total }: { total: SourceTotal | undefined }): JSX.Element {
  if (!total) return <span class="muted">–</span>;
  if (total.last_received_at === null) return <span class="muted">{t("sources.never")}</span>;
  return <Time at={total.last_received_at} />;
}
