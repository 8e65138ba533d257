/** Pairs of first and last code point, both inclusive. */
export type Ranges = readonly (readonly [number, number])[];

const LAST_CODE_POINT = 0x10ffff;

/** `\d`, `\w`, `\s` and `.` as ECMA-262 has them under the flag u. */
export const DIGITS: Ranges = [[0x30, 0x39]];
export const WORD: Ranges = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
export const SPACE: Ranges = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const LINE_ENDS: Ranges = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

/** Every code point that the ranges leave out. */
export function complement(ranges: Ranges): Ranges {
  const out: [number, number][] = [];
  let next = 0;
  for (const [first, last] of normalize(ranges)) {
    if (first > next) out.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST_CODE_POINT) out.push([next, LAST_CODE_POINT]);
  return out;
}

/** The same code points in ascending order, without overlaps. */
function normalize(ranges: Ranges): Ranges {
  const out: [number, number][] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const previous = out.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else out.push([first, last]);
  }
  return out;
}

export const DOT: Ranges = complement(LINE_ENDS);

/** A Unicode property is judged by the built-in engine on one code point, where nothing can backtrack. */
const PROPERTY_STEPS = 20;

const NAME_OF_PROPERTY = /^[A-Za-z0-9_=]{1,64}$/;

/** The property behind `\p{name}`, or null where Unicode has none of that name. */
export function unicodeProperty(name: string, negated: boolean): RegExp | null {
  if (!NAME_OF_PROPERTY.test(name)) return null;
  try {
    return new RegExp(`${negated ? "\\P" : "\\p"}{${name}}`, "u");
  } catch {
    return null;
  }
}

/** What one character of a pattern may be: a class, a property or the dot. */
export class CharacterSet {
  readonly #ranges: Ranges;
  /** What one question costs, in steps of the schema's budget. */
  readonly steps: number;

  constructor(
    ranges: Ranges,
    readonly properties: readonly RegExp[] = [],
    readonly negated = false,
  ) {
    this.#ranges = normalize(ranges);
    this.steps = 1 + Math.floor(Math.log2(ranges.length + 1) / 3) + properties.length * PROPERTY_STEPS;
  }

  has(codePoint: number): boolean {
    const included = this.#inRanges(codePoint) || this.#hasProperty(codePoint);
    return included !== this.negated;
  }

  #inRanges(codePoint: number): boolean {
    let low = 0;
    let high = this.#ranges.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const range = this.#ranges[middle];
      if (range === undefined) return false;
      if (codePoint < range[0]) high = middle - 1;
      else if (codePoint > range[1]) low = middle + 1;
      else return true;
    }
    return false;
  }

  #hasProperty(codePoint: number): boolean {
    if (this.properties.length === 0) return false;
    const character = String.fromCodePoint(codePoint);
    return this.properties.some((property) => property.test(character));
  }
}
