import { limit } from "../core/limits.ts";
import { type Api, type Ask, Refused, Unreachable } from "./api.ts";

/** A message as a page of `GET /poll/:id` has it. */
export interface PolledMessage {
  headers: { "webhook-id": string; "webhook-timestamp": string; "webhook-signature": string };
  body: string;
}

interface Page {
  data: PolledMessage[];
  next_cursor: string;
}

const WAIT_SECONDS = Math.min(25, limit("pollWaitSecondsMax"));
/** As many as are forwarded before any of them counts as delivered. */
const PAGE_MESSAGES = 10;
/** A network that is cut tells nobody: the answer to a held poll is late then. */
const LATE_MS = (WAIT_SECONDS + 10) * 1000;
const AGAIN_MS = { first: 200, max: 5000 } as const;
/** What passes by itself: a service or a proxy in front of it that starts, is full, or asks for a break. */
const PASSING = new Set([429, 500, 502, 503, 504]);

export interface PollParts {
  endpoint: { id: string; secret: string };
  signal: AbortSignal;
  /** Called once as the service is not reached, with the reason, and once as it is again: null. */
  onWeather: (problem: string | null) => void;
}

/** What a poll endpoint hands out, through restarts of the service and cuts of the network. */
export class PollLoop {
  readonly #api: Api;
  readonly #parts: PollParts;
  #isLost = false;

  constructor(api: Api, parts: PollParts) {
    this.#api = api;
    this.#parts = parts;
  }

  /**
   * Each message in its order, until the signal: that the next page is asked for acknowledges the one before.
   * Throws Refused where the endpoint is gone or disabled.
   */
  async *messages(): AsyncGenerator<PolledMessage> {
    const { endpoint, signal } = this.#parts;
    let cursor = "";
    // After a loss nothing is waited for: that the service is there again is told at once.
    const path = () => {
      const from = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      return `/poll/${endpoint.id}?limit=${PAGE_MESSAGES}&wait=${this.#isLost ? 0 : WAIT_SECONDS}${from}`;
    };
    while (!signal.aborted) {
      const page = await this.ask<Page>(path, endpoint.secret);
      if (page === null) return;
      yield* page.data;
      cursor = page.next_cursor;
    }
  }

  /** What a path answers, however long it takes until the service is there; null once the signal came. */
  async ask<T>(path: string | (() => string), bearer?: string): Promise<T | null> {
    const { signal } = this.#parts;
    for (let again: number = AGAIN_MS.first; !signal.aborted; again = Math.min(2 * again, AGAIN_MS.max)) {
      const late = AbortSignal.any([signal, AbortSignal.timeout(LATE_MS)]);
      const ask: Ask = { signal: late, ...(bearer !== undefined && { bearer }) };
      try {
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
    const isPassing = error instanceof Unreachable || (error instanceof Refused && PASSING.has(error.status));
    if (!isPassing) throw error;
    this.#tell(error.message);
    const asked = error instanceof Refused ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    return Math.max(ms, Math.min(asked, 60_000));
  }

  #tell(problem: string | null): void {
    if (this.#isLost === (problem !== null)) return;
    this.#isLost = problem !== null;
    this.#parts.onWeather(problem);
  }
}

/** Waits, or until the signal. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = () => resolve();
  signal.addEventListener("abort", wake, { once: true });
  if (signal.aborted) resolve();
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}
