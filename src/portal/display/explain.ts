import { maybe, t } from "../i18n.ts";
import type { Attempt } from "../types.ts";

/** What went wrong in an attempt, and what to do about it: one sentence each, never a code alone. */
export interface Explanation {
  what: string;
  next: string;
}

type Failure = Pick<Attempt, "outcome" | "status_code" | "error_code" | "error_detail" | "url">;

export function explain({
  outcome,
  status_code: status,
  error_code: code,
  ...failure
}: Failure): Explanation {
  const { error_detail: detail, url } = failure;
  const host = url === null ? t("explain.receiver") : (URL.parse(url)?.hostname ?? url);
  const values = { host, status: String(status ?? ""), reason: detail ?? "" };
  const named = detail === null ? null : maybe(`explain.${code}.named`, values);
  const what = named ?? maybe(`explain.${code}.what`, values);
  if (what !== null) return { what, next: maybe(`explain.${code}.next`, values) ?? "" };
  if (status !== null) return ofStatus(status, values);
  const general = outcome === "timeout" ? "timeout_response" : "connection_failed";
  return { what: t(`explain.${general}.what`, values), next: t(`explain.${general}.next`, values) };
}

function ofStatus(status: number, values: { host: string; status: string }): Explanation {
  const group = `${Math.floor(status / 100)}xx`;
  const name = maybe(`explain.status_${status}.what`) === null ? group : `status_${status}`;
  const what = maybe(`explain.${name}.what`, values) ?? t("explain.other.what", values);
  return { what, next: maybe(`explain.${name}.next`, values) ?? t("explain.other.next", values) };
}
