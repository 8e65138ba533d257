/**
 * Chunked transfer coding (RFC 9112 section 7.1), decoded strictly. Pure and incremental.
 *
 * | state     | expects next                                     |
 * |-----------|--------------------------------------------------|
 * | `size`    | a line: hexadecimal size, perhaps an extension   |
 * | `data`    | the bytes of the chunk                           |
 * | `end`     | the empty line behind the bytes                  |
 * | `trailer` | trailer lines, and an empty one that ends it all |
 * | `done`    | nothing                                          |
 * | `broken`  | nothing: the coding was violated                 |
 */

type ChunkedState = "size" | "data" | "end" | "trailer" | "done" | "broken";

/** Size lines and trailers carry nothing that is kept; a longer line than this is hostile. */
const LINE_MAX_BYTES = 1024;
const TRAILERS_MAX = 64;
/** At most eight hexadecimal digits: 4 GiB, far above any bound on a body. */
const SIZE_LINE = /^([0-9a-fA-F]{1,8})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/;

export class ChunkedDecoder {
  state: ChunkedState = "size";
  #line = "";
  #dataBytesLeft = 0;
  #trailers = 0;

  /** Feeds bytes, hands on what they carry, and returns how many lie behind the end of the body. */
  push(bytes: Buffer, onData: (data: Buffer) => void): number {
    let offset = 0;
    while (offset < bytes.length && this.state !== "done" && this.state !== "broken") {
      offset = this.state === "data" ? this.#readData(bytes, offset, onData) : this.#readLine(bytes, offset);
    }
    return bytes.length - offset;
  }

  #readData(bytes: Buffer, offset: number, onData: (data: Buffer) => void): number {
    const data = bytes.subarray(offset, offset + this.#dataBytesLeft);
    this.#dataBytesLeft -= data.length;
    if (this.#dataBytesLeft === 0) this.state = "end";
    onData(data);
    return offset + data.length;
  }

  #readLine(bytes: Buffer, offset: number): number {
    const lineEnd = bytes.indexOf("\n", offset);
    const end = lineEnd === -1 ? bytes.length : lineEnd + 1;
    this.#line += bytes.toString("latin1", offset, Math.min(end, offset + LINE_MAX_BYTES + 1));
    if (this.#line.length > LINE_MAX_BYTES) this.state = "broken";
    else if (lineEnd !== -1) this.#takeLine();
    return end;
  }

  #takeLine(): void {
    const line = this.#line;
    this.#line = "";
    if (!line.endsWith("\r\n")) this.state = "broken";
    else if (this.state === "size") this.#startChunk(line.slice(0, -2));
    else if (this.state === "end") this.state = line === "\r\n" ? "size" : "broken";
    else if (line === "\r\n") this.state = "done";
    else if (++this.#trailers > TRAILERS_MAX) this.state = "broken";
  }

  #startChunk(line: string): void {
    const size = SIZE_LINE.exec(line);
    this.#dataBytesLeft = Number.parseInt(size?.[1] ?? "", 16);
    if (size === null) this.state = "broken";
    else this.state = this.#dataBytesLeft === 0 ? "trailer" : "data";
  }
}
