import { limit } from "../core/limits.ts";

/** What each step of the end may take that waits for others. */
export const LAST_STEP_MS = 500;
/** Of the ten seconds between SIGTERM and the end: what is left for the disk once attempts are given up. */
const DRAIN_RESERVE_MS = 1500;

/**
 * No new attempts; those in flight get their time, the rest is handed back without costing an attempt.
 * Outcomes that a full disk does not take are not waited for: they are sent again after the restart. Answers
 * that wait for the replica get the same time.
 */
export async function drain(
  actors: { stop(): Promise<void> },
  confirmations: { untilAnswered(): Promise<void> },
  abort: AbortController,
): Promise<void> {
  const cut = setTimeout(() => abort.abort(), limit("drainMs") - DRAIN_RESERVE_MS);
  const ended = Promise.all([actors.stop(), confirmations.untilAnswered()]);
  await endOr(limit("drainMs") - 2 * LAST_STEP_MS, ended);
  clearTimeout(cut);
}

/** A disk that fills up meanwhile must not keep the process: the next start goes on from what is on it. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  await endOr(ms, work).catch(() => {});
}

async function endOr(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: tooLate, resolve: giveUp } = Promise.withResolvers<void>();
  const timer = setTimeout(giveUp, ms);
  await Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
}
