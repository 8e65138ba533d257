import type { Caller } from "../../core/caller.ts";
import { invalid, Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { Needs } from "../framework/services.ts";

/** What a project has a bounded number of, as all of them stand in memory. */
const BOUNDED = {
  apiKeysPerProjectMax: "API keys",
  endpointsPerProjectMax: "endpoints",
  eventTypesPerProjectMax: "event types",
  sourcesPerProjectMax: "sources",
} as const;

/**
 * Inside a write: throws 422 where the project has so many already. Counted as remembered: those of the same
 * batch of writes are few.
 */
export function requireRoomFor(
  name: keyof typeof BOUNDED,
  { size }: { readonly size: number },
  pointer = "",
): void {
  const max = limit(name);
  if (size < max) return;
  throw invalid(pointer, `A project has at most ${max.toLocaleString("en-US")} ${BOUNDED[name]}.`);
}

const ENDPOINTS_HEAVY =
  "their filters, transformations, headers and metadata have many parts, or long texts.";

/** What has a bounded weight in memory, and what is said where it would be above it. */
const WEIGHED = {
  endpointsOfConsumerBytesMax: `The endpoints of this consumer are too large together: ${ENDPOINTS_HEAVY}`,
  endpointsOfProjectBytesMax: `The endpoints of this project are too large together: ${ENDPOINTS_HEAVY}`,
  eventTypesOfProjectBytesMax:
    "The event types of this project are too large together: their schemas and examples have many parts, or long texts.",
  sourcesOfProjectBytesMax:
    "The sources of this project are too large together: they have long secrets or credentials.",
} as const;

/**
 * Inside a write: throws 422 where this, in bytes of memory, is too much beside what is held. A change that
 * makes something lighter is always taken.
 */
export function requireWeight(
  name: keyof typeof WEIGHED,
  { weight }: { readonly weight: number },
  added: number,
  pointer = "",
): void {
  if (added > 0 && weight + added > limit(name)) throw invalid(pointer, WEIGHED[name]);
}

/** Whose replays no plan counts, and who may not publish either: portal links of a test project. */
export function isUncounted({ kind, mode }: Caller): boolean {
  return kind === "portal" && mode === "test";
}

/** For the documentation of routes that start one. */
export const REPLAYS_RUNNING =
  "Too many requests in a second, or as many replays run as may: " +
  `${limit("replaysRunningMax")} of a project, ${limit("replaysOfConsumerMax")} of those by one consumer's portal links.`;

const REPLAYS_RETRY_SECONDS = 30;

/** Throws 429 where as many replays run as may; asked before the work, and again inside the write. */
export function requireReplayRoom({ replays }: Needs<"replays">, { projectId, consumerId }: Caller): void {
  if (consumerId !== null && replays.countRunningOf(projectId, consumerId) >= limit("replaysOfConsumerMax"))
    throw tooManyReplays(`${limit("replaysOfConsumerMax")} replays of this consumer`);
  if (replays.countRunningOf(projectId, null) >= limit("replaysRunningMax"))
    throw tooManyReplays(`${limit("replaysRunningMax")} replays of this project`);
}

function tooManyReplays(running: string): Problem {
  const detail = `${running} run already. Ask again once one of them has ended, or cancel one.`;
  return new Problem("rate_limited", detail, { headers: { "retry-after": String(REPLAYS_RETRY_SECONDS) } });
}
