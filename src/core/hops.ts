import { Problem } from "./errors.ts";
import { limit } from "./limits.ts";

/**
 * How often an event has been delivered and has come back, told by this header of every delivery over HTTP: a
 * service that passes it on with what it sends to Sealpost ends a loop that it is part of. Without it nobody
 * could tell a loop from traffic.
 */
export const HOPS_HEADER = "sealpost-hops";
/** Of the header's counts so many are read: one who writes more of them takes part in no loop of ours. */
const COUNTS_MAX = 20;

/** Of a request's headers; the largest of several, and 0 where it names none, or no number. */
export function readHops(headers: Headers): number {
  const value = headers.get(HOPS_HEADER);
  if (value === null) return 0;
  const counts = value.split(",", COUNTS_MAX).filter((text) => /^\s*\d+\s*$/.test(text));
  return Math.max(0, ...counts.map(Number));
}

export function areFewHops(hops: number): boolean {
  return hops <= limit("hopsMax");
}

/** 508 (RFC 5842 section 7.2): an event has come back too often. */
export function loopDetected(hops: number): Problem {
  const detail = `It has been delivered ${hops} times already; at most ${limit("hopsMax")} deliveries lead to an event.`;
  return new Problem("loop_detected", detail);
}
