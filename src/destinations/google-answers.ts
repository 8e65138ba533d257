import type { AttemptErrorCode } from "../core/attempt-error.ts";
import { isObject } from "../core/json/value.ts";
import { readObject, rejected } from "./answers.ts";
import type { Answer, DestinationConfig, Judgement } from "./destination.ts";
import { forgetToken } from "./google-tokens.ts";

/** What Google's interfaces give a meaning to: who calls, and how an upload is done. */
export const GOOGLE_HEADERS = ["authorization", "x-goog-*", "x-upload-content-*", "x-http-method-override"];

/** What an error of Google's JSON interfaces means; `missing` is the kind's word for what is not there. */
export function judgeGoogleError(
  { status, body }: Answer,
  config: DestinationConfig,
  missing: AttemptErrorCode,
): Judgement {
  const { error } = readObject(body);
  if (status === 401) {
    forgetToken(config);
    return rejected("token_refused");
  }
  if (status === 429 || (status === 403 && isRateLimit(error)))
    return rejected("quota_exceeded", { throttled: true });
  if (status === 403) return rejected("permission_missing");
  return rejected(status === 404 ? missing : null);
}

/** Cloud Storage names the reason in a list instead. */
function isRateLimit(error: unknown): boolean {
  const list: unknown = isObject(error) ? error["errors"] : null;
  const reasons = Array.isArray(list)
    ? list.map((each: unknown) => (isObject(each) ? each["reason"] : null))
    : [];
  return reasons.some((reason) => reason === "rateLimitExceeded" || reason === "userRateLimitExceeded");
}

export const GOOGLE_ERRORS = {
  token_refused: "The access token was refused; the next attempt asks for a new one.",
  permission_missing: "The service account lacks the permission.",
  quota_exceeded: "A quota of the project is used up; the endpoint slows down meanwhile.",
  token_unavailable:
    "No access token could be had; `error_detail` is the OAuth error: invalid_grant means that key or clock are wrong.",
} as const;
