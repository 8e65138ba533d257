import { maybe, t } from "./i18n.ts";
import type { Attempt } from "./types.ts";

/** What went wrong in an attempt, and what to do about it: one sentence each, never a code alone. */
export interface Explanation {
  what: string;
  next: string;
}

type Failure = Pick<Attempt, "outcome" | "status_code" | "error_code" | "url">;

export function explain({ outcome, status_code: status, error_code: code, url }: Failure): Explanation {
  const host = url === null ? t("explain.receiver") : (URL.parse(url)?.hostname ?? url);
  const values = { host, status: String(status ?? ""), reason: reasonOf(code ?? "") };
  if (outcome === "malformed")
    return { what: t("explain.malformed.what", values), next: t("explain.malformed.next") };
  const name = nameOf(code, outcome);
  const named = maybe(`explain.${name}.what`, values);
  if (named !== null) return { what: named, next: maybe(`explain.${name}.next`, values) ?? "" };
  if (status !== null) return ofStatus(status, values);
  const general = outcome === "timeout" ? "timeout_response" : "connection_failed";
  return { what: t(`explain.${general}.what`, values), next: t(`explain.${general}.next`, values) };
}

/**
 * Under which name an `error_code` is explained. Destinations other than HTTP have many of their own: a token
 * that could not be had (`token: invalid_grant`), a missing permission (`AccessDenied: sqs:SendMessage on
 * arn:…`), and whatever else they say.
 */
function nameOf(code: string | null, outcome: Failure["outcome"]): string | null {
  if (code === null || maybe(`explain.${code}.what`) !== null) return code;
  if (outcome !== "rejected") return null;
  if (code.startsWith("token: ")) return "token";
  return MISSING_PERMISSION.test(code) ? "denied" : "refused";
}

const MISSING_PERMISSION = /^[^:]+: .+ on /;

/** What stands behind the name of a code: `sqs:SendMessage on arn:…`. */
function reasonOf(code: string): string {
  const end = code.indexOf(": ");
  return end < 0 ? code : code.slice(end + 2);
}

function ofStatus(status: number, values: { host: string; status: string }): Explanation {
  const group = `${Math.floor(status / 100)}xx`;
  const name = maybe(`explain.status_${status}.what`) === null ? group : `status_${status}`;
  const what = maybe(`explain.${name}.what`, values) ?? t("explain.other.what", values);
  return { what, next: maybe(`explain.${name}.next`, values) ?? t("explain.other.next", values) };
}
