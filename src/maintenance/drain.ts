import { limit } from "../core/limits.ts";
import { ROUTER_SEES_MS } from "../core/router.ts";

/** What each step of the end may take that waits for others. */
export const LAST_STEP_MS = 500;
/** Of the ten seconds between SIGTERM and the end: what is left for the disk once attempts are given up. */
const DRAIN_RESERVE_MS = 1500;

/** What comes to its end before the disk does. */
export interface Traffic {
  actors: { stop(): Promise<void> };
  confirmations: { untilAnswered(): Promise<void> };
  abort: AbortController;
  /** The primary of a pair that its router asks. */
  isRouted: boolean;
  enter: (phase: "leaving" | "parting" | "stopping") => void;
}

/**
 * Of a pair its attempts end first; those that a full disk keeps open have had their time by then, and only
 * answers are waited for.
 */
export async function endTraffic({ actors, confirmations, abort, isRouted, enter }: Traffic): Promise<void> {
  if (isRouted) await leave(actors, abort, enter);
  enter("stopping");
  await drain(isRouted ? NO_ATTEMPTS : actors, confirmations, abort);
}

/**
 * No new attempts; those in flight get their time, the rest is handed back without costing an attempt.
 * Outcomes that a full disk does not take are not waited for: they are sent again after the restart. Answers
 * that wait for the replica get the same time.
 */
async function drain(
  actors: { stop(): Promise<void> },
  confirmations: { untilAnswered(): Promise<void> },
  abort: AbortController,
): Promise<void> {
  const cut = setTimeout(() => abort.abort(), limit("drainMs") - DRAIN_RESERVE_MS);
  const ended = Promise.all([actors.stop(), confirmations.untilAnswered()]);
  await endOr(limit("drainMs") - 2 * LAST_STEP_MS, ended);
  clearTimeout(cut);
}

/**
 * Of a pair, before that: attempts come to their end while the router's requests are answered as ever, so
 * that none has to wait for more than the handover itself. Then the router is told, and needs time to see it.
 */
async function leave(
  actors: { stop(): Promise<void> },
  abort: AbortController,
  enter: (phase: "leaving" | "parting") => void,
): Promise<void> {
  enter("leaving");
  await drain(actors, NO_ANSWERS, abort);
  enter("parting");
  await Bun.sleep(ROUTER_SEES_MS);
}

const NO_ATTEMPTS = { stop: async () => {} };
const NO_ANSWERS = { untilAnswered: async () => {} };

/** A disk that fills up meanwhile must not keep the process: the next start goes on from what is on it. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  await endOr(ms, work).catch(() => {});
}

async function endOr(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: tooLate, resolve: giveUp } = Promise.withResolvers<void>();
  const timer = setTimeout(giveUp, ms);
  await Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
}
