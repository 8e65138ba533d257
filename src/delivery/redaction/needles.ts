import { Alike } from "./alike.ts";
import { Hashes } from "./hashes.ts";
import { placeOf, unescaped, type View } from "./unescaped.ts";

/** Shorter secrets are words, which a server says for reasons of its own. */
export const LENGTH_MIN = 4;

/** From here, up to there. */
export type Place = readonly [from: number, to: number];

/** `before` and `after` are characters beside it that have some of its bits. */
interface Form {
  /** Of bytes as Latin-1. `meant`: these without escapes, where the form itself is to have none. */
  spell(secret: string, meant: string | null): string;
  before: 0 | 1;
  after(length: number): 0 | 1;
}

const PLAIN: Omit<Form, "spell"> = { before: 0, after: () => 0 };

/**
 * As text, in base64, and in hexadecimal digits, together or with a space or a colon between bytes; in base64
 * alone or within more.
 */
const FORMS: readonly Form[] = [
  { ...PLAIN, spell: (secret, meant) => meant ?? secret },
  { ...PLAIN, spell: (secret, meant) => spacedPlus(Buffer.from(secret, "latin1").toString("base64"), meant) },
  ...["", " ", ":"].flatMap(inHexadecimal),
  ...([0, 1, 2] as const).flatMap(within),
];

/** Of small letters, and of large ones. */
function inHexadecimal(between: string): Form[] {
  const small = (secret: string) => parted(Buffer.from(secret, "latin1").toString("hex"), between);
  return [
    { ...PLAIN, spell: small },
    { ...PLAIN, spell: (secret) => small(secret).toUpperCase() },
  ];
}

function parted(digits: string, between: string): string {
  return between === "" ? digits : digits.replaceAll(/..(?=.)/g, `$&${between}`);
}

/** A form of a web page writes a space as `+`, so that both are one where escapes are resolved. */
function spacedPlus(base64: string, meant: string | null): string {
  return meant === null ? base64 : base64.replaceAll("+", " ");
}

/** In base64 of a longer text, where so many bytes of a group of three stand before it; and of addresses. */
function within(count: 0 | 1 | 2): Form[] {
  const spell = (secret: string) => {
    const base64 = Buffer.from("\0".repeat(count) + secret, "latin1").toString("base64");
    return base64.slice(Math.ceil((count * 8) / 6), Math.floor(((count + secret.length) * 8) / 6));
  };
  const edges = {
    before: count === 0 ? 0 : 1,
    after: (length: number) => (((count + length) * 8) % 6 === 0 ? 0 : 1),
  } as const;
  return [
    { ...edges, spell: (secret, meant) => spacedPlus(spell(secret), meant) },
    { ...edges, spell: (secret) => spell(secret).replaceAll("+", "-").replaceAll("/", "_") },
  ];
}

/** So many bytes of a secret say how each of its forms begins. */
const BEGIN_LENGTH = 8;

/**
 * Secrets in all their forms, found whole in one pass over a text. Kept is how each form begins, in a table
 * by the hash of its first characters; all of it is spelled where a text has that beginning.
 */
export class Needles {
  readonly #secrets: readonly string[];
  /** Where needles are to have no escapes: the secrets without. */
  readonly #meant: readonly string[] | null;
  /** Of each needle its first characters, and the next one with the same hash; -1 is none. */
  readonly #begins: Int32Array;
  readonly #next: Int32Array;
  readonly #heads: Int32Array;
  readonly #shift: number;
  /** By their first characters, those of which a text had that beginning. */
  readonly #alike = new Map<number, Alike>();
  #resolved: Needles | null = null;
  #longest: number | null = null;

  constructor(secrets: readonly string[], isMeant = false) {
    this.#secrets = secrets;
    this.#meant = isMeant ? secrets.map((secret) => unescaped(secret).text) : null;
    const bits = Math.max(8, Math.ceil(Math.log2(this.count + 1)));
    this.#shift = 32 - bits;
    this.#begins = new Int32Array(this.count);
    this.#next = new Int32Array(this.count);
    this.#heads = new Int32Array(2 ** bits).fill(-1);
    for (let needle = 0; needle < this.count; needle++) this.#add(needle);
  }

  get count(): number {
    return this.#secrets.length * FORMS.length;
  }

  /** For a text whose escapes are resolved. Made where there is one. */
  get resolved(): Needles {
    this.#resolved ??= new Needles(this.#secrets, true);
    return this.#resolved;
  }

  /** The length of the longest form. */
  get longest(): number {
    const secret = "x".repeat(Math.max(0, ...this.#secrets.map(({ length }) => length)));
    this.#longest ??= Math.max(...FORMS.map((form) => form.spell(secret, null).length));
    return this.#longest;
  }

  /**
   * Where whole forms stand in what was written: whoever chose the text could guess from what a part of one
   * would change. Where none of `repeats` is left, all from the next form on is one place.
   */
  placesIn(view: View, repeats: { left: number }): Place[] {
    const { text } = view;
    const places: Place[] = [];
    if (this.count === 0) return places;
    const spelled = new Map<number, string>();
    const hashes = new Hashes(text);
    let begin = 0;
    for (let end = 0; end < text.length; end++) {
      begin = withLetter(begin, text.charCodeAt(end));
      const first = this.#firstWith(begin);
      if (first < 0 || end < LENGTH_MIN - 1) continue;
      const at = end - LENGTH_MIN + 1;
      const alike = this.#alike.get(begin) ?? this.#gather(begin, first);
      let needle = alike.longestAt(hashes, at);
      for (; needle >= 0; needle = alike.shorter(needle)) {
        const place = this.#placeAt(view, at, needle, spelled);
        if (place === null) continue;
        if (repeats.left-- <= 0) return [...places, [place[0], Infinity]];
        places.push(place);
      }
    }
    return places;
  }

  /** Of the needles that begin so; -1 is none. */
  #firstWith(begin: number): number {
    let needle = this.#heads[hashOf(begin, this.#shift)] ?? -1;
    while (needle >= 0 && this.#begins[needle] !== begin) needle = this.#next[needle] ?? -1;
    return needle;
  }

  #gather(begin: number, first: number): Alike {
    const needles: number[] = [];
    for (let needle = first; needle >= 0; needle = this.#next[needle] ?? -1)
      if (this.#begins[needle] === begin) needles.push(needle);
    const alike = new Alike(needles, (one) => this.#spell(one));
    this.#alike.set(begin, alike);
    return alike;
  }

  #placeAt(view: View, at: number, needle: number, spelled: Map<number, string>): Place | null {
    const [secret, form] = this.#partsOf(needle);
    const text = spelled.get(needle) ?? this.#spell(needle);
    spelled.set(needle, text);
    if (!view.text.startsWith(text, at)) return null;
    const to = at + text.length + form.after(secret.length);
    return [placeOf(view, at - form.before), placeOf(view, to)];
  }

  #spell(needle: number): string {
    const [secret, form] = this.#partsOf(needle);
    return form.spell(secret, this.#meantOf(needle));
  }

  #add(needle: number): void {
    const [secret, form] = this.#partsOf(needle);
    const begins = form.spell(secret.slice(0, BEGIN_LENGTH), this.#meantOf(needle));
    // Without its escapes it may be shorter.
    if (begins.length < LENGTH_MIN) return;
    let begin = 0;
    for (let at = 0; at < LENGTH_MIN; at++) begin = withLetter(begin, begins.charCodeAt(at));
    const slot = hashOf(begin, this.#shift);
    this.#begins[needle] = begin;
    this.#next[needle] = this.#heads[slot] ?? -1;
    this.#heads[slot] = needle;
  }

  #partsOf(needle: number): [secret: string, form: Form] {
    const secret = this.#secrets[Math.floor(needle / FORMS.length)] ?? "";
    return [secret, FORMS[needle % FORMS.length] as Form];
  }

  #meantOf(needle: number): string | null {
    return this.#meant?.[Math.floor(needle / FORMS.length)] ?? null;
  }
}

/** The last four characters, a byte of each. */
function withLetter(begin: number, code: number): number {
  return (begin << 8) | (code & 0xff);
}

function hashOf(begin: number, shift: number): number {
  return Math.imul(begin, 0x9e3779b1) >>> shift;
}
