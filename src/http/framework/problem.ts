import { Problem } from "../../core/errors.ts";
import type { Answer } from "./route.ts";

/** A problem as it leaves (RFC 9457). */
export function problemAnswer(problem: Problem, requestId: string): Answer {
  const { code, title, status, detail, errors } = problem;
  const body = {
    type: `urn:sealpost:error:${code}`,
    title,
    status,
    code,
    detail,
    request_id: requestId,
    errors,
  };
  return {
    status,
    body: JSON.stringify(body),
    headers: { ...problem.headers, "content-type": "application/problem+json" },
  };
}

/** What a caller learns of an error that nobody expected: nothing but the request id. */
export const INTERNAL = new Problem(
  "internal",
  "The request failed for a reason that is ours. Quote the request id when you ask about it.",
);
