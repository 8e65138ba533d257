import { and } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import type { Provider, RefusalReason, Source, SourceTotal } from "../../types.ts";

/** Why requests are refused, in words: what it was, what it comes from, and what to do. */
export interface Refusal {
  /** A few words, for lists. */
  name: string;
  what: string;
  next: string;
}

export function explainRefusal(reason: RefusalReason, provider: Pick<Provider, "name" | "headers">): Refusal {
  const values = { provider: provider.name, headers: headersOf(provider) };
  return {
    name: t(`refusal.${reason}`),
    what: t(`refusal.${reason}.what`, values),
    next: t(`refusal.${reason}.next`, values),
  };
}

/** Headers that are known by their names; those of `config` are the owner's own. */
export function namedHeaders({ headers }: Pick<Provider, "headers">): string[] {
  return headers.filter((name) => !name.includes("."));
}

function headersOf(provider: Pick<Provider, "headers">): string {
  const names = namedHeaders(provider);
  return names.length === 0 ? t("refusal.headers") : and(names);
}

/** The tab of the source where something can be done about it. */
export const REMEDIES: Readonly<Record<RefusalReason, "secret" | "check" | "settings" | null>> = {
  missing_header: "check",
  bad_signature: "secret",
  stale_timestamp: "check",
  token_in_query: "secret",
  unknown_key: "secret",
  wrong_key_id: "secret",
  body_altered: "check",
  malformed: "check",
  wrong_method: null,
  too_large: null,
  awaiting_secret: "secret",
  keys_unavailable: null,
  visit_failed: null,
  paused: null,
  suspended: null,
  changed: null,
  rate_limited: "settings",
  plan_limit: null,
  loop: null,
};

/** Anybody who finds the address may cause these: they say nothing of the provider. */
const BY_STRANGERS: readonly RefusalReason[] = ["missing_header", "wrong_method", "too_large"];

/** True where the last thing that came was refused, and most likely came from the provider. */
export function isRefusing(
  { status }: Pick<Source, "status">,
  total: Pick<SourceTotal, "last_received_at" | "last_rejected"> | undefined,
): boolean {
  const { last_received_at: taken, last_rejected: refused } = total ?? {};
  if (status !== "active" || !refused || BY_STRANGERS.includes(refused.reason)) return false;
  return !taken || taken < refused.at;
}

export function refusedOf({ rejected }: Pick<SourceTotal, "rejected">): number {
  return Object.values(rejected).reduce((sum, count) => sum + count, 0);
}
