import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { send } from "../api.ts";
import { StatusBadge } from "../components/badge.tsx";
import { Button } from "../components/button.tsx";
import { confirm } from "../components/dialog.tsx";
import { Id } from "../components/id.tsx";
import { Facts, More, Section } from "../components/layout.tsx";
import { Empty, Failure, Skeleton } from "../components/states.tsx";
import { Time } from "../components/time.tsx";
import { t } from "../i18n.ts";
import { type List, useList, useResource } from "../resource.ts";
import { to } from "../router.ts";
import { may } from "../session.ts";
import type { Attempt, Delivery, Endpoint, EventWithData } from "../types.ts";
import type { ViewProps } from "../view.ts";
import { AttemptCard } from "./delivery/attempt.tsx";
import { ReplayOne } from "./delivery/replay-one.tsx";
import { StateNotice } from "./delivery/state.tsx";
import { goneOf, stepsOf } from "./delivery/steps.ts";
import { Timeline } from "./delivery/timeline.tsx";
import { act, enable, retryNow } from "./parts/actions.ts";
import { nameOf } from "./parts/endpoint-name.ts";

/** One delivery: what happened, why, and what can be done now. */
export function DeliveryDetail({ id, query }: { id: string; query: ViewProps["query"] }): JSX.Element {
  const path = `/v1/deliveries/${encodeURIComponent(id)}`;
  const { data: delivery, error } = useResource<Delivery>(path);
  const attempts = useList<Attempt>(`${path}/attempts?limit=50`);
  const endpoint = useResource<Endpoint>(delivery ? `/v1/endpoints/${delivery.endpoint_id}` : null);
  const eventPath = delivery ? `/v1/events/${delivery.event_id}` : null;
  const { data: event } = useResource<EventWithData>(eventPath, { polls: false });
  const isBodyGone = event?.data === null;
  const steps = useMemo(
    () => (delivery && attempts.rows ? stepsOf(delivery, attempts.rows, endpoint.data) : null),
    [delivery, attempts.rows?.length, endpoint.data],
  );
  if (error && !delivery) return <Failure error={error} />;
  if (!delivery) return <Skeleton rows={6} />;
  const [last] = attempts.rows ?? [];
  return (
    <article class="delivery" aria-label={delivery.event_type}>
      <DeliveryHead delivery={delivery} endpoint={endpoint.data} isBodyGone={isBodyGone} />
      {attempts.rows && <StateNotice delivery={delivery} last={last} isBodyGone={isBodyGone} />}
      <Section title={t("timeline.title")}>
        {steps ? <Timeline steps={steps} /> : <Skeleton rows={1} height={104} />}
      </Section>
      <Section title={t("delivery.facts")}>
        <DeliveryFacts delivery={delivery} endpoint={endpoint.data} event={event} query={query} />
      </Section>
      <Section title={t("delivery.attempts")}>
        <Attempts attempts={attempts} delivery={delivery} endpoint={endpoint.data} />
        <More more={attempts.more} />
      </Section>
    </article>
  );
}

interface HeadProps {
  delivery: Delivery;
  endpoint: Endpoint | undefined;
  /** Of its event: there is nothing to send any more. */
  isBodyGone: boolean;
}

function DeliveryHead({ delivery, endpoint, isBodyGone }: HeadProps): JSX.Element {
  const { id, event_type: type } = delivery;
  return (
    <div class="detail-head">
      <div class="detail-title">
        <h1 class="breaks">{type}</h1>
        <StatusBadge delivery={delivery} />
      </div>
      <div class="actions start">
        {may.manage && <Actions delivery={delivery} endpoint={endpoint} isBodyGone={isBodyGone} />}
        <Id id={id} />
      </div>
    </div>
  );
}

/**
 * What can be done with it now: to a disabled endpoint nothing is sent, nor to one that fetches by itself.
 */
function Actions({ delivery, endpoint, isBodyGone }: HeadProps): JSX.Element {
  const [isReplaying, setReplaying] = useState(false);
  const { id, status } = delivery;
  const isOpen = status === "pending" || status === "retrying";
  const isDisabled = endpoint?.status === "disabled";
  const canSend = endpoint !== undefined && !isDisabled && !isBodyGone;
  return (
    <>
      {endpoint && isDisabled && (
        <Button kind="primary" icon="play" onClick={() => void enable(endpoint)}>
          {t("delivery.enable")}
        </Button>
      )}
      {canSend && endpoint.kind !== "poll" && status !== "delivered" && (
        <Button kind="primary" icon="play" onClick={() => void retryNow(id)}>
          {t("delivery.retry")}
        </Button>
      )}
      {canSend && (
        <Button icon="retry" onClick={() => setReplaying(true)}>
          {t("replay.open")}
        </Button>
      )}
      {isOpen && (
        <Button icon="stop" onClick={() => void cancel(delivery)}>
          {t("delivery.cancel")}
        </Button>
      )}
      {isReplaying && <ReplayOne delivery={delivery} onClose={() => setReplaying(false)} />}
    </>
  );
}

async function cancel({ id }: Delivery): Promise<void> {
  const isSure = await confirm({
    title: t("delivery.cancel.title"),
    body: t("delivery.cancel.text"),
    action: t("delivery.cancel"),
    danger: true,
  });
  if (isSure) await act(() => send("POST", `/v1/deliveries/${id}/cancel`, {}), t("delivery.cancel.done"));
}

interface FactsProps {
  delivery: Delivery;
  endpoint: Endpoint | undefined;
  event: EventWithData | undefined;
  query: ViewProps["query"];
}

function DeliveryFacts({ delivery, endpoint, event, query }: FactsProps): JSX.Element {
  const { event_id: eventId, endpoint_id: endpointId, created_at: created } = delivery;
  const others = (event?.deliveries.length ?? 1) - 1;
  return (
    <Facts
      items={[
        [
          t("delivery.endpoint"),
          <a key="endpoint" class="cut" href={to(`/endpoints/${endpointId}`)}>
            {endpoint ? nameOf(endpoint) : t("endpoint.deleted")}
          </a>,
        ],
        [t("delivery.created"), <Time key="created" at={created} />],
        [t("delivery.event"), <Id key="event" id={eventId} />],
        ...(event?.external_id
          ? [[t("delivery.external"), <Id key="external" id={event.external_id} />] as const]
          : []),
        ...(event?.test ? [[t("delivery.kind"), t("delivery.test")] as const] : []),
        ...(others > 0
          ? [
              [
                t("delivery.also"),
                <a key="also" href={to("/deliveries", { ...query, q: eventId })}>
                  {t("delivery.also.count", { count: others })}
                </a>,
              ] as const,
            ]
          : []),
      ]}
    />
  );
}

interface AttemptsProps {
  attempts: List<Attempt>;
  delivery: Delivery;
  endpoint: Endpoint | undefined;
}

function Attempts({ attempts: { rows, error, more }, delivery, endpoint }: AttemptsProps): JSX.Element {
  if (error && !rows) return <Failure error={error} />;
  if (!rows) return <Skeleton rows={2} height={56} />;
  const gone = more === null ? goneOf(delivery, rows, Date.now()) : 0;
  const said = t(gone > 0 ? "delivery.attempts.gone" : "delivery.attempts.none", { count: gone });
  if (rows.length === 0) return <Empty title={said} icon="clock" />;
  return (
    <div class="attempts">
      {rows.map((attempt, at) => (
        <AttemptCard
          key={attempt.id}
          attempt={attempt}
          isOpen={at === 0}
          isHttp={(endpoint?.kind ?? "http") === "http"}
        />
      ))}
      {gone > 0 && <p class="muted">{said}</p>}
    </div>
  );
}
