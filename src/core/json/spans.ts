import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  nameAt,
  OPEN_BRACE,
  OPEN_BRACKET,
  type Span,
  skipComma,
  skipSpace,
  stringEnd,
  valueEnd,
} from "./json.ts";
import { INDEX } from "./value.ts";

/** The end of the value that was read, and what was found in it. */
interface Read {
  end: number;
  found: Span[];
}

const NOTHING: Span[] = [];

/**
 * Where the values at a path stand in a text, which must be valid JSON: names of members, indexes of elements
 * (digits), or `*` for every element of an array. None where there is nothing at it. The text is read once,
 * however long the path is.
 */
export function spansAt(text: string, path: readonly string[]): Span[] {
  return read(text, skipSpace(text, 0), path, 0).found;
}

function read(text: string, start: number, path: readonly string[], level: number): Read {
  const name = path[level];
  if (name === undefined) {
    const end = valueEnd(text, start);
    return { end, found: [{ start, end }] };
  }
  const opening = text.charCodeAt(start);
  if (opening === OPEN_BRACE && name !== "*") return readObject(text, start, path, level);
  if (opening === OPEN_BRACKET && (name === "*" || INDEX.test(name)))
    return readArray(text, start, path, level);
  return { end: valueEnd(text, start), found: NOTHING };
}

/** Of two members of one name the last one counts, as JSON.parse has it. */
function readObject(text: string, start: number, path: readonly string[], level: number): Read {
  let found = NOTHING;
  let at = skipSpace(text, start + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACE) {
    const keyEnd = stringEnd(text, at);
    const isMeant = nameAt(text, at, keyEnd) === path[level];
    const member = skipSpace(text, text.indexOf(":", keyEnd) + 1);
    if (isMeant) ({ end: at, found } = read(text, member, path, level + 1));
    else at = valueEnd(text, member);
    at = skipComma(text, at);
  }
  return { end: at + 1, found };
}

function readArray(text: string, start: number, path: readonly string[], level: number): Read {
  const wanted = path[level] === "*" ? null : Number(path[level]);
  const found: Span[] = [];
  let at = skipSpace(text, start + 1);
  for (let index = 0; at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET; index++) {
    if (wanted === null || wanted === index) {
      const element = read(text, at, path, level + 1);
      for (const span of element.found) found.push(span);
      at = element.end;
    } else at = valueEnd(text, at);
    at = skipComma(text, at);
  }
  return { end: at + 1, found };
}
