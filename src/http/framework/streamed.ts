import type { Bytes } from "./request-body.ts";

/** An answer that goes out piece by piece, so that no more of it is in memory than its reader takes. */
export interface AnswerPieces {
  /** The next one, asked for once the reader has taken the one before; null at the end. */
  next(): Bytes | null | Promise<Bytes | null>;
  /** How long it may take: each piece of it, or all of it, so that a byte now and then gains nothing. */
  readonly patience: { ms: number; of: "each piece" | "all" };
  /** However it ends, once. */
  end(): void;
}

export function isAnswerPieces(content: unknown): content is AnswerPieces {
  return typeof content === "object" && content !== null && "patience" in content;
}

/** What sends pieces: it ends complete, or by an error that its reader sees. */
export class StreamedAnswer {
  readonly body: ReadableStream<Bytes>;
  #controller: ReadableStreamDefaultController<Bytes> | null = null;
  #deadline: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(
    private readonly pieces: AnswerPieces,
    private readonly whenOver: () => void,
  ) {
    this.body = new ReadableStream<Bytes>({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#pull(),
      cancel: () => void this.#end(),
    });
    if (pieces.patience.of === "all") this.#beginWait();
  }

  /** Cuts its reader off. */
  cut(reason: string): void {
    if (!this.#end()) return;
    this.#controller?.error(new Error(reason));
  }

  /** False where it is over already. */
  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.pieces.end();
    this.whenOver();
    return true;
  }

  async #pull(): Promise<void> {
    const isPieceWise = this.pieces.patience.of === "each piece";
    if (isPieceWise) clearTimeout(this.#deadline);
    let piece: Bytes | null;
    try {
      piece = await this.pieces.next();
    } catch (error) {
      this.#end();
      throw error;
    }
    if (this.#isOver) return;
    // The answer ends once its last piece is taken, not when it is given: until then its reader is watched.
    if (piece === null) {
      this.#end();
      this.#controller?.close();
      return;
    }
    this.#controller?.enqueue(piece);
    if (isPieceWise) this.#beginWait();
  }

  #beginWait(): void {
    const late = () => this.cut("the reader takes nothing, or too little");
    this.#deadline = setTimeout(late, this.pieces.patience.ms);
  }
}
