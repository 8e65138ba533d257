import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { EndpointBadge } from "../components/badge.tsx";
import { Button } from "../components/button.tsx";
import { Id } from "../components/id.tsx";
import { Facts, Section, Tabs } from "../components/layout.tsx";
import { Failure, Skeleton } from "../components/states.tsx";
import { Countdown, Time } from "../components/time.tsx";
import { explain } from "../display/explain.ts";
import { compact, duration, percent } from "../display/format.ts";
import { type Key, t } from "../i18n.ts";
import { useResource } from "../resource.ts";
import { to } from "../router.ts";
import { may } from "../session.ts";
import type { Endpoint, Stats } from "../types.ts";
import { ReplayDialog } from "./deliveries/replay-dialog.tsx";
import { ReplayProgress } from "./deliveries/replay-progress.tsx";
import { EndpointSecret } from "./endpoint/secret.tsx";
import { EndpointSettings } from "./endpoint/settings.tsx";
import { EndpointTest } from "./endpoint/test.tsx";
import { enable, pause, resume } from "./parts/actions.ts";
import { DeliveryTable } from "./parts/delivery-table.tsx";
import { addressOf, nameOf } from "./parts/endpoint-name.ts";
import { useLastFailure } from "./parts/failing.tsx";
import { Types } from "./parts/types.tsx";
import { EndpointShape } from "./shape.tsx";

interface EndpointTabProps {
  endpoint: Endpoint;
}

interface TabRow {
  name: string;
  title: Key;
  /** Left out where the link does not grant it. */
  isOpen: () => boolean;
  view: (props: EndpointTabProps) => JSX.Element;
}

/** The tabs of an endpoint. A new one is a row here. */
const TABS: readonly TabRow[] = [
  { name: "overview", title: "tab.overview", isOpen: () => true, view: EndpointOverview },
  { name: "settings", title: "tab.settings", isOpen: () => true, view: EndpointSettings },
  { name: "shape", title: "tab.shape", isOpen: () => true, view: EndpointShape },
  { name: "secret", title: "tab.secret", isOpen: () => may.manage, view: EndpointSecret },
  { name: "test", title: "tab.test", isOpen: () => may.manage, view: EndpointTest },
];

export function EndpointDetail({ id, tab }: { id: string; tab: string }): JSX.Element {
  const { data: endpoint, error } = useResource<Endpoint>(`/v1/endpoints/${encodeURIComponent(id)}`);
  if (error && !endpoint) return <Failure error={error} />;
  if (!endpoint) return <Skeleton rows={6} />;
  const open = TABS.filter((row) => row.isOpen());
  const row = open.find(({ name }) => name === tab) ?? open[0];
  const items = open.map(({ name, title }) => ({
    title: t(title),
    href: to(name === "overview" ? `/endpoints/${id}` : `/endpoints/${id}/${name}`),
    isOpen: name === row?.name,
  }));
  return (
    <article aria-label={nameOf(endpoint)}>
      <EndpointHead endpoint={endpoint} />
      {items.length > 1 && <Tabs items={items} label={nameOf(endpoint)} />}
      {row && <row.view key={row.name} endpoint={endpoint} />}
    </article>
  );
}

function EndpointHead({ endpoint }: EndpointTabProps): JSX.Element {
  return (
    <div class="detail-head">
      <div class="detail-title">
        <h1>{nameOf(endpoint)}</h1>
        <EndpointBadge endpoint={endpoint} />
      </div>
      <p class="mono breaks">{endpoint.url ?? addressOf(endpoint)}</p>
      <div class="actions start">
        {may.manage && <StateButton endpoint={endpoint} />}
        {may.manage && endpoint.status !== "disabled" && <ReplayButton endpoint={endpoint} />}
        <Id id={endpoint.id} />
      </div>
      {may.manage && <ReplayProgress />}
    </div>
  );
}

/** What was given up, or never had, sent again. */
function ReplayButton({ endpoint }: EndpointTabProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <Button icon="retry" onClick={() => setOpen(true)}>
        {t("replay.open")}
      </Button>
      {isOpen && (
        <ReplayDialog
          picked={[]}
          filter={{ endpoint_id: endpoint.id }}
          status={null}
          onClose={close}
          onStarted={close}
        />
      )}
    </>
  );
}

function StateButton({ endpoint }: EndpointTabProps): JSX.Element {
  if (endpoint.status === "disabled") {
    return (
      <Button kind="primary" icon="play" onClick={() => void enable(endpoint)}>
        {t("endpoint.enable")}
      </Button>
    );
  }
  if (endpoint.status === "paused") {
    return (
      <Button kind="primary" icon="play" onClick={() => void resume(endpoint)}>
        {t("endpoint.resume")}
      </Button>
    );
  }
  return (
    <Button icon="pause" onClick={() => void pause(endpoint)}>
      {t("endpoint.pause")}
    </Button>
  );
}

/** Is it working, and what came lately? */
function EndpointOverview({ endpoint }: EndpointTabProps): JSX.Element {
  const { data: stats } = useResource<Stats>(`/v1/endpoints/${endpoint.id}/stats`);
  return (
    <>
      <Trouble endpoint={endpoint} />
      <Section title={t("endpoint.day")}>
        {stats ? <Numbers stats={stats} /> : <Skeleton rows={1} height={72} />}
      </Section>
      <Section title={t("endpoint.facts")}>
        <Facts
          items={[
            [t("endpoints.types"), <Types key="types" types={endpoint.event_types} />],
            [t("endpoint.filter"), endpoint.filter ? t("endpoint.filter.some") : t("endpoint.filter.none")],
            [t("endpoint.created"), <Time key="created" at={endpoint.created_at} />],
          ]}
        />
      </Section>
      <Section title={t("endpoint.recent")}>
        <DeliveryTable
          path={`/v1/deliveries?endpoint_id=${endpoint.id}&limit=10`}
          empty={t("endpoint.recent.none")}
          withEndpoint={false}
        />
      </Section>
    </>
  );
}

function Numbers({ stats: { total, waiting } }: { stats: Stats }): JSX.Element {
  const attempts = total.delivered + total.failed;
  return (
    <Facts
      items={[
        [t("overview.delivered"), compact(total.delivered)],
        [t("overview.failed"), compact(total.failed)],
        [t("overview.dead"), compact(total.dead)],
        [t("overview.waiting"), compact(waiting)],
        [t("endpoints.rate"), attempts === 0 ? "–" : percent(total.delivered / attempts)],
        [t("endpoint.p95"), total.p95_ms === null ? "–" : duration(total.p95_ms)],
      ]}
    />
  );
}

/** Why it does not work, in words, and when it is tried again. */
function Trouble({ endpoint }: EndpointTabProps): JSX.Element | null {
  const isFine = endpoint.status !== "disabled" && endpoint.failing_since === null;
  const failure = useLastFailure(isFine ? null : endpoint.id);
  if (isFine) return null;
  const said = failure && endpoint.disabled_reason !== "gone" ? explain(failure.attempt) : null;
  return (
    <div class="notice bad" role="status">
      {endpoint.disabled_reason === "gone" && <p>{t("endpoint.gone.text")}</p>}
      {endpoint.disabled_reason === "failing" && <p>{t("endpoint.failing.text")}</p>}
      {said && (
        <p>
          <strong>{said.what}</strong> {said.next}
        </p>
      )}
      {failure && (
        <p>
          <a href={to(`/deliveries/${failure.delivery.id}`)}>{t("endpoint.trouble.see")}</a>
          {failure.delivery.next_attempt_at && endpoint.status === "active" && (
            <>
              {" · "}
              {t("endpoint.trouble.next")} <Countdown until={failure.delivery.next_attempt_at} />
            </>
          )}
        </p>
      )}
    </div>
  );
}
