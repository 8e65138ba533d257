import {
  CLOSE_BRACKET,
  COLON,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipComma,
  skipSpace,
  stringEnd,
  valueEnd,
} from "./json.ts";

/** What is read of an object, by name: a scalar (`true`), or members again. A name has letters and `_`. */
export interface Wanted {
  readonly [name: string]: true | Wanted;
}

/** null: one of the wanted names stands twice. */
type Read = { end: number; value: unknown } | null;

/**
 * What JSON.parse would make of a text that a stranger wrote, with nothing in it but the wanted members:
 * the others are passed over, so that a hundred thousand of them make no objects. Lists have no more than
 * `elementsMax` elements, and what was not asked for is empty (`{}`, `[]`). null where an object has one of
 * the wanted names twice. Of a text that is no JSON it is anything: who goes by it has the text parsed
 * afterwards. Takes a pass or two, whatever the text is.
 */
export function skim(text: string, wanted: Wanted, elementsMax: number): unknown {
  const found = read(text, skipSpace(text, 0), wanted, elementsMax);
  return found === null ? null : found.value;
}

function read(text: string, start: number, wanted: true | Wanted, elementsMax: number): Read {
  const opening = text.charCodeAt(start);
  if (opening === OPEN_BRACE && wanted !== true) return readObject(text, start, wanted, elementsMax);
  if (opening === OPEN_BRACKET && wanted !== true) return readList(text, start, wanted, elementsMax);
  const end = valueEnd(text, start);
  if (opening === OPEN_BRACE) return { end, value: {} };
  return { end, value: opening === OPEN_BRACKET ? [] : scalarIn(text.slice(start, end)) };
}

function scalarIn(spelled: string): unknown {
  try {
    return JSON.parse(spelled);
  } catch {
    return undefined;
  }
}

function readObject(text: string, start: number, wanted: Wanted, elementsMax: number): Read {
  const value: Record<string, unknown> = {};
  const names = Object.keys(wanted);
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = stringEnd(text, at);
    const colon = skipSpace(text, keyEnd);
    if (text.charCodeAt(colon) !== COLON) break;
    const from = skipSpace(text, colon + 1);
    const name = nameSpelled(text, at + 1, keyEnd - 1, names);
    const inner = name === undefined ? undefined : wanted[name];
    if (name === undefined || inner === undefined) {
      at = skipComma(text, valueEnd(text, from));
      continue;
    }
    const member = Object.hasOwn(value, name) ? null : read(text, from, inner, elementsMax);
    if (member === null) return null;
    value[name] = member.value;
    at = skipComma(text, member.end);
  }
  return { end: at + 1, value };
}

/** A list of lists is none of what was asked for. */
function readList(text: string, start: number, wanted: Wanted, elementsMax: number): Read {
  const value: unknown[] = [];
  let at = skipSpace(text, start + 1);
  while (value.length < elementsMax && at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
    const element = read(text, at, text.charCodeAt(at) === OPEN_BRACKET ? true : wanted, elementsMax);
    if (element === null) return null;
    if (element.end === at) break;
    value.push(element.value);
    at = skipComma(text, element.end);
  }
  return { end: valueEnd(text, start), value };
}

/** Which of the names stands there. Nothing is cut out of the text: it may have very many. */
function nameSpelled(text: string, start: number, end: number, names: readonly string[]): string | undefined {
  for (const name of names) if (isSpelled(text, start, end, name)) return name;
  return undefined;
}

const BACKSLASH = 92;
const SMALL_U = 117;
/** By so much `\u0061` is longer than `a`. */
const ESCAPE_EXCESS = 5;

function isSpelled(text: string, start: number, end: number, name: string): boolean {
  const excess = end - start - name.length;
  if (excess === 0) return text.startsWith(name, start);
  return excess > 0 && excess % ESCAPE_EXCESS === 0 && isEscaped(text, start, end, name);
}

function isEscaped(text: string, start: number, end: number, name: string): boolean {
  let at = start;
  for (let index = 0; index < name.length; index++) {
    const isLetter = text.charCodeAt(at) !== BACKSLASH;
    if ((isLetter ? text.charCodeAt(at) : letterAt(text, at)) !== name.charCodeAt(index)) return false;
    at += isLetter ? 1 : 1 + ESCAPE_EXCESS;
  }
  return at === end;
}

/** The code that `\u0061` stands for. */
function letterAt(text: string, at: number): number {
  if (text.charCodeAt(at + 1) !== SMALL_U) return Number.NaN;
  let code = 0;
  for (let digit = at + 2; digit < at + 2 + 4; digit++) code = code * 16 + hexAt(text, digit);
  return code;
}

function hexAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : Number.NaN;
}
