import type { JSX } from "preact";
import { Head, More, Split } from "../components/layout.tsx";
import { SearchField } from "../components/search.tsx";
import { Empty, Failure, Skeleton } from "../components/states.tsx";
import { t } from "../i18n.ts";
import { useList } from "../resource.ts";
import { setQuery, to } from "../router.ts";
import type { EventType } from "../types.ts";
import type { ViewProps } from "../view.ts";
import { EventTypeDetail } from "./event-types/detail.tsx";

const LIST = "/v1/event-types?archived=false&limit=250";

/** The catalogue: what events there are, by group, and the one that is open. */
export function EventTypes({ params, query }: ViewProps): JSX.Element {
  const { name = null } = params;
  return (
    <Split
      list={<Catalogue current={name} query={query} />}
      detail={name === null ? null : <EventTypeDetail key={name} name={name} />}
      back={to("/event-types", query)}
      backText={t("catalogue.back")}
    />
  );
}

function Catalogue({ current, query }: { current: string | null; query: ViewProps["query"] }): JSX.Element {
  const { rows: all, error, more } = useList<EventType & { id?: string }>(LIST);
  const wanted = (query["q"] ?? "").toLowerCase();
  const rows = all?.filter((type) => fits(type, wanted));
  return (
    <>
      <Head title={t("tab.types")} isBeside={current !== null} />
      <div class="filters">
        <SearchField
          label={t("catalogue.search")}
          value={query["q"] ?? ""}
          onInput={(q) => setQuery({ q })}
        />
      </div>
      {error && !rows ? <Failure error={error} /> : null}
      {!rows && !error ? <Skeleton rows={6} height={56} /> : null}
      {rows?.length === 0 ? <None isFiltered={wanted !== ""} /> : null}
      {groupsOf(rows ?? []).map(([group, types]) => (
        <Group key={group} group={group} types={types} current={current} query={query} />
      ))}
      <More more={more} />
    </>
  );
}

function fits({ name, description, group }: EventType, wanted: string): boolean {
  return [name, description ?? "", group ?? ""].some((text) => text.toLowerCase().includes(wanted));
}

/** Groups and the names in them by the alphabet; what has no group stands last. */
function groupsOf(types: readonly EventType[]): [string, EventType[]][] {
  const groups = new Map<string, EventType[]>();
  for (const type of types) {
    const group = type.group ?? "";
    groups.set(group, [...(groups.get(group) ?? []), type]);
  }
  for (const rows of groups.values()) rows.sort((a, b) => a.name.localeCompare(b.name));
  return [...groups].sort(([a], [b]) => Number(a === "") - Number(b === "") || a.localeCompare(b));
}

function None({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (isFiltered) return <Empty title={t("catalogue.nomatch")} icon="search" />;
  return (
    <Empty title={t("catalogue.none")}>
      <p>{t("catalogue.none.text")}</p>
    </Empty>
  );
}

interface GroupProps {
  group: string;
  types: EventType[];
  current: string | null;
  query: ViewProps["query"];
}

function Group({ group, types, current, query }: GroupProps): JSX.Element {
  const title = group === "" ? t("catalogue.other") : group;
  return (
    <section class="type-group" aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {types.map(({ name, description }) => (
          <li key={name} class={current === name ? "chosen" : undefined}>
            <a
              href={to(`/event-types/${name}`, query)}
              data-row
              aria-current={current === name ? "true" : undefined}
            >
              <code>{name}</code>
              {description && <span class="muted">{description}</span>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
