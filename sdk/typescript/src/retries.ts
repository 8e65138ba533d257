/** Which calls are repeated, and after which time. */
import { ApiError, ConnectionError } from "./errors.ts";

/**
 * What makes a call safe to repeat. `key`: its Idempotency-Key. `idempotent`: it reads, sets what it names to
 * what it says, or deletes what has this id. `never`: it could do something twice.
 */
export type Repeats = "key" | "idempotent" | "never";

const FIRST_WAIT_MS = 500;
const WAIT_MAX_MS = 8000;

/** Answers after which a call may have been made, or only a part of it. */
const UNCERTAIN = new Set([502, 503, 504]);

/** Whether a call that failed so may be made again. */
export function mayRepeat(error: unknown, repeats: Repeats): boolean {
  // A 429 refuses before anything is done.
  if (error instanceof ApiError && error.status === 429) return true;
  if (repeats === "never") return false;
  if (error instanceof ConnectionError) return true;
  // The first request, whose answer was lost, is still at work.
  const isAtWork = error instanceof ApiError && error.code === "idempotency_in_progress";
  return isAtWork || (error instanceof ApiError && UNCERTAIN.has(error.status));
}

/**
 * How long to wait before the call is made again, in milliseconds: half a second doubling to eight, of which
 * `chance` (0 to 1) takes up to a half; never less than the answer's `retry-after`, of which chance adds up
 * to a tenth. `made`: how many attempts there were, 1 at least.
 */
export function waitMs(error: unknown, made: number, chance: number): number {
  const doubled = Math.min(WAIT_MAX_MS, FIRST_WAIT_MS * 2 ** (made - 1));
  const demanded = error instanceof ApiError ? (error.retryAfter ?? 0) * 1000 : 0;
  return Math.max(doubled * (1 - chance / 2), demanded * (1 + chance / 10));
}

/** Waits. Rejects with the signal's reason as soon as that is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
