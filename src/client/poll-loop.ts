import { limit } from "../core/limits.ts";
import type { SteadyApi } from "./steady-api.ts";

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
/** How long the answer to a held poll may take. */
export const POLL_ANSWER_MS_MAX = (WAIT_SECONDS + 10) * 1000;

interface PollParts {
  endpoint: { id: string; secret: string };
  signal: AbortSignal;
}

/**
 * What a poll endpoint hands out: each message in its order, until the signal. That the next page is asked
 * for acknowledges the one before. Throws Refused where the endpoint is gone or disabled.
 */
export async function* polledMessages(
  api: SteadyApi,
  { endpoint, signal }: PollParts,
): AsyncGenerator<PolledMessage> {
  let cursor = "";
  // After a loss nothing is waited for: that the service is there again is told at once.
  const path = () => {
    const from = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    return `/poll/${endpoint.id}?limit=${PAGE_MESSAGES}&wait=${api.isLost ? 0 : WAIT_SECONDS}${from}`;
  };
  while (!signal.aborted) {
    const page = await api.ask<Page>(path, { bearer: endpoint.secret });
    if (page === null) return;
    yield* page.data;
    cursor = page.next_cursor;
  }
}
