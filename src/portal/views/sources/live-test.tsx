import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { to } from "../../router.ts";
import type { EventRow, Page, Provider, Source, SourceLast, SourceStats } from "../../types.ts";
import { explainRefusal } from "./refusal.ts";

interface LiveTestProps {
  source: Source;
  provider: Provider;
}

/** Waits for the provider's request, and says what came of it. */
export function LiveTest({ source, provider }: LiveTestProps): JSX.Element {
  const { data } = useResource<SourceStats>(`/v1/sources/${source.id}/stats`);
  // What was there already. Before that is known it does not wait: what comes meanwhile would not be told.
  const [before, setBefore] = useState<SourceLast | null>(null);
  useEffect(() => {
    if (data && before === null) setBefore(data);
  }, [data, before]);
  const came = data && before ? newestSince(before, data) : null;
  return (
    <div class="live" aria-live="polite">
      {before !== null && came === null && (
        <p class="notice wait">
          <Icon name="clock" />
          <span>{t("live.waiting", { provider: provider.name })}</span>
        </p>
      )}
      {came?.kind === "received" && <Received source={source} at={came.at} />}
      {came?.kind === "handshake" && (
        <p class="notice good">
          <Icon name="check" />
          <span>
            {t("live.handshake", { provider: provider.name })} <Time at={came.at} />
          </span>
        </p>
      )}
      {came?.kind === "rejected" && data?.last_rejected && (
        <div class="notice bad">
          <p>
            <strong>
              {t("live.rejected")} <Time at={came.at} />.
            </strong>{" "}
            {explainRefusal(data.last_rejected.reason, provider).what}
          </p>
          <p>{explainRefusal(data.last_rejected.reason, provider).next}</p>
        </div>
      )}
    </div>
  );
}

interface Came {
  kind: "received" | "handshake" | "rejected";
  at: string;
}

/** The newest of what came after `before`; null: nothing did. */
function newestSince(before: SourceLast, now: SourceLast): Came | null {
  const all: [Came["kind"], string | null, string | null][] = [
    ["received", before.last_received_at, now.last_received_at],
    ["handshake", before.last_handshake_at, now.last_handshake_at],
    ["rejected", before.last_rejected?.at ?? null, now.last_rejected?.at ?? null],
  ];
  return all.reduce<Came | null>((newest, [kind, was, at]) => {
    if (at === null || at === was) return newest;
    return newest === null || newest.at < at ? { kind, at } : newest;
  }, null);
}

function Received({ source, at }: { source: Source; at: string }): JSX.Element {
  const { data } = useResource<Page<EventRow>>(`/v1/events?source_id=${source.id}&limit=1`);
  const [event] = data?.data ?? [];
  return (
    <div class="notice good">
      <Icon name="check" />
      <span>
        {t("live.received")} <Time at={at} />
      </span>
      {event && (
        <p>
          {t("live.event")} <code>{event.type}</code>.{" "}
          {event.delivery_count > 0 ? (
            <a href={to("/deliveries", { q: event.id })}>
              {t("source.events.count", { count: event.delivery_count })}
            </a>
          ) : (
            t("source.events.unmatched")
          )}
        </p>
      )}
    </div>
  );
}
