/** How far a signed timestamp may lie from now, in seconds. */
export interface Window {
  readonly pastSeconds: number;
  readonly futureSeconds: number;
}

/**
 * For providers that state no window: a retry that keeps its first timestamp must not be lost, and
 * deduplication catches replays.
 */
export const UNSTATED_WINDOW: Window = { pastSeconds: 86_400, futureSeconds: 300 };

/** `utc`: an ISO time that is in UTC where it has no zone. */
export type TimestampUnit = "s" | "ms" | "iso" | "utc";

/** The window that the provider states, the same in both directions. */
export function within(seconds: number): Window {
  return { pastSeconds: seconds, futureSeconds: seconds };
}

/** The window as the source's `config.tolerance_seconds` narrows it; never wider than the provider's. */
export function narrowed(window: Window, config: Readonly<Record<string, unknown>>): Window {
  const tolerance = config["tolerance_seconds"];
  if (typeof tolerance !== "number") return window;
  return {
    pastSeconds: Math.min(window.pastSeconds, tolerance),
    futureSeconds: Math.min(window.futureSeconds, tolerance),
  };
}

export function isWithin(window: Window, atMs: number, nowMs: number): boolean {
  return atMs >= nowMs - window.pastSeconds * 1000 && atMs <= nowMs + window.futureSeconds * 1000;
}

/** Without zeros in front, which the end of a value beside it could be. */
const INTEGER = /^(?:0|[1-9][0-9]{0,15})$/;
/** Seconds are always there: what is cut off before them is no time, nor is what lacks its zone. */
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/;

/** A timestamp as sent, in milliseconds since the epoch; null where it is none. */
export function readTimestamp(text: string, unit: TimestampUnit): number | null {
  if (unit === "s" || unit === "ms")
    return INTEGER.test(text) ? Number(text) * (unit === "s" ? 1000 : 1) : null;
  const match = ISO.exec(text);
  const hasZone = match?.[1] !== undefined;
  if (!match || (!hasZone && unit === "iso")) return null;
  const atMs = Date.parse(hasZone ? text : `${text}Z`);
  return Number.isNaN(atMs) ? null : atMs;
}
