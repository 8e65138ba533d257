/**
 * JSON as text. `data` is kept and sent as the publisher wrote it: order of keys, spelling and size of
 * numbers survive, which a parse and a stringify would not give. So the text is cut, not rebuilt.
 */

export const QUOTE = 34;
export const COMMA = 44;
export const COLON = 58;
export const OPEN_BRACKET = 91;
export const CLOSE_BRACKET = 93;
export const OPEN_BRACE = 123;
export const CLOSE_BRACE = 125;

/** A value's place in its text: `start` inclusive, `end` exclusive. */
export interface Span {
  start: number;
  end: number;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/**
 * Index after the closing quote of the string that opens at `open`; the text's length where it never closes.
 */
export function stringEnd(text: string, open: number): number {
  let at = open;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === 92) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
}

/**
 * How deep arrays and objects nest; the root is 1. Works on any text, valid or not, so it can stand before
 * a parse.
 */
export function depthOf(text: string, from = 0, to = text.length): number {
  let depth = 0;
  let deepest = 0;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) deepest = Math.max(deepest, ++depth);
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return deepest;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Index of what follows a value that ends at `from`: of the next one, or of what closes them all. */
export function skipComma(text: string, from: number): number {
  const at = skipSpace(text, from);
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at;
}

/** Index after the value that begins at `from`, or `to` where it goes on; the text must be valid JSON. */
export function valueEnd(text: string, from: number, to = text.length): number {
  let depth = 0;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (code === COMMA || isSpace(code))) return at;
  }
  return to;
}

/**
 * Where the member `name` of the object at `from` has its value; the last one where it stands twice, as
 * JSON.parse has it.
 */
export function memberSpan(text: string, name: string, from = 0): Span | null {
  let found: Span | null = null;
  let at = skipSpace(text, skipSpace(text, from) + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = stringEnd(text, at);
    const start = skipSpace(text, text.indexOf(":", keyEnd) + 1);
    const end = valueEnd(text, start);
    if (nameAt(text, at, keyEnd) === name) found = { start, end };
    at = skipComma(text, end);
  }
  return found;
}

/**
 * True where an object anywhere in the text, which must be valid JSON, has two members of one name, however
 * each is spelled.
 */
export function hasNameTwice(text: string): boolean {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === OPEN_BRACE) open.push(new Set());
    else if (code === CLOSE_BRACE) open.pop();
    else if (code === QUOTE) {
      const end = stringEnd(text, at);
      const names = text.charCodeAt(skipSpace(text, end)) === COLON ? open.at(-1) : undefined;
      // A set does not grow by what it has already.
      if (names && names.size === names.add(nameAt(text, at, end)).size) return true;
      at = end - 1;
    }
  }
  return false;
}

/** The name that is spelled between these quotes. */
export function nameAt(text: string, start: number, end: number): string {
  const key = text.slice(start + 1, end - 1);
  return key.includes("\\") ? JSON.parse(`"${key}"`) : key;
}

/** Where the elements of the array at `from` stand, up to `most`; the text must be valid JSON. */
export function elementSpans(text: string, from: number, most = Infinity): Span[] {
  const spans: Span[] = [];
  let at = skipSpace(text, from + 1);
  while (spans.length < most && at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = valueEnd(text, at);
    spans.push({ start: at, end });
    at = skipComma(text, end);
  }
  return spans;
}

/** Longer than that, a text that is full of white space would be put together of too many pieces. */
const PIECES_LENGTH_MAX = 64 * 1024;

/** The same JSON without white space between its tokens; the given string itself where there is none. */
export function minify(text: string): string {
  const first = firstSpace(text);
  if (first === text.length) return text;
  return text.length > PIECES_LENGTH_MAX ? copyTokens(text, first) : joinTokens(text, first);
}

/** Index of the first white space between tokens; the text's length where there is none. */
function firstSpace(text: string): number {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (isSpace(code)) return at;
  }
  return text.length;
}

function joinTokens(text: string, first: number): string {
  let out = text.slice(0, first);
  let copied = skipSpace(text, first);
  for (let at = copied; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (isSpace(code)) {
      out += text.slice(copied, at);
      copied = skipSpace(text, at);
      at = copied - 1;
    }
  }
  return out + text.slice(copied);
}

/** Character by character. */
function copyTokens(text: string, first: number): string {
  const out = new Uint16Array(text.length - first);
  let length = 0;
  for (let at = first; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) continue;
    out[length++] = code;
    if (code !== QUOTE) continue;
    for (const end = stringEnd(text, at); at + 1 < end; ) out[length++] = text.charCodeAt(++at);
  }
  return text.slice(0, first) + Buffer.from(out.buffer, 0, 2 * length).toString("utf16le");
}
