import { limit } from "./limits.ts";

/** Waits of the Standard Webhooks schedule, in seconds, after the first attempt. */
export const DEFAULT_SCHEDULE: readonly number[] = [
  5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400,
];

const JITTER = 0.1;
const SECOND_MS = 1000;
/** Answers that slow the whole endpoint down. */
const SLOWING = new Set([429, 502, 503, 504]);

/** ±10 %, so that what failed together does not come back together. `random` is in [0, 1). */
function withJitter(ms: number, random: number): number {
  return Math.round(ms * (1 + JITTER * (2 * random - 1)));
}

/**
 * `retry-after` (RFC 9110 10.2.3, seconds or an HTTP date) as milliseconds from now, at most 24 h. A date is
 * meant by the receiver's clock, which its answer's own `date` says; without one `now` stands for that. Null
 * where it is missing, unreadable, negative or past.
 */
export function readRetryAfter(
  value: string | undefined,
  date: string | undefined,
  now: number,
): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const said = date === undefined ? Number.NaN : readHttpDate(date.trim());
  const ms = /^\d+$/.test(text)
    ? Number(text) * SECOND_MS
    : readHttpDate(text) - (Number.isNaN(said) ? now : said);
  return ms > 0 ? Math.min(ms, limit("retryAfterSecondsMax") * SECOND_MS) : null;
}

/** RFC 9110 5.6.7 in its three forms; NaN for what is none, also for a day that the month does not have. */
function readHttpDate(text: string): number {
  const day = /^[A-Za-z]{3,9},? (?:[A-Za-z]{3} )? ?(\d{1,2})[ -]/.exec(text)?.[1];
  if (day === undefined) return Number.NaN;
  // The asctime form names no zone; it is UTC.
  const at = Date.parse(/GMT|[+-]\d{4}$/.test(text) ? text : `${text} GMT`);
  return new Date(at).getUTCDate() === Number(day) ? at : Number.NaN;
}

/** The `level`-th wait in a row of an endpoint that backs off, or was slowed down: 1 s, doubling to 5 min. */
export function doublingMs(level: number): number {
  return Math.min(SECOND_MS * 2 ** Math.min(level - 1, 20), limit("backoffSecondsMax") * SECOND_MS);
}

/**
 * When the schedule has the attempt after the `step`-th (1 is the first attempt), or null where it
 * is exhausted.
 */
export function nextScheduledAt(
  schedule: readonly number[],
  step: number,
  now: number,
  random: number,
): number | null {
  const wait = schedule[step - 1];
  return wait === undefined ? null : now + withJitter(wait * SECOND_MS, random);
}

export function slowsEndpoint(status: number | null): boolean {
  return status !== null && SLOWING.has(status);
}
