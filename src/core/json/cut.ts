import {
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACKET,
  QUOTE,
  type Span,
  skipSpace,
  stringEnd,
  valueEnd,
} from "./json.ts";

/** What is to be cut: the elements of the list that is this member of an object. */
export interface Cut {
  name: string;
  /**
   * One element more than that, and one character more of an element, end the cutting: nobody wants the rest.
   */
  countMax: number;
  lengthMax: number;
}

/**
 * Stands for an element in `rest`. A digit would be one number with what is spelled behind it, as in
 * `[{}.5]`.
 */
const PLACEHOLDER = "null";

/** A text without the elements of its list; each stands as `null` in `rest`. */
export interface CutText {
  rest: string;
  elements: readonly Span[];
  /**
   * Elements of lists that an earlier member of the name had: nobody reads them, but they have to be
   * JSON too.
   */
  superseded: readonly Span[];
}

/**
 * Cuts a text that claims to be an object with a long list, so that it can be parsed element by element. It
 * is JSON if, and only if, `rest` and every element are: a value may stand wherever another one does. Of
 * members of one name the last counts, as JSON.parse has it. Yields often, as the text may be long.
 */
export function* cutList(text: string, cut: Cut): Generator<undefined, CutText> {
  const rest: string[] = [];
  const superseded: Span[] = [];
  const elements: Span[] = [];
  let copied = 0;
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = stringEnd(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    if (isNamed(text.slice(at + 1, keyEnd - 1), cut.name)) {
      superseded.push(...elements.splice(0));
      for (const element of elementsOf(text, start, cut)) {
        rest.push(text.slice(copied, element.start));
        copied = element.end;
        elements.push(element);
        yield;
      }
      if (isTooMuch(elements, superseded, cut))
        return { rest: rest.join(PLACEHOLDER) + PLACEHOLDER, elements, superseded };
    }
    // Behind the elements their list ends, or is none.
    const end = elements.length > 0 && copied > start ? closing(text, copied) : valueEnd(text, start);
    yield;
    at = skipSpace(text, end);
    if (end <= start || text.charCodeAt(at) !== COMMA) break;
    at = skipSpace(text, at + 1);
  }
  return { rest: [...rest, text.slice(copied)].join(PLACEHOLDER), elements, superseded };
}

function* elementsOf(text: string, list: number, { countMax, lengthMax }: Cut): Generator<Span> {
  if (text.charCodeAt(list) !== OPEN_BRACKET) return;
  let at = skipSpace(text, list + 1);
  for (
    let count = 0;
    count <= countMax && at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET;
    count++
  ) {
    const end = valueEnd(text, at, Math.min(text.length, at + lengthMax + 1));
    if (end === at) return;
    yield { start: at, end };
    if (end - at > lengthMax) return;
    at = skipSpace(text, end);
    if (text.charCodeAt(at) !== COMMA) return;
    at = skipSpace(text, at + 1);
  }
}

function isTooMuch(
  elements: readonly Span[],
  superseded: readonly Span[],
  { countMax, lengthMax }: Cut,
): boolean {
  const last = elements.at(-1);
  return (
    elements.length + superseded.length > countMax ||
    (last !== undefined && last.end - last.start > lengthMax)
  );
}

/**
 * Index after the bracket that closes the list whose last element ends at `from`; `from` where there is none.
 */
function closing(text: string, from: number): number {
  let at = skipSpace(text, from);
  // A comma before the bracket is no JSON: the rest, which has it too, says so.
  if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  return text.charCodeAt(at) === CLOSE_BRACKET ? at + 1 : from;
}

/** True where a key, as it is spelled, means the name. */
function isNamed(key: string, name: string): boolean {
  if (key === name || !key.includes("\\") || key.length > 6 * name.length) return key === name;
  try {
    return JSON.parse(`"${key}"`) === name;
  } catch {
    return false;
  }
}
