import { Problem } from "./errors.ts";
import { limit } from "./limits.ts";

/**
 * How often an event has been delivered and has come back, told by this header of every delivery over HTTP: a
 * service that passes it on with what it sends to Sealpost ends a loop that it is part of. Without it nobody
 * could tell a loop from traffic.
 */
export const HOPS_HEADER = "sealpost-hops";

/** Of a request's headers; 0 where it names none, or no number. */
export function readHops(headers: Headers): number {
  const value = headers.get(HOPS_HEADER);
  return value !== null && /^\d{1,6}$/.test(value) ? Number(value) : 0;
}

export function areFewHops(hops: number): boolean {
  return hops <= limit("hopsMax");
}

/** 508 (RFC 5842 section 7.2): an event has come back too often. */
export function loopDetected(hops: number): Problem {
  const detail = `It has been delivered ${hops} times already; at most ${limit("hopsMax")} deliveries lead to an event.`;
  return new Problem("loop_detected", detail);
}
