/**
 * Chunked transfer coding (RFC 9112 section 7.1), decoded strictly, byte by byte: a chunk makes no object.
 * It still costs many times its bytes, so that what is no data is bounded. Pure and incremental.
 *
 * | state       | expects next                                                             |
 * |-------------|--------------------------------------------------------------------------|
 * | `size`      | a hexadecimal digit; behind one of them also what ends the size          |
 * | `blank`     | white space, and the semicolon that begins an extension                  |
 * | `extension` | its text, and the CR behind it                                           |
 * | `size_lf`   | the LF that ends the line of the size                                    |
 * | `data`      | the bytes of the chunk                                                   |
 * | `data_cr`   | the CR behind them                                                       |
 * | `data_lf`   | the LF behind that                                                       |
 * | `trailer`   | the first byte of a trailer line, or of the empty line that ends it all  |
 * | `field`     | the text of a trailer line, and the CR behind it                         |
 * | `field_lf`  | the LF that ends the trailer line                                        |
 * | `last_lf`   | the LF of the empty line                                                 |
 * | `done`      | nothing                                                                  |
 * | `cut`       | nothing: the coding was violated or takes too much, or no data is wanted |
 */

type ChunkedState =
  | "size"
  | "blank"
  | "extension"
  | "size_lf"
  | "data"
  | "data_cr"
  | "data_lf"
  | "trailer"
  | "field"
  | "field_lf"
  | "last_lf"
  | "done"
  | "cut";

/** Takes the bytes from `start` to `end`; whether more is wanted. */
type TakeData = (bytes: Buffer, start: number, end: number) => boolean;

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const SEMICOLON = 59;
const DELETE = 127;
/** What may frame a body besides its share of the data: some 800 chunks of a byte. */
export const FRAMING_MAX_BYTES = 4096;
/** For so many bytes of data one more may frame them: those of a chunk of 96 bytes, or of a larger one. */
const DATA_BYTES_PER_FRAMING_BYTE = 16;
/** 4 GiB, far above any bound on a body. */
const SIZE_DIGITS_MAX = 8;

export class ChunkedDecoder {
  state: ChunkedState = "size";
  #sizeDigits = 0;
  #dataBytesLeft = 0;
  #framingBytesLeft: number;

  /**
   * All that is no data, sizes, extensions, line ends and trailers, may take `maxFramingBytes` together,
   * and a sixteenth of the data.
   */
  constructor(maxFramingBytes: number) {
    this.#framingBytesLeft = maxFramingBytes;
  }

  /**
   * Feeds the bytes from `start` on, hands on what they carry, and returns how many were not read, as nothing
   * is expected.
   */
  push(bytes: Buffer, takeData: TakeData, start = 0): number {
    let offset = start;
    while (offset < bytes.length && this.state !== "done" && this.state !== "cut") {
      if (this.state === "data") offset = this.#readData(bytes, offset, takeData);
      else offset = this.#readFraming(bytes, offset);
    }
    return bytes.length - offset;
  }

  /** Reads what is no data, as far as it may; returns where it ends. */
  #readFraming(bytes: Buffer, start: number): number {
    const end = Math.min(bytes.length, start + Math.floor(this.#framingBytesLeft));
    let offset = start;
    let { state } = this;
    if (start === end) state = "cut";
    while (offset < end && state !== "data" && state !== "done" && state !== "cut") {
      if (state === "extension" || state === "field") offset = skipText(bytes, offset, end);
      if (offset < end) state = this.#next(state, bytes[offset++] ?? 0);
    }
    this.state = state;
    this.#framingBytesLeft -= offset - start;
    return offset;
  }

  #readData(bytes: Buffer, offset: number, takeData: TakeData): number {
    const end = Math.min(bytes.length, offset + this.#dataBytesLeft);
    this.#dataBytesLeft -= end - offset;
    this.#framingBytesLeft += (end - offset) / DATA_BYTES_PER_FRAMING_BYTE;
    if (!takeData(bytes, offset, end)) this.state = "cut";
    else if (this.#dataBytesLeft === 0) this.state = "data_cr";
    return end;
  }

  /** The state behind one byte that is no data. */
  #next(state: ChunkedState, byte: number): ChunkedState {
    switch (state) {
      case "size":
        return this.#readSize(byte);
      case "blank":
        if (byte === SEMICOLON) return "extension";
        return byte === SPACE || byte === TAB ? "blank" : "cut";
      case "extension":
        if (byte === CR) return "size_lf";
        return isText(byte) ? "extension" : "cut";
      case "size_lf":
        if (byte !== LF) return "cut";
        return this.#dataBytesLeft === 0 ? "trailer" : "data";
      case "data_cr":
        return byte === CR ? "data_lf" : "cut";
      case "data_lf":
        this.#sizeDigits = 0;
        return byte === LF ? "size" : "cut";
      case "trailer":
        if (byte === CR) return "last_lf";
        return isText(byte) ? "field" : "cut";
      case "field":
        if (byte === CR) return "field_lf";
        return isText(byte) ? "field" : "cut";
      case "field_lf":
        return byte === LF ? "trailer" : "cut";
      case "last_lf":
        return byte === LF ? "done" : "cut";
      default:
        return state;
    }
  }

  #readSize(byte: number): ChunkedState {
    const digit = hexDigit(byte);
    if (digit !== null) {
      this.#dataBytesLeft = this.#dataBytesLeft * 16 + digit;
      return ++this.#sizeDigits > SIZE_DIGITS_MAX ? "cut" : "size";
    }
    if (this.#sizeDigits === 0) return "cut";
    if (byte === CR) return "size_lf";
    if (byte === SEMICOLON) return "extension";
    return byte === SPACE || byte === TAB ? "blank" : "cut";
  }
}

function hexDigit(byte: number): number | null {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : null;
}

/** Where the text ends that begins at `start`. */
function skipText(bytes: Buffer, start: number, end: number): number {
  let offset = start;
  while (offset < end && isText(bytes[offset] ?? 0)) offset++;
  return offset;
}

function isText(byte: number): boolean {
  return byte === TAB || (byte >= SPACE && byte !== DELETE);
}
