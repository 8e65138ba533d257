import type { JSX } from "preact";
import { StatusBadge } from "../../components/badge.tsx";
import { Id, shorten } from "../../components/id.tsx";
import { Listing } from "../../components/layout.tsx";
import { Empty, Failure, Skeleton } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Countdown, Time } from "../../components/time.tsx";
import { number } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { to } from "../../router.ts";
import type { Delivery, Page } from "../../types.ts";
import { useEndpointNames } from "./endpoint-lists.ts";

/** The newest deliveries of a list of /v1, one page. */
export function DeliveryTable({
  path,
  empty,
  withEndpoint = true,
}: {
  path: string;
  empty: string;
  withEndpoint?: boolean;
}): JSX.Element {
  const { data, error, of } = useResource<Page<Delivery>>(path, { keeps: true });
  const names = useEndpointNames(withEndpoint ? (data?.data ?? []).map((row) => row.endpoint_id) : []);
  if (error && !data) return <Failure error={error} />;
  if (!data) return <Skeleton rows={5} height={40} />;
  return (
    <Listing isOld={of !== path}>
      {data.data.length === 0 ? (
        <Empty title={empty} />
      ) : (
        <Table
          caption={t("deliveries.caption")}
          columns={columnsOf(withEndpoint ? names : null)}
          rows={data.data}
          keyOf={({ id }) => id}
          href={({ id }) => to(`/deliveries/${id}`)}
        />
      )}
    </Listing>
  );
}

/** `names`: of the endpoints, by their ids; null where all rows are of one. */
export function columnsOf(names: ReadonlyMap<string, string | null> | null): Column<Delivery>[] {
  return [
    { title: t("delivery.type"), cell: ({ event_type: type }) => <span class="mono cut">{type}</span> },
    { title: t("delivery.status"), lead: true, cell: (delivery) => <StatusBadge delivery={delivery} /> },
    ...(names === null
      ? []
      : [
          {
            title: t("delivery.endpoint"),
            cell: ({ endpoint_id: id }: Delivery) => (
              <a class="cut" href={to(`/endpoints/${id}`)} title={names.get(id) ?? undefined}>
                {names.get(id) === null ? t("endpoint.deleted") : (names.get(id) ?? shorten(id))}
              </a>
            ),
          },
        ]),
    {
      title: t("delivery.attempts"),
      align: "end",
      cell: ({ attempt_count: count, next_attempt_at: next, waiting_for: why }) => (
        <>
          {number(count)}
          {next && why === null && count > 0 && (
            <span class="muted small">
              {" · "}
              <Countdown until={next} />
            </span>
          )}
        </>
      ),
    },
    { title: t("delivery.id"), wide: true, extra: true, cell: ({ id }) => <Id id={id} /> },
    { title: t("delivery.created"), align: "end", cell: ({ created_at: at }) => <Time at={at} /> },
  ];
}
