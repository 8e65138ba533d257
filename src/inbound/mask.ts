import { elementSpans, memberSpan, OPEN_BRACE, OPEN_BRACKET, type Span } from "../core/json/json.ts";
import { parsePath } from "./facts.ts";

/** What stands in `data` in place of a proof. */
const MASK = '"***"';

function spansAt(text: string, at: Span, path: readonly string[]): Span[] {
  const [name, ...rest] = path;
  const opening = text.charCodeAt(at.start);
  // An object holds proofs, it is none; a field that came twice is a list.
  if (name === undefined) return opening === OPEN_BRACE ? [] : [at];
  if (name === "*") {
    const elements = opening === OPEN_BRACKET ? elementSpans(text, at.start) : [];
    return elements.flatMap((element) => spansAt(text, element, rest));
  }
  const member = opening === OPEN_BRACE ? memberSpan(text, name, at.start) : null;
  return member === null ? [] : spansAt(text, member, rest);
}

/**
 * `data` with `***` at every one of the paths, otherwise as it came; null where there is nothing at any of
 * them: then what was verified stands elsewhere, and would be shown.
 */
export function masked(data: string, paths: readonly string[]): string | null {
  const whole = { start: 0, end: data.length };
  const spans = paths.flatMap((path) => spansAt(data, whole, parsePath(path)));
  if (spans.length === 0) return null;
  const inOrder = spans.toSorted((a, b) => b.start - a.start);
  return inOrder.reduce((text, { start, end }) => text.slice(0, start) + MASK + text.slice(end), data);
}
