import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getText } from "../../api.ts";
import { Button, LinkButton } from "../../components/button.tsx";
import { Body } from "../../components/code.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Id } from "../../components/id.tsx";
import { Listing, Section } from "../../components/layout.tsx";
import { Empty, Failure, Skeleton } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { iso } from "../../display/format.ts";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { to } from "../../router.ts";
import type { EventRow, Page, Source } from "../../types.ts";

interface SourceEventsProps {
  source: Source;
  since: number;
  /** null: until now. */
  until: number | null;
}

/** The newest events that came in by a source, each with what it held and where it went. */
export function SourceEvents({ source, since, until }: SourceEventsProps): JSX.Element {
  const [open, setOpen] = useState<EventRow | null>(null);
  const asked = { source_id: source.id, limit: "10", since: iso(since), ...(until && { until: iso(until) }) };
  const path = `/v1/events?${new URLSearchParams(asked)}`;
  const { data, error, of } = useResource<Page<EventRow>>(path, { keeps: true });
  return (
    <Section title={t("source.events")}>
      {error && !data ? <Failure error={error} /> : null}
      {!data && !error ? <Skeleton rows={3} height={44} /> : null}
      <Listing isOld={of !== path}>
        {data?.data.length === 0 ? <Empty title={t("source.events.none")} icon="info" /> : null}
        {data && data.data.length > 0 ? (
          <Table
            caption={t("source.events")}
            columns={columnsOf(setOpen)}
            rows={data.data}
            keyOf={({ id }) => id}
          />
        ) : null}
      </Listing>
      {open && <EventDialog event={open} onClose={() => setOpen(null)} />}
    </Section>
  );
}

function columnsOf(show: (event: EventRow) => void): Column<EventRow>[] {
  return [
    {
      title: t("delivery.type"),
      cell: (event) => (
        <button type="button" class="link mono breaks" onClick={() => show(event)}>
          {event.type}
        </button>
      ),
    },
    { title: t("delivery.id"), extra: true, cell: ({ id }) => <Id id={id} /> },
    { title: t("source.events.deliveries"), cell: (event) => <Went event={event} /> },
    { title: t("source.events.at"), align: "end", cell: ({ created_at: at }) => <Time at={at} /> },
  ];
}

function Went({ event: { id, delivery_count: count } }: { event: EventRow }): JSX.Element {
  if (count === 0) return <span class="muted">{t("source.events.unmatched")}</span>;
  return <a href={to("/deliveries", { q: id })}>{t("source.events.count", { count })}</a>;
}

/** The event exactly as it is stored: read as text, so that no number is spelled anew. */
function EventDialog({ event, onClose }: { event: EventRow; onClose: () => void }): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    getText(`/v1/events/${event.id}`).then(setText, (reason: unknown) => setError(reason as Error));
  }, [event.id]);
  return (
    <Dialog title={event.type} onClose={onClose}>
      {error && <Failure error={error} />}
      {text === null && !error && <Skeleton rows={1} height={160} />}
      {text !== null && <Body text={text} label={t("shape.event")} />}
      <div class="actions">
        {event.delivery_count > 0 && (
          <LinkButton href={to("/deliveries", { q: event.id })}>
            {t("source.events.count", { count: event.delivery_count })}
          </LinkButton>
        )}
        <Button kind="primary" onClick={onClose}>
          {t("close")}
        </Button>
      </div>
    </Dialog>
  );
}
