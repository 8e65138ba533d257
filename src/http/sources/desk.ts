import type { RefusalReason } from "../../inbound/provider.ts";
import type { Allowance } from "../framework/ratelimit.ts";
import type { SourceStats } from "../../store/source-stats.ts";
import type { Services } from "../framework/services.ts";

/**
 * What is known of each source since the start, in memory only: how many requests came, why some were
 * refused, and how much of its rate is left. Nothing of a refused request is kept.
 */

export interface SourceCounters {
  /** Without the duplicates. */
  accepted: number;
  duplicates: number;
  rejected: ReadonlyMap<RefusalReason, number>;
  lastRejected: { at: number; reason: RefusalReason } | null;
}

interface Book {
  accepted: number;
  duplicates: number;
  rejected: Map<RefusalReason, number>;
  lastRejected: SourceCounters["lastRejected"];
  tokens: number;
  filledAt: number;
  /** Log lines of refusals in the second that ends at `linesEndAt`, and refusals that got none. */
  lines: number;
  linesEndAt: number;
  withheld: number;
}

type DeskParts = Pick<Services, "now" | "log" | "ids" | "onRejected"> & {
  /** For the hourly numbers, which outlive this run. */
  count: SourceStats["count"];
};

const SECOND_MS = 1000;
/** Contract section 8: above that, one line with the count. */
const LINES_A_SECOND = 10;
/** Contract section 1: the burst is two seconds' worth. */
const BURST_SECONDS = 2;
/** The book of all requests to sources that do not exist. */
const NO_SOURCE = 0;

export class SourceDesk {
  readonly #books = new Map<number, Book>();

  constructor(private readonly parts: DeskParts) {}

  counters(sourceId: number): SourceCounters {
    return this.#book(sourceId);
  }

  /** A verified request is on disk as an event, or was seen before. */
  accept(sourceId: number, isDuplicate: boolean): void {
    const book = this.#book(sourceId);
    if (isDuplicate) book.duplicates++;
    else book.accepted++;
    this.parts.count(sourceId, isDuplicate ? "duplicate" : "accepted", this.parts.now());
  }

  /** A handshake or a ping was answered, and made no event. */
  answer(sourceId: number): void {
    this.parts.count(sourceId, "handshake", this.parts.now());
  }

  /** A request was refused; null: its source does not exist. One line of the log, or part of one. */
  refuse(sourceId: number | null, reason: RefusalReason): void {
    const at = this.parts.now();
    this.parts.onRejected(reason);
    const book = this.#book(sourceId ?? NO_SOURCE);
    book.rejected.set(reason, (book.rejected.get(reason) ?? 0) + 1);
    book.lastRejected = { at, reason };
    if (sourceId !== null) this.parts.count(sourceId, reason, at);
    this.#tell(book, sourceId, reason, at);
  }

  /** Takes one request from the source's rate: null where it has none. */
  take(sourceId: number, perSecond: number): Allowance | null {
    if (perSecond === 0) return null;
    const book = this.#book(sourceId);
    const now = this.parts.now();
    const elapsedMs = Math.max(0, now - book.filledAt);
    book.tokens = Math.min(perSecond * BURST_SECONDS, book.tokens + (elapsedMs * perSecond) / SECOND_MS);
    book.filledAt = now;
    const isGranted = book.tokens >= 1;
    if (isGranted) book.tokens -= 1;
    return {
      isGranted,
      remaining: Math.floor(book.tokens),
      resetSeconds: Math.ceil((perSecond * BURST_SECONDS - book.tokens) / perSecond),
      retryAfterSeconds: Math.max(1, Math.ceil((1 - book.tokens) / perSecond)),
    };
  }

  /** The source is deleted. */
  forget(sourceId: number): void {
    this.#books.delete(sourceId);
  }

  #book(sourceId: number): Book {
    const book = this.#books.get(sourceId) ?? newBook();
    this.#books.set(sourceId, book);
    return book;
  }

  #tell(book: Book, sourceId: number | null, reason: RefusalReason, at: number): void {
    if (at >= book.linesEndAt) {
      book.lines = 0;
      book.linesEndAt = at + SECOND_MS;
    }
    if (book.lines++ < LINES_A_SECOND) {
      this.parts.log("warn", "ingest refused", { source_id: this.#idOf(sourceId), reason });
    } else if (book.withheld++ === 0) {
      setTimeout(() => this.#tellWithheld(book, sourceId), book.linesEndAt - at).unref();
    }
  }

  #tellWithheld(book: Book, sourceId: number | null): void {
    const count = book.withheld;
    book.withheld = 0;
    const msg = "ingest refused, more in the same second";
    this.parts.log("warn", msg, { source_id: this.#idOf(sourceId), count });
  }

  #idOf(sourceId: number | null): string | null {
    return sourceId === null ? null : this.parts.ids.encode("src", sourceId);
  }
}

/** Its bucket is full, as long ago as there is. */
function newBook(): Book {
  return {
    accepted: 0,
    duplicates: 0,
    rejected: new Map(),
    lastRejected: null,
    tokens: 0,
    filledAt: 0,
    lines: 0,
    linesEndAt: 0,
    withheld: 0,
  };
}
