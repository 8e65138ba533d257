import type { JSX } from "preact";
import { Badge } from "../../components/badge.tsx";
import { t } from "../../i18n.ts";
import type { Source, SourceTotal } from "../../types.ts";
import { isRefusing } from "./refusal.ts";

interface SourceBadgeProps {
  source: Pick<Source, "status">;
  /** What came lately: one that is active, and refuses what comes, says so. */
  total: Pick<SourceTotal, "last_received_at" | "last_rejected"> | undefined;
}

export function SourceBadge({ source, total }: SourceBadgeProps): JSX.Element {
  if (source.status === "paused") return <Badge tone="wait" icon="pause" text={t("source.paused")} />;
  if (source.status === "awaiting_secret")
    return <Badge tone="warn" icon="key" text={t("source.awaiting_secret")} />;
  if (isRefusing(source, total)) return <Badge tone="bad" icon="alert" text={t("source.refusing")} />;
  return <Badge tone="good" icon="check" text={t("source.active")} />;
}
