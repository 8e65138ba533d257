import { DEFAULT_SCHEDULE } from "../../../core/retry.ts";
import type { Attempt, DeadReason, Delivery, Endpoint, Outcome } from "../../types.ts";

/** What happened to a delivery and what is to come, as points in time. */
export type Step = { at: number } & (
  | { kind: "accepted" }
  | { kind: "attempt"; attempt: Attempt }
  /** It arrived, by an attempt that is no longer there. */
  | { kind: "delivered" }
  | { kind: "dead"; reason: DeadReason }
  | { kind: "cancelled" }
  | { kind: "next"; isWaiting: boolean }
  /** Where the schedule ends; `more`: attempts between the next one and this. */
  | { kind: "end"; more: number }
);

/** Outcomes after which nothing is tried again. */
const FINAL: readonly Outcome[] = ["blocked", "malformed"];

/** Oldest first; `attempts` in any order. */
export function stepsOf(
  delivery: Delivery,
  attempts: readonly Attempt[],
  endpoint: Pick<Endpoint, "retry"> | undefined,
): Step[] {
  const made = [...attempts].sort((a, b) => a.number - b.number);
  const begin: Step = { kind: "accepted", at: Date.parse(delivery.created_at) };
  const tried = made.map(
    (attempt): Step => ({ kind: "attempt", at: Date.parse(attempt.started_at), attempt }),
  );
  return [begin, ...tried, ...endOf(delivery, made, endpoint)];
}

function endOf(
  { status, dead_reason: reason, completed_at: ended, next_attempt_at: next, waiting_for: waiting }: Delivery,
  made: readonly Attempt[],
  endpoint: Pick<Endpoint, "retry"> | undefined,
): Step[] {
  const at = Date.parse(ended ?? "");
  if (status === "delivered") return made.length === 0 && ended !== null ? [{ kind: "delivered", at }] : [];
  if (status === "dead") return [{ kind: "dead", at, reason: reason ?? "exhausted" }];
  if (status === "cancelled") return [{ kind: "cancelled", at }];
  if (next === null) return [];
  const due = Date.parse(next);
  const rest = (endpoint?.retry?.schedule ?? DEFAULT_SCHEDULE).slice(scheduledOf(made));
  const wait = rest.reduce((sum, seconds) => sum + seconds * 1000, 0);
  const step: Step = { kind: "next", at: due, isWaiting: waiting !== null };
  return rest.length === 0 ? [step] : [step, { kind: "end", at: due + wait, more: rest.length - 1 }];
}

/** What has ended keeps its attempts for another day, whatever the plan says. */
const KEPT_MS = 86_400_000;

/**
 * How many attempts have left the log before their delivery; `rows`: all that are there, newest first.
 * Numbers go on over replays.
 */
export function goneOf(
  { attempt_count: count, created_at: created, completed_at: ended }: Delivery,
  rows: readonly Attempt[],
  now: number,
): number {
  const oldest = rows.at(-1);
  if (oldest) return oldest.number - 1;
  // Of a young one they are on their way: its state was asked for later than they were.
  return now - Date.parse(ended ?? created) > KEPT_MS ? count : 0;
}

/** Attempts that the schedule counts since it last began: by hand is none, and a replay begins it anew. */
function scheduledOf(made: readonly Attempt[]): number {
  const begin = made.findLastIndex(({ trigger }) => trigger === "replay");
  return made
    .slice(Math.max(0, begin))
    .filter(({ trigger, outcome }) => trigger !== "manual" && !FINAL.includes(outcome)).length;
}

export interface Placed {
  step: Step;
  /** Since the step before, in milliseconds; null for the first. */
  gap: number | null;
  /** How long the line before it is drawn; within a group true to scale, 1 is the shortest. */
  length: number;
  /** It begins a group: the line before it is cut, as it would be too long. */
  isBreak: boolean;
}

/** Shorter waits are drawn as long as that. */
const SHORTEST_MS = 1000;
/** The longest line of a group is at most so many times as long as its shortest. */
const RATIO_MAX = 5;

/** Puts steps in groups of like waits, each drawn to scale: a schedule goes from seconds to days. */
export function place(steps: readonly Step[]): Placed[] {
  const gaps = steps.map(({ at }, index) => Math.max(SHORTEST_MS, at - (steps[index - 1]?.at ?? at)));
  const placed: Placed[] = [];
  let group: number[] = [];
  for (const [index, step] of steps.entries()) {
    const gap = gaps[index] ?? SHORTEST_MS;
    const all = [...group, gap];
    const isBreak = index > 1 && Math.max(...all) > RATIO_MAX * Math.min(...all);
    group = index === 0 || isBreak ? [] : all;
    const real = index === 0 ? null : step.at - (steps[index - 1]?.at ?? step.at);
    placed.push({ step, gap: real, length: isBreak || index === 0 ? 1 : gap, isBreak });
  }
  return scaled(placed);
}

function scaled(placed: readonly Placed[]): Placed[] {
  let shortest = 1;
  return placed.map((one, index) => {
    if (one.isBreak || index === 0) shortest = shortestFrom(placed, index + 1);
    return one.isBreak || index === 0 ? one : { ...one, length: one.length / shortest };
  });
}

function shortestFrom(placed: readonly Placed[], from: number): number {
  const end = placed.findIndex(({ isBreak }, index) => index >= from && isBreak);
  const lengths = placed.slice(from, end < 0 ? undefined : end).map(({ length }) => length);
  return lengths.length === 0 ? 1 : Math.min(...lengths);
}
