import type { Caller } from "../../core/caller.ts";
import { Problem, unavailable } from "../../core/errors.ts";
import { findKind, isPolled } from "../../destinations/destinations.ts";
import type { Sent } from "../../delivery/send.ts";
import { ATTEMPT_ERRORS, type AttemptErrorCode } from "../../core/attempt-error.ts";
import type { NewEndpoint } from "../../store/resources/endpoints.ts";
import { AtOnce } from "../shared/at-once.ts";
import type { Needs } from "../framework/services.ts";

/** So much of what the destination answered stands in the refusal. */
const QUOTE_MAX = 300;

const NOT_SENT =
  "The service is stopping, or short of files, or the account has too many attempts in flight. Try again in a moment.";

/** Tries of destinations: a few at once for each caller, as no endpoint's slots bound them yet. */
export function makeTrials(): AtOnce {
  return new AtOnce("trialsAtOnceMax", "tries of destinations");
}

/**
 * Sends a test message to a destination before anything is stored. Throws 422 with the reason where it is
 * not taken, and 429 where the caller has too many under way.
 */
export async function requireDelivered(
  services: Needs<"sendTrial">,
  trials: AtOnce,
  caller: Caller,
  endpoint: NewEndpoint,
): Promise<void> {
  // Nothing is sent to a poller: there is nothing to try.
  if (isPolled(endpoint.kind)) return;
  const end = trials.begin(caller);
  const sent = await services.sendTrial(endpoint).finally(end);
  if (sent === null) throw unavailable(NOT_SENT);
  if (sent.outcome === "delivered") return;
  const detail = reasonOf(sent, endpoint);
  throw new Problem("invalid_request", detail, { errors: [{ pointer: "/config", detail }] });
}

function reasonOf(sent: Sent, { kind, timeoutSeconds }: NewEndpoint): string {
  const { statusCode, error } = sent;
  const hint = error ? hintOf(kind, error.code) : "";
  const code = error ? ` (${error.code}${error.detail ? `: ${error.detail}` : ""})` : "";
  switch (sent.outcome) {
    case "timeout":
      return `The destination did not answer the test message within ${timeoutSeconds} s${code}.`;
    case "unreachable":
      return `The destination could not be reached${code}.${hint}`;
    case "blocked":
      return "The destination's address is not allowed.";
    case "malformed":
      return `The test message could not be made: ${error?.detail ?? hint.trim()}`;
    default:
      return `The destination refused the test message with status ${statusCode}${code}.${hint}${quoteOf(sent)}`;
  }
}

/** What the kind's table says of an error code, or the general one. */
function hintOf(kind: string, code: AttemptErrorCode): string {
  return ` ${findKind(kind)?.about.errors?.[code] ?? ATTEMPT_ERRORS[code]}`;
}

/**
 * What the destination said, where it is text: it names the permission that is missing, or the queue that is
 * not there.
 */
function quoteOf({ responseBody }: Sent): string {
  const text = new TextDecoder().decode(responseBody ?? new Uint8Array());
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line === "" || /[\p{Cc}\uFFFD]/u.test(line)) return "";
  return ` It said: ${line.length > QUOTE_MAX ? `${line.slice(0, QUOTE_MAX)}…` : line}`;
}
