import { isObject, parseObject } from "../core/json/value.ts";
import type { AttemptError, AttemptErrorCode } from "../core/attempt-error.ts";
import { limit } from "../core/limits.ts";
import type { Judgement, Refusal } from "./destination.ts";

/** What judges of answers have in common. */

const decoder = new TextDecoder();

export const DELIVERED: Judgement = { delivered: true };

/**
 * `code` is null where the status says all there is to say; `detail` is the destination's own name for what
 * is wrong.
 */
export function rejected(
  code: AttemptErrorCode | null = null,
  { throttled = false, detail = null }: { throttled?: boolean; detail?: string | null } = {},
): Refusal {
  return { delivered: false, error: code && errorNamed(code, detail), throttled };
}

/** A code with as much of what the destination itself says as is kept. */
export function errorNamed(code: AttemptErrorCode, detail: string | null): AttemptError {
  return { code, detail: detail && detail.slice(0, limit("errorDetailLengthMax")) };
}

/** A status of success without what a success must hold: something else answers there. */
export const UNEXPECTED = "unexpected_answer";

/** The answer's JSON object; an empty one where it is anything else, or was cut. */
export function readObject(body: Uint8Array): Readonly<Record<string, unknown>> {
  return parseObject(decoder.decode(body)) ?? {};
}

/** The first object of a list, as batch calls answer for their one message. */
export function firstOf(list: unknown): Readonly<Record<string, unknown>> {
  const first: unknown = Array.isArray(list) ? list[0] : null;
  return isObject(first) ? first : {};
}

export function readText(body: Uint8Array): string {
  return decoder.decode(body);
}
