import { elementSpans, memberSpan, OPEN_BRACE, OPEN_BRACKET, type Span, skipSpace } from "./json.ts";

/**
 * Where the values at a path stand in a text, which must be valid JSON: names of members, indexes of elements
 * (digits), or `*` for every element of an array. None where there is nothing at it.
 */
export function spansAt(text: string, path: readonly string[]): Span[] {
  return spansBelow(text, { start: skipSpace(text, 0), end: text.length }, path);
}

function spansBelow(text: string, at: Span, [name, ...rest]: readonly string[]): Span[] {
  if (name === undefined) return [at];
  return partsOf(text, at.start, name).flatMap((part) => spansBelow(text, part, rest));
}

function partsOf(text: string, start: number, name: string): Span[] {
  const opening = text.charCodeAt(start);
  if (opening === OPEN_BRACKET) {
    if (name === "*") return elementSpans(text, start);
    return INDEX.test(name) ? elementSpans(text, start, Number(name) + 1).slice(Number(name)) : [];
  }
  const member = opening === OPEN_BRACE && name !== "*" ? memberSpan(text, name, start) : null;
  return member === null ? [] : [member];
}

/** As an array knows its elements: of `01` it has none. */
const INDEX = /^(?:0|[1-9]\d*)$/;
