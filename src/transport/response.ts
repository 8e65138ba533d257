/**
 * The incremental parser of one HTTP/1.1 answer (RFC 9112). Pure: bytes in, verdicts out, no socket,
 * no clock.
 *
 * | state    | true in it                                        | leaves when                            |
 * |----------|---------------------------------------------------|----------------------------------------|
 * | `head`   | no final head yet; informational ones are skipped | a final head is complete, or is wrong  |
 * | `body`   | the head has decided; its body is being read      | the body ends, breaks off, is too long |
 * | `done`   | `response()` is the answer                        | –                                      |
 * | `failed` | `failure` says why there is no answer             | –                                      |
 */
import { ChunkedDecoder, FRAMING_MAX_BYTES } from "./chunked.ts";
import {
  EMPTY_LINE_CHARS,
  findEmptyLine,
  findHeadEnd,
  framingFor,
  type Head,
  HEAD_MAX_BYTES,
  type HeadFailure,
  headersOf,
  type Headers,
  INFORMATIONAL_HEADS_MAX,
  isInformational,
  PREFIX_CHARS,
  readHead,
} from "./head.ts";

export interface ParsedResponse {
  readonly kind: "response";
  readonly status: number;
  readonly headers: Headers;
  /** The first `maxKeepBytes` of the body, as sent: nothing is decompressed. */
  readonly body: Uint8Array;
  /** The body was longer than what is kept, or broke off. */
  readonly truncated: boolean;
}

export interface ResponseLimits {
  /** The request's method: an answer to HEAD has no body. */
  readonly method: string;
  /** At most this much of the body is read; there it is cut. */
  readonly maxReadBytes: number;
  /** At most this much of the body is kept. */
  readonly maxKeepBytes: number;
}

export type ResponseState = "head" | "body" | "done" | "failed";
const NOTHING_KEPT = Buffer.alloc(0);
const UNBOUNDED = Number.POSITIVE_INFINITY;

export class ResponseParser {
  state: ResponseState = "head";
  failure: HeadFailure = "invalid_response";
  /** Whether the connection is in a known state after this answer, so that another request may use it. */
  isReusable = false;
  /** Whether any byte has come. */
  hasStarted = false;

  readonly #limits: ResponseLimits;
  /**
   * What has come of the head that is read, as Latin-1. It grows as a rope: joined once, when the head
   * is whole.
   */
  #headText = "";
  /** The end of it, where the empty line may have begun. */
  #headTail = "";
  #headBytesLeft = HEAD_MAX_BYTES;
  #informationalLeft = INFORMATIONAL_HEADS_MAX;
  #head: Head | null = null;
  #chunked: ChunkedDecoder | null = null;
  #bodyBytesLeft = 0;
  #readBytes = 0;
  #keptBytes = 0;
  /** The beginning of it, `#keptBytes` long, is what is kept. */
  #kept = NOTHING_KEPT;
  #isTruncated = false;

  constructor(limits: ResponseLimits) {
    this.#limits = limits;
  }

  /** Takes the next bytes of the connection. Bytes behind a complete answer make it not reusable. */
  push(bytes: Buffer): void {
    this.hasStarted = true;
    if (this.state === "head") this.#readHeads(bytes);
    else if (this.state === "body") this.#readBody(bytes, 0);
    else this.isReusable = false;
  }

  /**
   * The connection has ended: in order (`isClean`), a body that runs until then is complete, any other
   * broken off.
   */
  end(isClean: boolean): void {
    this.isReusable = false;
    if (this.state !== "body") return;
    this.#isTruncated ||= !isClean || this.#chunked !== null || this.#bodyBytesLeft !== UNBOUNDED;
    this.state = "done";
  }

  /** The answer, once the state is `done`. */
  response(): ParsedResponse {
    if (this.#head === null) throw new Error("there is no answer before its head is complete");
    const isFull = this.#keptBytes === this.#kept.length;
    const body = isFull ? this.#kept : this.#kept.subarray(0, this.#keptBytes);
    const head = this.#head;
    return {
      kind: "response",
      status: head.status,
      body,
      truncated: this.#isTruncated,
      // Read when somebody asks: here is the turn in which very many answers may come.
      get headers() {
        return headersOf(head);
      },
    };
  }

  /**
   * Eight informational heads are skipped, and all heads together may take 16 KiB, so that endless ones
   * end. The bytes become text once, however many heads there are in them.
   */
  #readHeads(bytes: Buffer): void {
    const textBytes = Math.min(bytes.length, this.#headBytesLeft - this.#headText.length);
    let text = bytes.toString("latin1", 0, textBytes);
    for (;;) {
      const known = this.#headText.length;
      const end = known === 0 ? findHeadEnd(text, this.#headBytesLeft) : this.#findEndBehind(text);
      if (end === "more") {
        this.#headText += text;
        this.#headTail = (this.#headTail + text).slice(-EMPTY_LINE_CHARS);
        return;
      }
      if (typeof end === "string") return this.#fail(end);
      const head = known === 0 ? text.slice(0, end) : (this.#headText + text).slice(0, end);
      if (known > 0) this.#headText = this.#headTail = "";
      this.#headBytesLeft -= end;
      text = text.slice(end - known);
      if (!isInformational(head)) return this.#decide(head, bytes, textBytes - text.length);
      if (--this.#informationalLeft < 0) return this.#fail("head_too_large");
    }
  }

  /**
   * As `findHeadEnd`, for a head of which a part has come. However small the parts are, each is looked
   * at once.
   */
  #findEndBehind(text: string): ReturnType<typeof findHeadEnd> {
    const known = this.#headText.length;
    if (known < PREFIX_CHARS) return findHeadEnd(this.#headText + text, this.#headBytesLeft);
    const length = findEmptyLine(this.#headTail + text);
    if (length !== null) return known - this.#headTail.length + length;
    return known + text.length < this.#headBytesLeft ? "more" : "head_too_large";
  }

  /** Reads the final head. `start`: where in the bytes its body begins. */
  #decide(text: string, bytes: Buffer, start: number): void {
    const head = readHead(text);
    if (typeof head === "string") return this.#fail(head);
    if (head.status < 200) return this.#fail("invalid_response");
    const framing = framingFor(this.#limits.method, head);
    if (framing === null) return this.#fail("invalid_response");
    this.#head = head;
    this.isReusable = framing.isReusable;
    const framingBytes = Math.min(this.#limits.maxReadBytes, FRAMING_MAX_BYTES);
    this.#chunked = framing.kind === "chunked" ? new ChunkedDecoder(framingBytes) : null;
    this.#bodyBytesLeft = framing.kind === "length" ? framing.bytes : UNBOUNDED;
    this.state = "body";
    this.#readBody(bytes, start);
  }

  /** The bytes from `start` on: a view of them would cost more than a small body does. */
  #readBody(bytes: Buffer, start: number): void {
    if (this.#chunked !== null) return this.#readChunked(this.#chunked, bytes, start);
    const end = Math.min(bytes.length, start + this.#bodyBytesLeft);
    this.#bodyBytesLeft -= end - start;
    this.#take(bytes, start, end);
    if (this.#bodyBytesLeft === 0) this.#finish(bytes.length - end);
    else if (this.#isMoreThanReadable()) this.#cut();
  }

  /** An announced length that exceeds what is read: nothing is gained by waiting for the next byte. */
  #isMoreThanReadable(): boolean {
    return this.#bodyBytesLeft !== UNBOUNDED && this.#readBytes === this.#limits.maxReadBytes;
  }

  /**
   * A body that is not chunked as announced, or that takes more bytes to be chunked than it may, counts as
   * broken off: the head has decided.
   */
  #readChunked(decoder: ChunkedDecoder, bytes: Buffer, start: number): void {
    const unread = decoder.push(bytes, (data, from, to) => this.#take(data, from, to), start);
    if (decoder.state === "done") this.#finish(unread);
    if (decoder.state === "cut") this.#cut();
  }

  /** Reads the bytes from `start` to `end`; false where they are more than what is read. */
  #take(data: Buffer, start: number, end: number): boolean {
    const length = end - start;
    const readable = Math.min(length, this.#limits.maxReadBytes - this.#readBytes);
    const keepable = Math.min(readable, this.#limits.maxKeepBytes - this.#keptBytes);
    if (keepable > 0) this.#keep(data, start, start + keepable);
    this.#readBytes += readable;
    if (keepable < length) this.#isTruncated = true;
    if (readable < length) this.#cut();
    return readable === length;
  }

  /** In one buffer that doubles, up to what is kept: a piece costs its bytes and no object of its own. */
  #keep(data: Buffer, start: number, end: number): void {
    const length = this.#keptBytes + end - start;
    if (length > this.#kept.length) {
      const size = Math.min(Math.max(length, 2 * this.#kept.length), this.#limits.maxKeepBytes);
      const larger = Buffer.alloc(size);
      this.#kept.copy(larger);
      this.#kept = larger;
    }
    data.copy(this.#kept, this.#keptBytes, start, end);
    this.#keptBytes = length;
  }

  #finish(unexpectedBytes: number): void {
    if (unexpectedBytes > 0) this.isReusable = false;
    this.state = "done";
  }

  /** Ends the answer inside its body. */
  #cut(): void {
    this.isReusable = false;
    this.#isTruncated = true;
    this.state = "done";
  }

  #fail(failure: HeadFailure): void {
    this.isReusable = false;
    this.failure = failure;
    this.state = "failed";
  }
}
