import type { JSX } from "preact";
import { EndpointBadge, StatusBadge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { Choice, Head, Listing, More, Split } from "../components/layout.tsx";
import { Empty, Failure, Skeleton } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { percent } from "../display/format.ts";
import { t } from "../i18n.ts";
import { useList, useResource } from "../resource.ts";
import { setQuery, to } from "../router.ts";
import { may } from "../session.ts";
import type { Endpoint, EndpointTotal } from "../types.ts";
import type { ViewProps } from "../view.ts";
import { EndpointDetail } from "./endpoint.tsx";
import { addressOf, nameOf } from "./parts/endpoint-name.ts";
import { SearchBox } from "./parts/search-box.tsx";
import { Types } from "./parts/types.tsx";

/** The list of endpoints, and the one that is open. */
export function Endpoints({ params, query }: ViewProps): JSX.Element {
  const { id = null } = params;
  return (
    <Split
      list={<EndpointList current={id} query={query} />}
      detail={id === null ? null : <EndpointDetail key={id} id={id} tab={params["tab"] ?? "overview"} />}
      back={to("/endpoints", query)}
      backText={t("endpoints.back")}
    />
  );
}

const STATES = ["all", "active", "failing", "paused", "disabled"] as const;
type State = (typeof STATES)[number];
const STATS_MAX = 100;

function EndpointList({
  current,
  query,
}: {
  current: string | null;
  query: ViewProps["query"];
}): JSX.Element {
  const state = STATES.find((one) => one === query["status"]) ?? "all";
  const { rows, isOld, error, more } = useList<Endpoint>(
    `/v1/endpoints?limit=50${askedOf(state, query["q"] ?? "")}`,
  );
  return (
    <>
      <Head title={t("tab.endpoints")} isBeside={current !== null}>
        {may.create && (
          <LinkButton kind="primary" icon="plus" href={to("/endpoints/new")}>
            {t("endpoints.add")}
          </LinkButton>
        )}
      </Head>
      <div class="filters">
        <SearchBox label={t("endpoints.search")} q={query["q"] ?? null} />
        <Choice
          label={t("delivery.status")}
          value={state}
          options={STATES.map((value) => ({ value, text: t(`endpoints.${value}`) }))}
          onChange={(value) => setQuery({ status: value === "all" ? null : value })}
        />
      </div>
      {error && !rows ? <Failure error={error} /> : null}
      {!rows && !error ? <Skeleton rows={6} height={56} /> : null}
      <Listing isOld={isOld}>
        {rows?.length === 0 ? <None isFiltered={state !== "all" || query["q"] !== undefined} /> : null}
        {rows && rows.length > 0 ? <Rows rows={rows} current={current} query={query} /> : null}
        <More more={more} />
      </Listing>
    </>
  );
}

function askedOf(state: State, text: string): string {
  const asked = text === "" ? "" : `&q=${encodeURIComponent(text)}`;
  if (state === "all") return asked;
  return state === "failing" ? `${asked}&failing=true` : `${asked}&status=${state}`;
}

function None({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (isFiltered) return <Empty title={t("endpoints.nomatch")} icon="search" />;
  return (
    <Empty title={t("endpoints.none")} icon="open">
      <p>{may.create ? t("endpoints.none.create") : t("endpoints.none.ask")}</p>
    </Empty>
  );
}

interface RowsProps {
  rows: Endpoint[];
  current: string | null;
  query: ViewProps["query"];
}

function Rows({ rows, current, query }: RowsProps): JSX.Element {
  const ids = rows.slice(0, STATS_MAX).map(({ id }) => id);
  const { data } = useResource<{ data: EndpointTotal[] }>(
    `/v1/stats/endpoints?endpoint_ids=${ids.join(",")}`,
    { keeps: true },
  );
  const totals = new Map(data?.data.map((total) => [total.endpoint_id, total]));
  return (
    <Table
      caption={t("tab.endpoints")}
      columns={columnsOf(totals)}
      rows={rows}
      keyOf={({ id }) => id}
      href={({ id }) => to(`/endpoints/${id}`, query)}
      current={current}
    />
  );
}

function columnsOf(totals: ReadonlyMap<string, EndpointTotal>): Column<Endpoint>[] {
  return [
    {
      title: t("endpoints.name"),
      cell: (endpoint) => (
        <span class="named">
          <span class="strong cut">{nameOf(endpoint)}</span>
          {endpoint.description && <span class="muted small cut">{addressOf(endpoint)}</span>}
        </span>
      ),
    },
    { title: t("delivery.status"), lead: true, cell: (endpoint) => <EndpointBadge endpoint={endpoint} /> },
    { title: t("endpoints.types"), wide: true, cell: (endpoint) => <Types types={endpoint.event_types} /> },
    { title: t("endpoints.rate"), wide: true, cell: ({ id }) => <Rate total={totals.get(id)} /> },
    { title: t("endpoints.last"), align: "end", cell: ({ id }) => <Last total={totals.get(id)} /> },
  ];
}

/** A small bar with the number; nothing where nothing was tried. */
function Rate({ total }: { total: EndpointTotal | undefined }): JSX.Element {
  const attempts = total ? total.delivered + total.failed : 0;
  if (!total || attempts === 0) return <span class="muted">–</span>;
  const share = total.delivered / attempts;
  return (
    <span class="rate">
      <meter min={0} max={1} value={share} aria-label={t("endpoints.rate")}>
        {percent(share)}
      </meter>
      {percent(share)}
    </span>
  );
}

function Last({ total }: { total: EndpointTotal | undefined }): JSX.Element {
  if (!total) return <span class="muted">–</span>;
  if (!total.last_delivery) return <span class="muted">{t("endpoints.never")}</span>;
  return (
    <span class="last">
      <StatusBadge delivery={total.last_delivery} />
      <Time at={total.last_delivery.created_at} />
    </span>
  );
}
