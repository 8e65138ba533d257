import type { JSX } from "preact";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { confirm } from "../../components/dialog.tsx";
import { Id } from "../../components/id.tsx";
import { Tabs } from "../../components/layout.tsx";
import { Failure, Skeleton } from "../../components/states.tsx";
import { now } from "../../components/time.tsx";
import { iso } from "../../display/format.ts";
import { type Key, t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { may } from "../../session.ts";
import type { Provider, Source, SourceStats } from "../../types.ts";
import type { ViewProps } from "../../view.ts";
import { windowOf } from "../deliveries/filter.ts";
import { act } from "../parts/actions.ts";
import { SourceBadge } from "./badge.tsx";
import { CheckRequest } from "./check.tsx";
import { called } from "./generic.ts";
import { SourceOverview } from "./overview.tsx";
import { SourceSecret } from "./secret.tsx";
import { SetUp } from "./set-up.tsx";
import { SourceSettings } from "./settings.tsx";
import { addressOf } from "./source-address.ts";
import type { SourceTabProps } from "./source-tab.ts";
import { spanOf } from "./span.tsx";

interface TabRow {
  name: string;
  title: Key;
  /** Left out where the key does not grant it. */
  isOpen: (provider: Provider) => boolean;
  view: (props: SourceTabProps) => JSX.Element;
}

/** The tabs of a source. A new one is a row here. */
const TABS: readonly TabRow[] = [
  { name: "overview", title: "tab.overview", isOpen: () => true, view: SourceOverview },
  { name: "setup", title: "tab.setup", isOpen: () => true, view: SetUpTab },
  {
    name: "secret",
    title: "tab.secret",
    isOpen: ({ fields }) => may.manage && fields.length > 0,
    view: SourceSecret,
  },
  { name: "check", title: "tab.check", isOpen: () => may.manage, view: CheckRequest },
  { name: "settings", title: "tab.settings", isOpen: () => true, view: SourceSettings },
];

function SetUpTab({ source, provider }: SourceTabProps): JSX.Element {
  return <SetUp source={source} provider={provider} secret={null} />;
}

interface DetailProps {
  id: string;
  tab: string;
  query: ViewProps["query"];
}

export function SourceDetail({ id, tab, query }: DetailProps): JSX.Element {
  const path = `/v1/sources/${encodeURIComponent(id)}`;
  const { data: source, error } = useResource<Source>(path);
  const since = iso(windowOf(spanOf(query), now.value).begin);
  const { data: stats } = useResource<SourceStats>(`${path}/stats?since=${since}`);
  const { data: row, error: providerError } = useResource<Provider>(
    source ? `/v1/providers/${source.provider}` : null,
    { polls: false },
  );
  const failed = error ?? providerError;
  if (failed && !(source && row)) return <Failure error={failed} />;
  if (!source || !row || !stats) return <Skeleton rows={6} />;
  return <Detail source={source} provider={called(row, source)} stats={stats} query={query} tab={tab} />;
}

function Detail({ tab, ...props }: SourceTabProps & { tab: string }): JSX.Element {
  const { source, provider, query } = props;
  const open = TABS.filter((one) => one.isOpen(provider));
  const row = open.find(({ name }) => name === tab) ?? open[0];
  const items = open.map(({ name, title }) => ({
    title: t(title),
    href: addressOf(source, name, query),
    isOpen: name === row?.name,
  }));
  return (
    <article aria-label={source.name}>
      <SourceHead {...props} />
      <Tabs items={items} label={source.name} />
      {row && <row.view key={row.name} {...props} />}
    </article>
  );
}

function SourceHead({ source, provider, stats }: SourceTabProps): JSX.Element {
  const { name, provider_name: kind } = source;
  return (
    <div class="detail-head">
      <div class="detail-title">
        <h1>{name}</h1>
        <SourceBadge source={source} total={stats} />
      </div>
      <div class="actions start">
        {may.manage && <StateButton source={source} provider={provider} />}
        {kind !== name && <span class="muted">{kind}</span>}
        <Id id={source.id} />
      </div>
    </div>
  );
}

function StateButton({ source, provider }: Pick<SourceTabProps, "source" | "provider">): JSX.Element {
  const { id, name, status } = source;
  if (status === "paused") {
    return (
      <Button
        kind="primary"
        icon="play"
        onClick={() => void act(() => send("POST", `/v1/sources/${id}/resume`, {}), t("source.resume.done"))}
      >
        {t("endpoint.resume")}
      </Button>
    );
  }
  const pause = async () => {
    const question = {
      title: t("source.pause.title", { name }),
      body: t("source.pause.text", { provider: provider.name }),
      action: t("source.pause.action"),
    };
    if (await confirm(question))
      await act(() => send("POST", `/v1/sources/${id}/pause`, {}), t("source.pause.done"));
  };
  return (
    <Button icon="pause" onClick={() => void pause()}>
      {t("endpoint.pause")}
    </Button>
  );
}
