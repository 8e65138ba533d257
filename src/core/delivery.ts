import { limit } from "./limits.ts";
import {
  type DeadReason,
  type Delivery,
  type DisabledReason,
  type DeliveryStatus,
  type Endpoint,
  HEALTHY,
  type Health,
  type Outcome,
  type Trigger,
} from "./model.ts";
import { doublingMs, nextScheduledAt } from "./retry.ts";

type Untried = Pick<Delivery, "id" | "eventId" | "endpointId" | "projectId" | "origin" | "due">;

/** As what an open delivery ends without an attempt: dead, as its endpoint is disabled; or cancelled. */
export type EndedAs = "dead" | "cancelled";

/** As what an open delivery ends whose endpoint takes nothing any more; null where it is still to be sent. */
export function endedBy({ status }: Pick<Endpoint, "status">): EndedAs | null {
  if (status === "disabled") return "dead";
  return status === "deleted" ? "cancelled" : null;
}

/** A delivery whose endpoint takes nothing any more is born as this, at this instant. */
export interface Stillborn {
  status: EndedAs;
  at: number;
}

/**
 * A delivery as it is made: open, and never tried; or ended at birth, as its endpoint is disabled (dead) or
 * deleted (cancelled).
 */
export function untriedDelivery(keys: Untried, ended: Stillborn | null = null): Delivery {
  const { id, eventId, endpointId, projectId, origin, due } = keys;
  return {
    id,
    eventId,
    endpointId,
    projectId,
    status: ended?.status ?? "pending",
    attemptCount: 0,
    step: 0,
    origin,
    metered: false,
    generation: 0,
    due,
    deadReason: ended?.status === "dead" ? "endpoint_disabled" : null,
    completedAt: ended && ended.at,
  };
}

/** What an attempt found out, as far as the states of delivery and endpoint depend on it. */
export interface Finding {
  outcome: Outcome;
  /** The destination itself answered 410. */
  saysGone: boolean;
  /** The whole endpoint is to be slowed down. */
  slows: boolean;
  /** `retry-after` from the end of the attempt on, where the answer had a valid one. */
  retryAfterMs: number | null;
}

/** The attempt as it began. */
export interface AttemptStart {
  trigger: Trigger;
  /** The delivery at that time; `step`: scheduled attempts before this one. */
  delivery: Pick<Delivery, "status" | "step" | "due">;
  /** Health at the start: whether this was the probe of an endpoint that backs off. */
  probe: boolean;
  /** The endpoint has another destination since, or was opened again: what is said of it counts no more. */
  isOutdated: boolean;
  schedule: readonly number[];
}

export interface Moment {
  now: number;
  /** In [0, 1): the jitter. */
  random: number;
}

export interface DeliveryChange {
  status: DeliveryStatus;
  step: number;
  due: number | null;
  deadReason: DeadReason | null;
}

/**
 * Manual and test attempts say nothing about the schedule. Their failures count neither towards a backoff nor
 * towards five days of failures; a 410 (`disabledBy`) and an answer that slows hold all the same.
 */
function isExtra(trigger: Trigger): boolean {
  return trigger === "manual" || trigger === "test";
}

/**
 * The delivery after an attempt, or null where it stays as it is: an attempt by hand changes a status only
 * by succeeding, and a time only by what its answer asks for. What holds the whole endpoint is no part of it
 * (`gateOf`): that may end early.
 */
export function deliveryAfter(start: AttemptStart, finding: Finding, at: Moment): DeliveryChange | null {
  if (finding.outcome === "delivered")
    return { status: "delivered", step: start.delivery.step, due: null, deadReason: null };
  if (start.trigger === "manual") return heldBack(start, finding, at);
  const step = start.delivery.step + 1;
  const reason = deadReasonOf(finding, start);
  const scheduledAt = reason ? null : nextScheduledAt(start.schedule, step, at.now, at.random);
  if (scheduledAt === null) return { status: "dead", step, due: null, deadReason: reason ?? "exhausted" };
  const due = Math.max(scheduledAt, ownRetryAt(start, finding, at));
  return { status: "retrying", step, due, deadReason: null };
}

/** After an attempt by hand: an answer may ask that the next one, which is scheduled already, comes later. */
function heldBack(start: AttemptStart, finding: Finding, at: Moment): DeliveryChange | null {
  const { status, step, due } = start.delivery;
  const until = ownRetryAt(start, finding, at);
  return due === null || due >= until ? null : { status, step, due: until, deadReason: null };
}

/**
 * Until when a `retry-after` holds that is meant for this delivery alone: that of an answer which slows no
 * endpoint down. 0 where there is none, or it is outdated.
 */
function ownRetryAt({ isOutdated }: AttemptStart, { slows, retryAfterMs }: Finding, { now }: Moment): number {
  return isOutdated || slows || retryAfterMs === null ? 0 : now + retryAfterMs;
}

/** Why a delivery is dead by this finding alone, whatever its schedule says. */
function deadReasonOf({ outcome, saysGone }: Finding, { isOutdated }: AttemptStart): DeadReason | null {
  if (outcome === "blocked" || outcome === "malformed") return outcome;
  return saysGone && !isOutdated ? "gone" : null;
}

/** The endpoint's health after an attempt. */
export function healthAfter(health: Health, start: AttemptStart, finding: Finding, at: Moment): Health {
  if (start.isOutdated || finding.outcome === "malformed") return health;
  if (finding.outcome === "delivered") return recovered(health, at.now);
  const slowed = finding.slows ? slowedDown(health, finding.retryAfterMs, at.now) : health;
  return isExtra(start.trigger) ? slowed : failedOnce(slowed, start.probe, at.now);
}

/**
 * Nothing but what is asked for by hand starts before this instant: the endpoint backs off, or an answer
 * slowed it down.
 */
export function gateOf({ backoffUntil, slowUntil }: Health): number {
  return Math.max(backoffUntil, slowUntil);
}

/**
 * A success forgets everything but a slow-down that has not passed, whether the endpoint asked for it or it
 * comes of doubling: the attempt that succeeded began before.
 */
function recovered(health: Health, now: number): Health {
  return health.slowUntil > now ? { ...HEALTHY, slowUntil: health.slowUntil } : HEALTHY;
}

/** The same failures, and nothing to wait for. */
export function withoutWaits(health: Health): Health {
  if (health.failuresInRow === 0) return HEALTHY;
  return { ...health, backoffLevel: 0, backoffUntil: 0, slowLevel: 0, slowUntil: 0 };
}

/**
 * Answers that come while the endpoint is slowed down already (attempts of before) lengthen the wait, but do
 * not double it.
 */
function slowedDown(health: Health, retryAfterMs: number | null, now: number): Health {
  if (retryAfterMs !== null) return { ...health, slowUntil: Math.max(health.slowUntil, now + retryAfterMs) };
  const isLate = health.slowUntil > now;
  const slowLevel = isLate ? Math.max(1, health.slowLevel) : health.slowLevel + 1;
  return { ...health, slowLevel, slowUntil: Math.max(health.slowUntil, now + doublingMs(slowLevel)) };
}

function failedOnce(health: Health, probe: boolean, now: number): Health {
  const failed = {
    ...health,
    failuresInRow: health.failuresInRow + 1,
    failingSince: health.failingSince ?? now,
  };
  const backingOff = health.backoffLevel > 0;
  // An attempt that began before the backoff did tells nothing new.
  if (backingOff && !probe) return failed;
  if (!backingOff && failed.failuresInRow < limit("failuresBeforeBackoff")) return failed;
  const backoffLevel = health.backoffLevel + 1;
  return { ...failed, backoffLevel, backoffUntil: now + doublingMs(backoffLevel) };
}

/**
 * Why an endpoint is disabled by this attempt: a 410 at once, or a failure that counts after five days
 * without one success. `hasFailed`: `hasFailedTooLong` of its health after the attempt.
 */
export function disabledBy(
  finding: Finding,
  trigger: Trigger,
  hasFailed: () => boolean,
): DisabledReason | null {
  if (finding.saysGone) return "gone";
  const counts = finding.outcome !== "malformed" && !isExtra(trigger);
  return counts && hasFailed() ? "failing" : null;
}

/**
 * Whether an endpoint has failed for so long, without one success, that nobody seems to listen. `countsFrom`:
 * the instant from which the time since another one counts (Actors.countsFrom).
 */
export function hasFailedTooLong(
  { failingSince }: Pick<Health, "failingSince">,
  now: number,
  countsFrom: (at: number) => number,
): boolean {
  const until = failedTooLongSince(now);
  return failingSince !== null && failingSince <= until && countsFrom(failingSince) <= until;
}

/** Who has failed since then, or longer, has failed for too long. */
export function failedTooLongSince(now: number): number {
  return now - limit("disableAfterMs");
}

/**
 * `taken`: a place of its account's plan that its first attempt will use up; `awaited`: it has to wait for
 * one.
 */
export type Place = "taken" | "awaited";

/**
 * What a delivery holds of its account's plan before it is metered; null: nothing, as it is closed, or
 * a test.
 */
export function placeOf(delivery: Pick<Delivery, "status" | "due" | "metered" | "origin">): Place | null {
  if (delivery.metered || isTest(delivery) || !isOpen(delivery)) return null;
  return delivery.due === null ? "awaited" : "taken";
}

export function isOpen({ status }: Pick<Delivery, "status">): boolean {
  return status === "pending" || status === "retrying";
}

/** An open delivery that no attempt is planned for: it waits until the plan has room again. */
export function waitsForPlan(delivery: Pick<Delivery, "status" | "due">): boolean {
  return delivery.due === null && isOpen(delivery);
}

/** A test, or a replay of one: it never counts. */
export function isTest({ origin }: Pick<Delivery, "origin">): boolean {
  return origin === "test" || origin === "test_replay";
}

/** What the next attempt by the schedule is called. */
export function triggerOf({ step, origin }: Pick<Delivery, "step" | "origin">): Trigger {
  if (step > 0) return "retry";
  return origin === "test_replay" ? "replay" : origin;
}

/** Attempts that reached for the network are metered; what could not be sent at all is not. */
export function isMetered(outcome: Outcome): boolean {
  return outcome !== "blocked" && outcome !== "malformed";
}
