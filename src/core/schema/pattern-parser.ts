import {
  CharacterSet,
  complement,
  DIGITS,
  DOT,
  type Ranges,
  SPACE,
  unicodeProperty,
  WORD,
} from "./charset.ts";

/** A parsed pattern. `boundary` is `\b`, `inside` is `\B`. */
export type PatternNode =
  | { kind: "character"; codePoint: number }
  | { kind: "set"; set: CharacterSet }
  | { kind: "assertion"; at: Assertion }
  | { kind: "sequence"; parts: PatternNode[] }
  | { kind: "choice"; options: PatternNode[] }
  | { kind: "repeat"; part: PatternNode; min: number; max: number };

export type Assertion = "start" | "end" | "boundary" | "inside";

export type ParsedPattern = { ok: true; node: PatternNode } | { ok: false; detail: string };

/** What a set holds beside single characters: ranges, and Unicode properties. */
interface Members {
  ranges: Ranges;
  properties: readonly RegExp[];
}

/** One code point, or what an escape such as `\d` or `\p{L}` means. */
type Item = number | Members;

const NO_MEMBERS: Members = { ranges: [], properties: [] };

function membersOf(item: Item): Members {
  return typeof item === "number" ? { ranges: [[item, item]], properties: [] } : item;
}

function nodeOf(item: Item): PatternNode {
  if (typeof item === "number") return { kind: "character", codePoint: item };
  return { kind: "set", set: new CharacterSet(item.ranges, item.properties) };
}

/** Groups inside groups; the parser and the compiler descend once for each. */
const GROUP_DEPTH_MAX = 100;

const NOTHING: PatternNode = { kind: "sequence", parts: [] };
const QUANTIFIER = /\{(\d+)(?:(,)(\d*))?\}/y;
const GROUP_NAME = /<[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*>/uy;
const HEXADECIMAL = /x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,8})\}/y;
const LOW_SURROGATE = /\\u([dD][c-fC-F][0-9A-Fa-f]{2})/y;
const PROPERTY = /([pP])\{([^}]*)\}/y;
const CONTROL_LETTERS = new Map([
  ["t", 9],
  ["n", 10],
  ["v", 11],
  ["f", 12],
  ["r", 13],
]);
const CLASS_ESCAPES = new Map<string, Ranges>([
  ["d", DIGITS],
  ["D", complement(DIGITS)],
  ["w", WORD],
  ["W", complement(WORD)],
  ["s", SPACE],
  ["S", complement(SPACE)],
]);
const PUNCTUATION = /[ -/:-@[-`{-~]/;

/**
 * Reads a pattern of JSON Schema: ECMA-262 regular expressions as under the flag u, and beyond it a backslash
 * before any ASCII punctuation, as many schemas have it. What no engine can match in bounded time,
 * look-around and back-references, is refused.
 */
export function parsePattern(source: string): ParsedPattern {
  const parser = new Parser(source);
  const node = parser.readAll();
  return parser.fault === null ? { ok: true, node } : { ok: false, detail: parser.fault };
}

class Parser {
  /** The first fault; from then on the parser stands at the end, so that every loop ends. */
  fault: string | null = null;
  #at = 0;
  #depth = 0;

  constructor(readonly source: string) {}

  readAll(): PatternNode {
    const node = this.#readChoice();
    if (this.#at < this.source.length) this.#refuse("a closing parenthesis has no opening one");
    return node;
  }

  #refuse(detail: string): PatternNode {
    this.fault ??= `The pattern cannot be used: ${detail}.`;
    this.#at = this.source.length;
    return NOTHING;
  }

  #peek(): string {
    return this.source.charAt(this.#at);
  }

  /** Takes the text if it stands here. */
  #take(text: string): boolean {
    const stands = this.source.startsWith(text, this.#at);
    if (stands) this.#at += text.length;
    return stands;
  }

  /** Takes what the sticky expression finds here. */
  #takeMatch(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.source);
    if (match !== null) this.#at += match[0].length;
    return match;
  }

  #takeCodePoint(): number {
    const codePoint = this.source.codePointAt(this.#at) ?? 0;
    this.#at += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  #readChoice(): PatternNode {
    const options = [this.#readSequence()];
    while (this.#take("|")) options.push(this.#readSequence());
    return options.length === 1 && options[0] !== undefined ? options[0] : { kind: "choice", options };
  }

  #readSequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.#at < this.source.length && this.#peek() !== "|" && this.#peek() !== ")") {
      parts.push(this.#readQuantified());
    }
    return { kind: "sequence", parts };
  }

  #readQuantified(): PatternNode {
    const part = this.#readAtom();
    const counts = this.#readCounts();
    if (counts === null) return part;
    if (part.kind === "assertion") return this.#refuse("an anchor cannot be repeated");
    if (counts.max < counts.min) return this.#refuse("the numbers of a quantifier are out of order");
    this.#take("?"); // Greedy or lazy: whether there is a match is the same.
    return { kind: "repeat", part, ...counts };
  }

  #readCounts(): { min: number; max: number } | null {
    if (this.#take("*")) return { min: 0, max: Infinity };
    if (this.#take("+")) return { min: 1, max: Infinity };
    if (this.#take("?")) return { min: 0, max: 1 };
    const match = this.#takeMatch(QUANTIFIER);
    if (match === null) return null;
    const min = Number(match[1]);
    if (match[2] === undefined) return { min, max: min };
    return { min, max: match[3] === "" ? Infinity : Number(match[3]) };
  }

  #readAtom(): PatternNode {
    if (this.#take("^")) return { kind: "assertion", at: "start" };
    if (this.#take("$")) return { kind: "assertion", at: "end" };
    if (this.#take("(")) return this.#readGroup();
    if (this.#take(".")) return nodeOf({ ranges: DOT, properties: [] });
    if (this.#take("[")) return this.#readClass();
    if (this.#take("\\b")) return { kind: "assertion", at: "boundary" };
    if (this.#take("\\B")) return { kind: "assertion", at: "inside" };
    if (this.#take("\\")) return nodeOf(this.#readEscape());
    if ("*+?".includes(this.#peek())) return this.#refuse(`there is nothing for "${this.#peek()}" to repeat`);
    if ("{}]".includes(this.#peek())) return this.#refuse(`write \\${this.#peek()} for the character itself`);
    return { kind: "character", codePoint: this.#takeCodePoint() };
  }

  #readGroup(): PatternNode {
    const fault = this.#takeGroupStart();
    if (fault !== null) return this.#refuse(fault);
    if (++this.#depth > GROUP_DEPTH_MAX) return this.#refuse("its groups nest too deeply");
    const node = this.#readChoice();
    this.#depth--;
    return this.#take(")") ? node : this.#refuse("a group is not closed");
  }

  #takeGroupStart(): string | null {
    if (!this.#take("?") || this.#take(":")) return null;
    if (["=", "!", "<=", "<!"].some((sign) => this.#take(sign)))
      return "look-ahead and look-behind are not supported";
    return this.#takeMatch(GROUP_NAME) === null ? "a group begins with (, (?: or (?<name>" : null;
  }

  /** What a backslash begins, inside and outside of a class: one code point, or a set of them. */
  #readEscape(): Item {
    const hexadecimal = this.#takeMatch(HEXADECIMAL);
    if (hexadecimal !== null) return this.#readCodePoint(hexadecimal);
    const property = this.#takeMatch(PROPERTY);
    if (property !== null) return this.#readProperty(property[1] === "P", property[2] ?? "");
    const letter = this.#peek();
    const ranges = CLASS_ESCAPES.get(letter);
    if (ranges !== undefined) {
      this.#at++;
      return { ranges, properties: [] };
    }
    return this.#readCharacterEscape(letter);
  }

  #readCharacterEscape(letter: string): number {
    this.#at++;
    const control = CONTROL_LETTERS.get(letter);
    if (control !== undefined) return control;
    if (letter === "0" && !/[0-9]/.test(this.#peek())) return 0;
    if (letter === "c" && /[A-Za-z]/.test(this.#peek())) return this.#takeCodePoint() % 32;
    if (/[1-9k]/.test(letter)) this.#refuse("back-references are not supported");
    else if (letter === "") this.#refuse("it ends in a backslash");
    else if (!PUNCTUATION.test(letter)) this.#refuse(`\\${letter} is no escape`);
    return letter.charCodeAt(0);
  }

  #readCodePoint(match: RegExpExecArray): number {
    const codePoint = Number.parseInt(match[1] ?? match[2] ?? match[3] ?? "", 16);
    if (codePoint > 0x10ffff) this.#refuse("an escape exceeds \\u{10FFFF}");
    const isHighSurrogate = match[2] !== undefined && codePoint >= 0xd800 && codePoint <= 0xdbff;
    const low = isHighSurrogate ? this.#takeMatch(LOW_SURROGATE) : null;
    if (low === null) return codePoint;
    return (codePoint - 0xd800) * 0x400 + Number.parseInt(low[1] ?? "", 16) - 0xdc00 + 0x10000;
  }

  #readProperty(negated: boolean, name: string): Item {
    const property = unicodeProperty(name, negated);
    if (property !== null) return { ranges: [], properties: [property] };
    this.#refuse("it names a Unicode property that does not exist");
    return NO_MEMBERS;
  }

  #readClass(): PatternNode {
    const negated = this.#take("^");
    const ranges: (readonly [number, number])[] = [];
    const properties: RegExp[] = [];
    while (!this.#take("]")) {
      if (this.#at >= this.source.length) return this.#refuse("a class is not closed");
      const item = this.#readClassRange();
      for (const range of item.ranges) ranges.push(range);
      for (const property of item.properties) properties.push(property);
    }
    return { kind: "set", set: new CharacterSet(ranges, properties, negated) };
  }

  #readClassRange(): Members {
    const first = this.#readClassItem();
    const isRange = this.#peek() === "-" && this.source.charAt(this.#at + 1) !== "]";
    if (!isRange) return membersOf(first);
    this.#at++;
    const last = this.#readClassItem();
    if (typeof first === "number" && typeof last === "number" && first <= last)
      return { ranges: [[first, last]], properties: [] };
    this.#refuse("a range in a class needs two characters in order");
    return NO_MEMBERS;
  }

  #readClassItem(): Item {
    if (this.#take("\\b")) return 8;
    return this.#take("\\") ? this.#readEscape() : this.#takeCodePoint();
  }
}
