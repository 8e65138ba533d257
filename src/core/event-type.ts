import { limit } from "./limits.ts";

/** Names of event types and the patterns that subscribe to them. */

/** Of a test that names no type. */
export const TRIAL_TYPE = "test.event";

const NAME = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;

export function isEventType(text: string): boolean {
  return text.length <= limit("eventTypeLengthMax") && NAME.test(text);
}

/** An exact name, `invoice.*` (any depth below), or `*`. */
export function isEventTypePattern(text: string): boolean {
  if (text === "*") return true;
  return isEventType(text.endsWith(".*") ? text.slice(0, -2) : text);
}

export function matchesPattern(pattern: string, type: string): boolean {
  if (pattern === "*") return true;
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}

/** Every pattern that admits `type`: `*`, each `prefix.*` above it, and the name itself. */
export function patternsFor(type: string): string[] {
  const patterns = ["*", type];
  for (let dot = type.indexOf("."); dot > 0; dot = type.indexOf(".", dot + 1))
    patterns.push(`${type.slice(0, dot)}.*`);
  return patterns;
}
