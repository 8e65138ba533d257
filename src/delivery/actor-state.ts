/**
 * The states of an endpoint's actor (actor.ts):
 *
 * | state       | true in it                                                                       | leaves when |
 * |-------------|----------------------------------------------------------------------------------|-------------|
 * | idle        | nothing waits, nothing is busy, no timer                                         | a delivery comes, an attempt by hand |
 * | waiting     | something waits, nothing is busy; one timer for the first instant at which something may start | the timer, something earlier |
 * | blocked     | something waits, nothing is busy, no timer: the account, the disk or the slots of all endpoints hold it | a word from outside |
 * | sending     | attempts are busy: up to max_concurrency in flight (fifo: 1), beside those made by hand | the last one is recorded; before that, what one found out makes it back off |
 * | backing_off | several failures in a row; or an answer slowed it down, or no file was left for a socket, and nothing has been asked for since; one timer, unless a probe is in flight, nothing waits, or something outside holds it | a success, the timer, a word from outside |
 * | paused      | the endpoint is paused; no timer                                                 | resume |
 * | closing     | an attempt found out that the endpoint is to be disabled, and its row does not say so yet; no timer | the row says it, or never will |
 * | disposing   | the endpoint is disabled or deleted; no timer; what waits is ended, slice by slice, in turns | enabled, and the slice under way is on disk |
 * | stopped     | the process ends; no timer, nothing starts                                       | never |
 *
 * The first five name what the facts of an active endpoint come to: in each of them the actor does the same
 * (`#run`), and then looks which of the five it is in (`#openState`). Of the others, pause, disable, delete
 * and stop come from outside, in any state but the last.
 *
 * An attempt's place in `max_concurrency` is free once the answer is there, where order is kept once the
 * outcome is on disk. Until then the delivery is busy, so that it never has two attempts at once.
 *
 * `isEnding`: a slice of what waits is on its way to the disk. It goes with `closing` where the endpoint was
 * enabled during that slice, and a 410 landed before the slice was on disk.
 */
export type State =
  | { mode: "idle" | "blocked" | "paused" }
  | { mode: "waiting"; timer: Timer }
  | { mode: "sending" | "backing_off"; timer: Timer | null }
  | { mode: "closing"; isEnding: boolean }
  | { mode: "disposing"; isEnding: boolean }
  | { mode: "stopped"; isEnding: boolean; whenQuiet: (() => void)[] };

export type Mode = State["mode"];

export interface Timer {
  /** `NEVER` once it has fired. */
  at: number;
  callOff: () => void;
}

export const IDLE: State = { mode: "idle" };
export const BLOCKED: State = { mode: "blocked" };

export function timerOf(state: State): Timer | null {
  return "timer" in state ? state.timer : null;
}

export function isEnding(state: State): boolean {
  return "isEnding" in state && state.isEnding;
}
