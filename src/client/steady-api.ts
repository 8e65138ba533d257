import { messageOf } from "../core/errors.ts";
import { type Api, type Ask, Refused, Unreachable } from "./api.ts";

/** For what is answered at once. */
const ANSWER_MS_MAX = 20_000;
/** How long whoever asks again waits: twice as long each time. */
export const AGAIN_MS = { first: 200, max: 5000 } as const;
/** A longer `retry-after` is looked into earlier. */
const WAIT_MS_MAX = 60_000;
/** What passes by itself: a service or a proxy in front of it that starts, is full, or asks for a break. */
const PASSING = new Set([429, 500, 502, 503, 504]);

export interface SteadyParts {
  signal: AbortSignal;
  /** How long an answer may take: a network that is cut tells nobody. Default: 20 seconds. */
  answerMsMax?: number;
  /** Called once as the service is not reached, with the reason, and once as it is again: null. */
  onWeather: (problem: string | null) => void;
}

/** What is asked again must make nothing a second time. */
export type SteadyAsk = Omit<Ask, "signal">;

/** The public API for a command that runs on through restarts of the service and cuts of the network. */
export class SteadyApi {
  readonly #api: Api;
  readonly #parts: SteadyParts;
  #isLost = false;

  constructor(api: Api, parts: SteadyParts) {
    this.#api = api;
    this.#parts = parts;
  }

  /** True while the service is not reached. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * What a path answers, however long it takes until the service is there; null once the signal came. Throws
   * Refused for what does not pass by itself.
   */
  async ask<T>(path: string | (() => string), given: SteadyAsk = {}): Promise<T | null> {
    const { signal, answerMsMax = ANSWER_MS_MAX } = this.#parts;
    for (let again: number = AGAIN_MS.first; !signal.aborted; again = Math.min(2 * again, AGAIN_MS.max)) {
      const late = AbortSignal.any([signal, AbortSignal.timeout(answerMsMax)]);
      try {
        const ask = { ...given, signal: late };
        const answer = await this.#api.ask<T>(typeof path === "string" ? path : path(), ask);
        this.#tell(null);
        return answer;
      } catch (error) {
        if (signal.aborted) break;
        await rest(this.#waitMs(error, again), signal);
      }
    }
    return null;
  }

  /** How long to wait before the same is asked again. Throws what does not pass by itself. */
  #waitMs(error: unknown, ms: number): number {
    const leastMs = waitOf(error);
    if (leastMs === null) throw error;
    // Whoever is asked to slow down has reached the service.
    if (!(error instanceof Refused && error.status === 429)) this.#tell(messageOf(error));
    return Math.max(ms, leastMs);
  }

  #tell(problem: string | null): void {
    if (this.#isLost === (problem !== null)) return;
    this.#isLost = problem !== null;
    this.#parts.onWeather(problem);
  }
}

/** How long to wait at least before the same is asked again; null for what does not pass by itself. */
export function waitOf(error: unknown): number | null {
  if (error instanceof Unreachable) return 0;
  if (!(error instanceof Refused && isPassing(error))) return null;
  return Math.min((error.retryAfterSeconds ?? 0) * 1000, WAIT_MS_MAX);
}

function isPassing({ status, code }: Refused): boolean {
  // The first try of a request that is asked again, as its answer was lost, may still be running.
  return PASSING.has(status) || code === "idempotency_in_progress";
}

/** Waits, or until the signal. */
export async function rest(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = () => resolve();
  signal.addEventListener("abort", wake, { once: true });
  if (signal.aborted) resolve();
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}
