import { limit } from "../../core/limits.ts";
import type { BodyInFlight } from "./bodies-in-flight.ts";
import type { Bytes } from "./request-body.ts";
import { type AnswerPieces, StreamedAnswer } from "./streamed.ts";

const encoder = new TextEncoder();
const PIECE_BYTES = 64 * 1024;
/** What a character of a text weighs at most, where its length is counted as JavaScript does. */
const CHARACTER_BYTES_MAX = 3;

/** Whether an answer is more than what the kernel takes of it at once. */
function isLarge(content: string | Bytes): boolean {
  const max = limit("smallAnswerBytesMax");
  if (typeof content !== "string" || content.length > max) return content.length > max;
  return content.length * CHARACTER_BYTES_MAX > max && Buffer.byteLength(content) > max;
}

/** The room of one answer, which it takes once it is large. */
export class AnswerRoom {
  #room: BodyInFlight | null = null;
  #bytes = 0;
  #stream: StreamedAnswer | null = null;

  constructor(private readonly begin: () => BodyInFlight) {}

  /** The answer has so many bytes by now. Throws 503 where room is short and this answer has to go. */
  reach(bytes: number): void {
    if (this.#room === null) {
      if (bytes <= limit("smallAnswerBytesMax")) return;
      this.#room = this.begin();
      this.#room.whenRefused(({ detail }) => this.#stream?.cut(detail));
    }
    const more = bytes - this.#bytes;
    this.#bytes = bytes;
    this.#room.take(more);
  }

  /** Sends the answer, which keeps its room until it is sent or cut. */
  send(bytes: Bytes, whenOver: () => void): ReadableStream<Bytes> {
    this.#stream = new StreamedAnswer(new Slices(bytes, () => this.end()), whenOver);
    return this.#stream.body;
  }

  /** Sends what is made piece by piece: its room is that of the pieces which it holds. */
  stream(pieces: AnswerPieces, whenOver: () => void): ReadableStream<Bytes> {
    this.#stream = new StreamedAnswer(new CountedPieces(pieces, this), whenOver);
    return this.#stream.body;
  }

  /** Gives the room back: the answer is sent or cut, or is not sent at all. */
  end(): void {
    this.#room?.end();
  }
}

/** The bytes of an answer that is sent piece by piece; null where it is small, and goes out as it is. */
export function largeBytesOf(content: unknown): Bytes | null {
  if (typeof content === "string") return isLarge(content) ? (encoder.encode(content) as Bytes) : null;
  return content instanceof Uint8Array && isLarge(content as Bytes) ? (content as Bytes) : null;
}

/**
 * Two pieces are held: one is on its way to the reader, and one waits behind it. Counted is the most that two
 * of them had together, as the next ones will be like them.
 */
class CountedPieces implements AnswerPieces {
  readonly patience: AnswerPieces["patience"];
  #before = 0;
  #most = 0;
  #isOver = false;

  constructor(
    private readonly pieces: AnswerPieces,
    private readonly room: AnswerRoom,
  ) {
    this.patience = pieces.patience;
  }

  async next(): Promise<Bytes | null> {
    const piece = await this.pieces.next();
    // Its reader may have left meanwhile: room that is taken now would never be given back.
    if (piece === null || this.#isOver) return null;
    this.#most = Math.max(this.#most, this.#before + piece.length);
    this.#before = piece.length;
    this.room.reach(this.#most);
    return piece;
  }

  end(): void {
    this.#isOver = true;
    this.pieces.end();
    this.room.end();
  }
}

class Slices implements AnswerPieces {
  readonly patience = { ms: limit("answerSendMs"), of: "all" } as const;
  #at = 0;

  constructor(
    private bytes: Bytes | null,
    private readonly whenOver: () => void,
  ) {}

  next(): Bytes | null {
    const at = this.#at;
    if (this.bytes === null || at >= this.bytes.length) return null;
    this.#at += PIECE_BYTES;
    return this.bytes.subarray(at, this.#at);
  }

  end(): void {
    // Whatever holds the stream for longer holds no bytes.
    this.bytes = null;
    this.whenOver();
  }
}
