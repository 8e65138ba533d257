import type { JSX } from "preact";
import { EndpointBadge } from "../../components/badge.tsx";
import { Button, LinkButton } from "../../components/button.tsx";
import { Section } from "../../components/layout.tsx";
import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { explain } from "../../display/explain.ts";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { to } from "../../router.ts";
import { may } from "../../session.ts";
import type { Attempt, Delivery, Endpoint, Page, Stats } from "../../types.ts";
import { enable, retryNow } from "./actions.ts";
import { nameOf } from "./endpoint-name.ts";

const SHOWN_MAX = 5;

/** As many as are counted; of more it is said that there are more. */
const COUNTED_MAX = 50;

export const FAILING = `/v1/endpoints?failing=true&limit=${COUNTED_MAX}`;

/** Endpoints that do not work, each with its last error in words and one thing to do. */
export function Failing({ stats }: { stats: Stats }): JSX.Element | null {
  const { data } = useResource<Page<Endpoint>>(FAILING);
  if (!data) return null;
  const { data: failing, next_cursor: next } = data;
  const count = failing.length;
  if (count === 0) return <AllWell stats={stats} />;
  return (
    <Section title={next === null ? t("overview.failing", { count }) : t("overview.failing.many", { count })}>
      <ul class="problems">
        {failing.slice(0, SHOWN_MAX).map((endpoint) => (
          <Problem key={endpoint.id} endpoint={endpoint} />
        ))}
      </ul>
      {count > SHOWN_MAX && (
        <p>
          <a href={to("/endpoints", { status: "failing" })}>
            {next === null ? t("overview.failing.all", { count }) : t("overview.failing.rest")}
          </a>
        </p>
      )}
    </Section>
  );
}

function AllWell({ stats: { total } }: { stats: Stats }): JSX.Element {
  const { data } = useResource<Page<Delivery>>("/v1/deliveries?status=delivered&limit=1");
  const [last] = data?.data ?? [];
  return (
    <p class="notice good">
      <Icon name="check" />
      <span>
        {total.failed === 0 ? t("overview.well") : t("overview.well.now")}{" "}
        {last && (
          <>
            {t("overview.well.last")} <a href={to(`/deliveries/${last.id}`)}>{last.event_type}</a>,{" "}
            <Time at={last.completed_at ?? last.created_at} />
          </>
        )}
      </span>
    </p>
  );
}

/** The newest delivery to an endpoint that has not arrived; null: none is asked for. */
export function useLastFailure(endpointId: string | null): { delivery: Delivery; attempt: Attempt } | null {
  const path = (status: string) =>
    endpointId === null ? null : `/v1/deliveries?status=${status}&endpoint_id=${endpointId}&limit=1`;
  const retrying = useResource<Page<Delivery>>(path("retrying"));
  const dead = useResource<Page<Delivery>>(path("dead"));
  const [newest] = [...(retrying.data?.data ?? []), ...(dead.data?.data ?? [])].sort((a, b) =>
    a.created_at < b.created_at ? 1 : -1,
  );
  const attempts = useResource<Page<Attempt>>(newest ? `/v1/deliveries/${newest.id}/attempts?limit=1` : null);
  const [attempt] = attempts.data?.data ?? [];
  return newest && attempt ? { delivery: newest, attempt } : null;
}

function Problem({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const failure = useLastFailure(endpoint.id);
  const said = failure && endpoint.disabled_reason !== "gone" ? explain(failure.attempt) : null;
  return (
    <li class="problem">
      <div class="problem-head">
        <a href={to(`/endpoints/${endpoint.id}`)} class="cut strong">
          {nameOf(endpoint)}
        </a>
        <EndpointBadge endpoint={endpoint} />
        {endpoint.failing_since && (
          <span class="muted small">
            {t("endpoint.since")} <Time at={endpoint.failing_since} />
          </span>
        )}
      </div>
      <p>
        {endpoint.disabled_reason === "gone" && t("endpoint.gone.text")}{" "}
        {endpoint.disabled_reason === "failing" && t("endpoint.failing.text")}{" "}
        {said && (
          <>
            {said.what} <span class="muted">{said.next}</span>
          </>
        )}
      </p>
      <div class="actions">
        {may.manage && endpoint.status === "disabled" && (
          <Button onClick={() => void enable(endpoint)}>{t("endpoint.enable")}</Button>
        )}
        {may.manage && endpoint.status !== "disabled" && failure && (
          <Button icon="retry" onClick={() => void retryNow(failure.delivery.id)}>
            {t("delivery.retry")}
          </Button>
        )}
        <LinkButton kind="quiet" href={to(`/endpoints/${endpoint.id}`)}>
          {t("endpoint.open")}
        </LinkButton>
      </div>
    </li>
  );
}
