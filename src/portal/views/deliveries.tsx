import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Choice, Head, Listing, More, Split } from "../components/layout.tsx";
import { Empty, Failure, Skeleton } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { now } from "../components/time.tsx";
import { number } from "../display/format.ts";
import { t } from "../i18n.ts";
import { useResource } from "../resource.ts";
import { setQuery, to } from "../router.ts";
import { may } from "../session.ts";
import type { Delivery } from "../types.ts";
import type { ViewProps } from "../view.ts";
import {
  type Filter,
  pathOf,
  readFilter,
  replayBodyOf,
  type Search,
  SPANS,
  type Window,
  windowOf,
} from "./deliveries/filter.ts";
import { Chips } from "./deliveries/filter-bar.tsx";
import { Histogram } from "./deliveries/histogram.tsx";
import { type LiveList, useLiveList } from "./deliveries/live-list.ts";
import { ReplayDialog } from "./deliveries/replay-dialog.tsx";
import { ReplayProgress } from "./deliveries/replay-progress.tsx";
import { useSearch } from "./deliveries/search.ts";
import { select, selectionOf, toggle } from "./deliveries/selection.ts";
import { DeliveryDetail } from "./delivery.tsx";
import { columnsOf } from "./parts/delivery-table.tsx";
import { useEndpointNames } from "./parts/endpoint-lists.ts";
import { SearchBox } from "./parts/search-box.tsx";

/** The list of deliveries, and the one that is open. */
export function Deliveries({ params, query }: ViewProps): JSX.Element {
  const { id = null } = params;
  return (
    <Split
      list={<DeliveryList current={id} query={query} />}
      detail={id === null ? null : <DeliveryDetail key={id} id={id} query={query} />}
      back={to("/deliveries", query)}
      backText={t("deliveries.back")}
    />
  );
}

interface ListProps {
  current: string | null;
  query: ViewProps["query"];
}

function DeliveryList({ current, query }: ListProps): JSX.Element {
  const filter = readFilter(query);
  const window = windowOf(filter.span, now.value);
  const search = useSearch(filter.q);
  const known = useRef(search);
  if (search !== undefined) known.current = search;
  return (
    <div class="deliveries">
      <Head title={t("tab.deliveries")} isBeside={current !== null}>
        <Choice
          label={t("overview.window")}
          value={filter.span}
          options={(Object.keys(SPANS) as (keyof typeof SPANS)[]).map((value) => ({
            value,
            text: t(`deliveries.span.${value}`),
          }))}
          onChange={(span) => setQuery({ window: span === "week" ? null : span, from: null, to: null })}
        />
      </Head>
      <div class="filters">
        <SearchBox label={t("deliveries.search")} q={filter.q} />
      </div>
      <div class="wide">
        <Histogram filter={filter} window={window} />
        <Chips filter={filter} window={window} search={search} />
        {may.manage && <ReplayProgress />}
      </div>
      {known.current === undefined ? (
        <Skeleton rows={8} height={40} />
      ) : (
        <Found
          filter={filter}
          window={window}
          search={known.current}
          isOld={search === undefined}
          current={current}
          query={query}
        />
      )}
    </div>
  );
}

interface FoundProps extends ListProps {
  filter: Filter;
  window: Window;
  search: Search;
  /** What is searched for now is still looked up: this is what was searched for before. */
  isOld: boolean;
}

/** What the search and the filters find. */
function Found({ search, isOld, ...props }: FoundProps): JSX.Element {
  const one = useResource<Delivery>(search.kind === "delivery" ? `/v1/deliveries/${search.id}` : null);
  const isOne = one.data !== undefined || one.error !== null;
  const path = search.kind === "delivery" ? null : pathOf(props.filter, props.window, search);
  const last = useRef(path);
  last.current = isOne ? null : (path ?? last.current);
  const list = useLiveList(last.current);
  const { rows, error } = isOne ? oneRow(one) : list;
  if (error && !rows) return <Failure error={error} />;
  if (!rows) return <Skeleton rows={8} height={40} />;
  const of = list.of ?? "";
  const isBefore = isOld || (!isOne && list.of !== path);
  return (
    <Listing isOld={isBefore}>
      <ListBar list={list} rows={rows} path={of} search={search} isOld={isBefore} {...props} />
      {rows.length === 0 ? <None filter={props.filter} goesOn={list.more !== null} /> : null}
      {rows.length > 0 ? <Rows rows={rows} path={of} {...props} /> : null}
      <More more={list.more} />
    </Listing>
  );
}

function oneRow({ data, error }: { data: Delivery | undefined; error: Error | null }) {
  return error ? { rows: [], error: null } : { rows: data && [data], error: null };
}

function None({ filter, goesOn }: { filter: Filter; goesOn: boolean }): JSX.Element {
  if (goesOn) {
    return (
      <Empty title={t("deliveries.none.yet")} icon="search">
        <p>{t("deliveries.none.goeson")}</p>
      </Empty>
    );
  }
  const { span, ...narrowed } = filter;
  const isFiltered = Object.values(narrowed).some((value) => value !== null);
  return (
    <Empty title={t("deliveries.none")} icon="search">
      <p>{t(isFiltered ? "deliveries.none.filtered" : `deliveries.none.${span}`)}</p>
    </Empty>
  );
}

interface BarProps extends FoundProps {
  list: LiveList;
  rows: readonly Delivery[];
  path: string;
}

/**
 * Above the list: what is new, what is ticked, and what can be done with it; nothing while the list is not
 * the one that is asked for.
 */
function ListBar({ list, rows, path, filter, window, search, isOld }: BarProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const picked = [...selectionOf(path)];
  const show = () => {
    list.show();
    document.querySelector(".deliveries")?.scrollIntoView({ block: "start" });
  };
  const body = replayBodyOf(filter, window, search);
  return (
    <div class="list-bar" inert={isOld}>
      <ListState picked={picked.length} rows={rows.length} isCut={list.more !== null} path={path} />
      <span role="status">
        {list.waiting > 0 && (
          <Button kind="primary" icon="up" onClick={show}>
            {list.isMoreWaiting
              ? t("deliveries.new.many", { count: list.waiting })
              : t("deliveries.new", { count: list.waiting })}
          </Button>
        )}
      </span>
      {may.manage &&
        (picked.length > 0 || (body !== null && (rows.length > 0 || filter.endpoint !== null))) && (
          <span class="wide">
            <Button icon="retry" onClick={() => setOpen(true)}>
              {picked.length > 0 ? t("replay.open.picked", { count: picked.length }) : t("replay.open")}
            </Button>
          </span>
        )}
      {isOpen && (
        <ReplayDialog
          picked={picked}
          filter={body}
          status={filter.status}
          onClose={() => setOpen(false)}
          onStarted={() => {
            setOpen(false);
            select(path, []);
          }}
        />
      )}
    </div>
  );
}

interface ListStateProps {
  picked: number;
  rows: number;
  /** There are more than are shown. */
  isCut: boolean;
  path: string;
}

function ListState({ picked, rows, isCut, path }: ListStateProps): JSX.Element {
  return (
    <span class="list-state">
      {picked > 0 ? (
        <>
          <strong>{t("deliveries.picked", { count: picked })}</strong>
          <Button kind="quiet" onClick={() => select(path, [])}>
            {t("deliveries.unpick")}
          </Button>
        </>
      ) : (
        <span class="muted">{t(isCut ? "deliveries.shown.more" : "deliveries.shown", { count: rows })}</span>
      )}
    </span>
  );
}

interface RowsProps extends ListProps {
  rows: Delivery[];
  path: string;
}

/** Beside its detail the list has a scroll of its own, and the page stays where it is. */
function showChosen(): void {
  const row = document.querySelector(".deliveries .chosen");
  const frame = row?.closest(".split-list");
  if (!row || !frame) return;
  const [at, seen] = [row.getBoundingClientRect(), frame.getBoundingClientRect()];
  if (at.top < seen.top || at.bottom > seen.bottom) frame.scrollTop += at.top - seen.top - seen.height / 2;
}

function Rows({ rows, path, current, query }: RowsProps): JSX.Element {
  useEffect(showChosen, [current]);
  const columns = columnsOf(useEndpointNames(rows.map((row) => row.endpoint_id)));
  return (
    <Table
      caption={t("deliveries.caption")}
      columns={may.manage ? [tickColumn(rows, path), ...columns] : columns}
      rows={rows}
      keyOf={({ id }) => id}
      href={({ id }) => to(`/deliveries/${id}`, query)}
      current={current}
    />
  );
}

function tickColumn(rows: readonly Delivery[], path: string): Column<Delivery> {
  const chosen = selectionOf(path);
  const isAll = rows.length > 0 && rows.every(({ id }) => chosen.has(id));
  return {
    title: t("deliveries.tick"),
    wide: true,
    before: {
      head: (
        <input
          type="checkbox"
          aria-label={t("deliveries.tick.all", { count: number(rows.length) })}
          checked={isAll}
          onChange={() => select(path, isAll ? [] : rows.map(({ id }) => id))}
        />
      ),
    },
    cell: ({ id, event_type: type }) => (
      <input
        type="checkbox"
        aria-label={t("deliveries.tick.one", { type, id })}
        checked={chosen.has(id)}
        onChange={() => toggle(path, id)}
      />
    ),
  };
}
