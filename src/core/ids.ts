/**
 * Ids and keys. A row's key is (milliseconds since EPOCH) × 4096 + sequence: an integer below 2^53, so
 * that rows lie where their time is. Its public id is prefix + "_" + 26 characters of Crockford base32 in
 * ULID layout: ten characters of time, two of the cell, fourteen that hide the key behind a keyed
 * permutation (Speck64/128). Nothing is stored for it, nobody can guess a neighbour, and an id of one kind
 * is none of another.
 */

const EPOCH_MS = Date.UTC(2025, 0, 1);
const PER_MS = 4096;
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ROUNDS = 27;
const TIME_CHARS = 10;
const CELL_CHARS = 2;
const HIDDEN_CHARS = 14;

/** What a cell may be called. */
export const CELL_FORM = /^[0-9A-HJKMNP-TV-Z]{2}$/;
/** Where a machine of a cell is: a name or an address of IPv4 or, in brackets, IPv6, and a port. */
export const MACHINE_FORM = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$/;
/** As many as a cell may have. */
export const MACHINES_MAX = 16;

/**
 * `typ` and `pos` stand in cursors only: a type of events is called by its name, a position in a queue is
 * nothing by itself.
 */
export const ID_KINDS = [
  "acct",
  "proj",
  "key",
  "ep",
  "src",
  "evt",
  "msg",
  "att",
  "plk",
  "rpl",
  "typ",
  "aud",
  "pos",
  "era",
] as const;
export type IdKind = (typeof ID_KINDS)[number];

/** The instant of a key in Unix milliseconds. */
export function keyTime(key: number): number {
  return Math.floor(key / PER_MS) + EPOCH_MS;
}

/** The smallest key of an instant: what `since` and `until` compare with. Instants before EPOCH give 0. */
export function firstKeyAt(ms: number): number {
  return Math.max(0, (ms - EPOCH_MS) * PER_MS);
}

/** Gives keys that only grow, also when the wall clock steps back; `last` is the largest key in use. */
export class KeySequence {
  #last: number;

  constructor(last: number) {
    this.#last = last;
  }

  /** The first of `count` successive keys. */
  take(nowMs: number, count = 1): number {
    const first = Math.max(this.#last + 1, firstKeyAt(nowMs));
    this.#last = first + count - 1;
    return first;
  }

  get last(): number {
    return this.#last;
  }
}

/** Two 32-bit words: what Speck64 turns into two others. */
type Words = [number, number];

function rotateRight(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function speckRound(words: Words, key: number): void {
  words[0] = ((rotateRight(words[0], 8) + words[1]) ^ key) | 0;
  words[1] = rotateRight(words[1], 29) ^ words[0];
}

function speckUnround(words: Words, key: number): void {
  words[1] = rotateRight(words[1] ^ words[0], 3);
  words[0] = rotateRight((((words[0] ^ key) | 0) - words[1]) | 0, 24);
}

/** Key schedule of Speck64/128 (Beaulieu and others, "The SIMON and SPECK Families", 2013, section 4). */
export function speckKeys(secret: Uint8Array): Int32Array {
  const view = new DataView(secret.buffer, secret.byteOffset, 16);
  const keys = new Int32Array(ROUNDS);
  const words = [0, 4, 8, 12].map((at) => view.getInt32(at, true));
  let k = words[0] ?? 0;
  const l = words.slice(1);
  for (let round = 0; round < ROUNDS; round++) {
    keys[round] = k;
    const pair: Words = [l[round] ?? 0, k];
    speckRound(pair, round);
    l.push(pair[0]);
    k = pair[1];
  }
  return keys;
}

/**
 * On the hot path several times for each event: the words stay in local variables, and the loop is
 * over indexes.
 */
export function speckEncrypt(keys: Int32Array, words: Words): void {
  let [x, y] = words;
  for (let round = 0; round < ROUNDS; round++) {
    x = ((((x >>> 8) | (x << 24)) + y) ^ (keys[round] ?? 0)) | 0;
    y = ((y << 3) | (y >>> 29)) ^ x;
  }
  words[0] = x;
  words[1] = y;
}

export function speckDecrypt(keys: Int32Array, words: Words): void {
  for (let round = ROUNDS - 1; round >= 0; round--) speckUnround(words, keys[round] ?? 0);
}

/** What follows the prefix of an id, in either case. */
const WRITTEN = /^[0-9A-Za-z]{26}$/;

/** The digits as they are written. */
const DIGITS = Buffer.from(ALPHABET, "latin1");

/** Writes the lowest `count` base32 digits of a value, six at most. */
function putDigits(bytes: Uint8Array, at: number, value: number, count: number): void {
  let rest = value;
  for (let place = at + count - 1; place >= at; place--) {
    bytes[place] = DIGITS[rest & 31] ?? 0;
    rest >>>= 5;
  }
}

/**
 * Ids of one kind are written in one place: a text that is joined from pieces costs three times as much by
 * its garbage.
 */
interface Template {
  bytes: Buffer;
  /** The two characters of the cell that stand there. */
  cell: string;
  /** Where the time stands. */
  time: number;
  /** The instant that is written there: ids that are made together share it. */
  ms: number;
}

function readDigits(text: string): number {
  let value = 0;
  for (const char of text) {
    const digit = ALPHABET.indexOf(char);
    if (digit < 0) return -1;
    value = value * 32 + digit;
  }
  return value;
}

/** Six bits over the hidden words: they fill the fourteenth character, and most typos fail here. */
function checkOf(words: Words): number {
  return (words[0] ^ words[1] ^ (words[0] >>> 13) ^ (words[1] >>> 7)) & 0x3f;
}

/** A cell from a copy of which this one began, and whose ids it has kept. */
export interface EarlierCell {
  /** Its two characters. */
  cell: string;
  /** The last key in that copy. */
  lastKey: number;
}

export class IdCodec {
  readonly #keys: Int32Array;
  readonly #templates = new Map<IdKind, Template>();

  /**
   * `cell`: two base32 characters; `secret`: 16 bytes that live in the database, so that a restored one keeps
   * its ids; `earlier`: oldest first.
   */
  constructor(
    readonly cell: string,
    secret: Uint8Array,
    private readonly earlier: readonly EarlierCell[] = [],
  ) {
    this.#keys = speckKeys(secret);
  }

  /** Which cell has given out a key. */
  #cellOf(key: number): string {
    const { earlier } = this;
    return earlier.length === 0
      ? this.cell
      : (earlier.find(({ lastKey }) => key <= lastKey)?.cell ?? this.cell);
  }

  /** True of a cell from a copy of which this one began. */
  hasBeen(cell: string): boolean {
    return this.earlier.some((one) => one.cell === cell);
  }

  encode(kind: IdKind, key: number): string {
    const high = Math.floor(key / 2 ** 32);
    const words: Words = [high | 0, key | 0];
    words[0] |= ID_KINDS.indexOf(kind) << 24;
    speckEncrypt(this.#keys, words);
    const [a, b] = words;
    const { bytes, time } = this.#templateAt(kind, keyTime(key), this.#cellOf(key));
    const hidden = time + TIME_CHARS + CELL_CHARS;
    putDigits(bytes, hidden, a >>> 17, 3);
    putDigits(bytes, hidden + 3, ((a & 0x1ffff) << 3) | (b >>> 29), 4);
    putDigits(bytes, hidden + 7, (b >>> 14) & 0x7fff, 3);
    putDigits(bytes, hidden + 10, ((b & 0x3fff) << 6) | checkOf(words), 4);
    return bytes.toString("latin1");
  }

  #templateAt(kind: IdKind, ms: number, cell: string): Template {
    let template = this.#templates.get(kind);
    if (!template) {
      const bytes = Buffer.from(
        `${kind}_${"0".repeat(TIME_CHARS)}${cell}${"0".repeat(HIDDEN_CHARS)}`,
        "latin1",
      );
      template = { bytes, cell, time: kind.length + 1, ms: 0 };
      this.#templates.set(kind, template);
    }
    if (template.cell !== cell) {
      template.bytes.write(cell, template.time + TIME_CHARS, "latin1");
      template.cell = cell;
    }
    if (template.ms !== ms) {
      const { bytes, time } = template;
      putDigits(bytes, time, Math.floor(ms / 2 ** 20), 6);
      putDigits(bytes, time + 6, ms % 2 ** 20, 4);
      template.ms = ms;
    }
    return template;
  }

  /** The key of an id, or null for what is no id of this kind and cell (letters count in either case). */
  decode(kind: IdKind, id: string): number | null {
    const written = id.slice(kind.length + 1);
    // Before upper case: that of a letter beyond ASCII, as of ſ, may be one of these.
    if (!WRITTEN.test(written) || !id.startsWith(`${kind}_`)) return null;
    const text = written.toUpperCase();
    const hidden = TIME_CHARS + CELL_CHARS;
    const left = readDigits(text.slice(hidden, hidden + 7));
    const right = readDigits(text.slice(hidden + 7));
    if (left < 0 || right < 0) return null;
    const words: Words = [Math.floor(left / 8) | 0, ((left % 8) << 29) | Math.floor(right / 64)];
    if (checkOf(words) !== right % 64) return null;
    speckDecrypt(this.#keys, words);
    return this.#unpack(kind, words, text);
  }

  /** An id of any kind as `encode` spells it; any other text as it is. */
  spelled(text: string): string {
    const kind = ID_KINDS.find((each) => text.startsWith(`${each}_`));
    const key = kind === undefined ? null : this.decode(kind, text);
    return kind === undefined || key === null ? text : this.encode(kind, key);
  }

  #unpack(kind: IdKind, words: Words, text: string): number | null {
    if (words[0] >>> 24 !== ID_KINDS.indexOf(kind)) return null;
    const key = (words[0] & 0xffffff) * 2 ** 32 + (words[1] >>> 0);
    if (key > Number.MAX_SAFE_INTEGER || readDigits(text.slice(0, TIME_CHARS)) !== keyTime(key)) return null;
    return text.slice(TIME_CHARS, TIME_CHARS + CELL_CHARS) === this.#cellOf(key) ? key : null;
  }
}

const KEPT_MAX = 10_000;

/** Public ids of one kind that are asked for again and again: of projects, of endpoints. */
export class PublicIds {
  readonly #kept = new Map<number, string>();

  constructor(
    private readonly codec: IdCodec,
    private readonly kind: IdKind,
  ) {}

  of(key: number): string {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear();
    const id = this.codec.encode(this.kind, key);
    this.#kept.set(key, id);
    return id;
  }
}
