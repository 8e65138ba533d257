import type { JSX } from "preact";
import { type Key, t } from "../i18n.ts";
import type { Delivery, DeliveryStatus, Endpoint, WaitingFor } from "../types.ts";
import { Icon, type IconName } from "./icons.tsx";

export type Tone = "good" | "warn" | "bad" | "wait" | "idle";

/** A state: icon, word and colour, never colour alone. */
export function Badge({
  tone,
  icon,
  text,
  title,
}: {
  tone: Tone;
  icon: IconName;
  text: string;
  title?: string;
}): JSX.Element {
  return (
    <span class={`badge ${tone}`} title={title}>
      <Icon name={icon} />
      {text}
    </span>
  );
}

const DELIVERY: Readonly<Record<DeliveryStatus, { tone: Tone; icon: IconName; key: Key }>> = {
  delivered: { tone: "good", icon: "check", key: "status.delivered" },
  retrying: { tone: "warn", icon: "retry", key: "status.retrying" },
  pending: { tone: "wait", icon: "clock", key: "status.pending" },
  dead: { tone: "bad", icon: "cross", key: "status.dead" },
  cancelled: { tone: "idle", icon: "stop", key: "status.cancelled" },
};

const WAITING: Readonly<Record<WaitingFor, Key>> = {
  paused: "waiting.paused",
  rate_limit: "waiting.rate_limit",
  backoff: "waiting.backoff",
  order: "waiting.order",
  concurrency: "waiting.concurrency",
  plan_limit: "waiting.plan_limit",
  disk: "waiting.disk",
  replica: "waiting.replica",
};

type Shown = Pick<Delivery, "status"> & Partial<Pick<Delivery, "waiting_for">>;

/** Of a delivery; one that waits says what for. */
export function StatusBadge({ delivery: { status, waiting_for: why } }: { delivery: Shown }): JSX.Element {
  if (why) return <Badge tone="wait" icon={why === "paused" ? "pause" : "clock"} text={t(WAITING[why])} />;
  const { tone, icon, key } = DELIVERY[status];
  return <Badge tone={tone} icon={icon} text={t(key)} />;
}

/** Of an endpoint; one that works but fails at the moment says so. */
export function EndpointBadge({
  endpoint,
}: {
  endpoint: Pick<Endpoint, "status" | "failing_since">;
}): JSX.Element {
  if (endpoint.status === "disabled") return <Badge tone="bad" icon="stop" text={t("endpoint.disabled")} />;
  if (endpoint.status === "paused") return <Badge tone="wait" icon="pause" text={t("endpoint.paused")} />;
  if (endpoint.failing_since !== null) return <Badge tone="warn" icon="alert" text={t("endpoint.failing")} />;
  return <Badge tone="good" icon="check" text={t("endpoint.active")} />;
}
