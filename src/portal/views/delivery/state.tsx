import type { JSX } from "preact";
import { Icon } from "../../components/icons.tsx";
import { Countdown } from "../../components/time.tsx";
import { explain } from "../../display/explain.ts";
import { maybe, t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { to } from "../../router.ts";
import type { Attempt, Delivery, EndpointTotal } from "../../types.ts";

interface StateProps {
  delivery: Delivery;
  /** The newest attempt. */
  last: Attempt | undefined;
  /** Of its event: there is nothing to send any more. */
  isBodyGone: boolean;
}

/** Why it is where it is, in words, and what to do; of one that arrived only what cannot be done any more. */
export function StateNotice({ delivery, last, isBodyGone }: StateProps): JSX.Element | null {
  const { status, waiting_for: waiting, dead_reason: reason, next_attempt_at: next } = delivery;
  if (status === "delivered" && !isBodyGone) return null;
  const isFailed = last && last.outcome !== "delivered" && last.outcome !== "handed_out";
  const said = isFailed ? explain(last) : null;
  const isOver = status === "delivered" || status === "cancelled";
  const tone = status === "dead" ? "bad" : isOver ? "idle" : waiting ? "wait" : said ? "warn" : "wait";
  return (
    <div class={`notice ${tone}`} role="status">
      <Icon name={status === "dead" ? "cross" : status === "cancelled" ? "stop" : "clock"} />
      <span>
        {said && !isOver && (
          <>
            <strong>{said.what}</strong> {status !== "dead" && said.next}{" "}
          </>
        )}
        {status === "dead" && t(`dead.${reason ?? "exhausted"}`)}
        {status === "cancelled" && t("delivery.cancelled.text")}
        {waiting && <strong>{t(`waits.${waiting}`)}</strong>}
        {isBodyGone ? ` ${t("delivery.body.gone")}` : nextOf(delivery)}
        {status === "pending" && !waiting && t("delivery.pending.text")}
        {status === "retrying" && !waiting && next !== null && (
          <>
            {t("endpoint.trouble.next")} <Countdown until={next} />.
          </>
        )}{" "}
        {status !== "delivered" && <Others delivery={delivery} />}
      </span>
    </div>
  );
}

/** What can be done with one that was not sent, and can be. */
function nextOf({ status, dead_reason: reason }: Delivery): string | null {
  if (status === "cancelled") return ` ${t("delivery.cancelled.next")}`;
  const next = status === "dead" ? maybe(`dead.${reason ?? "exhausted"}.next`) : null;
  return next && ` ${next}`;
}

/** How many others of its endpoint wait with it. */
function Others({ delivery: { endpoint_id: id, status } }: { delivery: Delivery }): JSX.Element | null {
  const { data } = useResource<{ data: EndpointTotal[] }>(`/v1/stats/endpoints?endpoint_ids=${id}`);
  const isOpen = status === "pending" || status === "retrying";
  const others = (data?.data[0]?.waiting ?? 0) - (isOpen ? 1 : 0);
  if (others <= 0) return null;
  return <a href={to("/deliveries", { endpoint: id })}>{t("delivery.others", { count: others })}</a>;
}
