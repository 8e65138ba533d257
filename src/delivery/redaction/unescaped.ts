/** What a text says, and where that was written. */
export interface View {
  readonly text: string;
  /** Null where it is what was written. */
  readonly origin: { readonly of: View; readonly pieces: readonly Piece[] } | null;
}

/** From `start` on the text stands at `from`: letter by letter, or as one escape. */
interface Piece {
  readonly start: number;
  readonly from: number;
  readonly isEscape: boolean;
}

/**
 * In JSON and in code, in a URL and a form, in HTML and XML; of `%25` and `&amp;` a whole run, as what is
 * escaped again makes of one.
 */
const ESCAPE =
  /\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2}))?|%(?:25)*([0-9a-f]{2})|&(?:amp;)*(?:#x0*([0-9a-f]{1,5})|#0*(\d{1,6})|(amp|lt|gt|quot|apos));/gi;
const HAS_ESCAPES = /[\\%&+]/;
/** So many characters at most are left of an escape that is cut off: `&#x0000000` of a few zeros more. */
export const ESCAPE_BEGUN_MAX = 20;

const NAMED: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);
/** A form writes a space as `+`; JSON a line feed as `\n`, of which `n` is left without the backslash. */
const FOLDED = [
  ["+", " "],
  ["\n", "n"],
  ["\r", "r"],
  ["\t", "t"],
  ["\b", "b"],
  ["\f", "f"],
] as const;

/** JSON in JSON in a URL in HTML is four. */
const LEVELS_MAX = 6;

/** False where a text has no other spelling. */
export function hasEscapes(text: string): boolean {
  return HAS_ESCAPES.test(text);
}

/**
 * One form for all spellings of a text: its escapes resolved, also where they are escaped themselves, and no
 * backslash left. That a few texts of another meaning have the same form does no harm.
 */
export function unescaped(written: string): View {
  let view: View = { text: written, origin: null };
  for (let level = 0; level < LEVELS_MAX; level++) {
    const next = unescapedOnce(view);
    if (next.text === view.text) break;
    view = next;
    if (!hasEscapes(view.text)) break;
  }
  return view;
}

/** Where the character at an index was written: the first of its escape, and the backslashes before it. */
export function placeOf({ text, origin }: View, index: number): number {
  const within = Math.max(0, Math.min(index, text.length));
  if (origin === null) return within;
  const { of, pieces } = origin;
  const { start, from, isEscape } = pieceAt(pieces, within);
  return placeOf(of, isEscape ? from : from + within - start);
}

/** The first that starts there, or the last that starts before. */
function pieceAt(pieces: readonly Piece[], index: number): Piece {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pieces[middle]?.start ?? Infinity) < index) low = middle + 1;
    else high = middle;
  }
  const piece = pieces[low]?.start === index ? pieces[low] : pieces[low - 1];
  return piece ?? { start: 0, from: 0, isEscape: false };
}

function unescapedOnce(view: View): View {
  const source = view.text;
  const pieces: Piece[] = [];
  let text = "";
  let done = 0;
  const goTo = (from: number) => {
    if (from > done) pieces.push({ start: text.length, from: done, isEscape: false });
    text += source.slice(done, from);
  };
  for (const match of source.matchAll(ESCAPE)) {
    goTo(match.index);
    pieces.push({ start: text.length, from: match.index, isEscape: true });
    text += meaningOf(match);
    done = match.index + match[0].length;
  }
  goTo(source.length);
  pieces.push({ start: text.length, from: source.length, isEscape: true });
  return { text: folded(text), origin: { of: view, pieces } };
}

function meaningOf([escape, u, x, percent, hex, decimal, name]: RegExpExecArray): string {
  const digits = u ?? x ?? percent ?? hex;
  if (digits !== undefined) return character(Number.parseInt(digits, 16), escape);
  if (decimal !== undefined) return character(Number(decimal), escape);
  if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? "";
  return "";
}

/** The escape itself where there is no such character. */
function character(code: number, escape: string): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : escape;
}

/** Letter by letter, so that each stays at its place. */
function folded(text: string): string {
  return FOLDED.reduce((known, [letter, meant]) => known.replaceAll(letter, meant), text);
}
