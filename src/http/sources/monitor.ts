import type { RefusalReason } from "../../inbound/provider.ts";
import { TokenBucket } from "../../core/structures/token-bucket.ts";
import { type Allowance, takeFrom } from "../framework/ratelimit.ts";
import type { SourceStats } from "../../store/counts/source-stats.ts";
import type { Needs } from "../framework/services.ts";

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

interface Observed {
  accepted: number;
  duplicates: number;
  rejected: Map<RefusalReason, number>;
  lastRejected: SourceCounters["lastRejected"];
  rate: TokenBucket;
  /**
   * Log lines of refusals in the second that ends at `linesEndAt`, by the monotonic clock, and refusals that
   * got none.
   */
  lines: number;
  linesEndAt: number;
  withheld: number;
}

type MonitorParts = Needs<"ids" | "wallNow" | "monotonic" | "onRejected" | "log"> & {
  /** For the hourly numbers, which outlive this run. */
  count: SourceStats["count"];
  /** False where the source is deleted: a request that came before that may be on its way still. */
  isThere: (sourceId: number) => boolean;
};

const SECOND_MS = 1000;
/** Above that, one line with the count. */
const LINES_A_SECOND = 10;
/** The burst is two seconds' worth. */
const BURST_SECONDS = 2;
/** What is observed of all requests to sources that do not exist. */
const NO_SOURCE = 0;

export class SourceMonitor {
  readonly #observed = new Map<number, Observed>();

  constructor(private readonly parts: MonitorParts) {}

  counters(sourceId: number): SourceCounters {
    return this.#of(sourceId);
  }

  /** A verified request is on disk as an event, or was seen before. */
  accept(sourceId: number, isDuplicate: boolean): void {
    const observed = this.#of(sourceId);
    if (isDuplicate) observed.duplicates++;
    else observed.accepted++;
    this.parts.count(sourceId, isDuplicate ? "duplicate" : "accepted", this.parts.wallNow());
  }

  /** A handshake or a ping was answered, and made no event. */
  answer(sourceId: number): void {
    this.parts.count(sourceId, "handshake", this.parts.wallNow());
  }

  /** A request was refused; null: its source does not exist. One line of the log, or part of one. */
  refuse(sourceId: number | null, reason: RefusalReason): void {
    const at = this.parts.wallNow();
    this.parts.onRejected(reason);
    const observed = this.#of(sourceId !== null && this.parts.isThere(sourceId) ? sourceId : NO_SOURCE);
    observed.rejected.set(reason, (observed.rejected.get(reason) ?? 0) + 1);
    observed.lastRejected = { at, reason };
    if (sourceId !== null) this.parts.count(sourceId, reason, at);
    this.#tell(observed, sourceId, reason);
  }

  /** Takes one request from the source's rate: null where it has none. */
  take(sourceId: number, perSecond: number): Allowance | null {
    if (perSecond === 0) return null;
    const { rate } = this.#of(sourceId);
    return takeFrom(rate, {
      perSecond,
      burst: perSecond * BURST_SECONDS,
      cost: 1,
      now: this.parts.wallNow(),
    });
  }

  /** The source is deleted. */
  forget(sourceId: number): void {
    this.#observed.delete(sourceId);
  }

  /** Of a deleted source nothing is kept. */
  #of(sourceId: number): Observed {
    const observed = this.#observed.get(sourceId) ?? newObserved();
    if (sourceId === NO_SOURCE || this.parts.isThere(sourceId)) this.#observed.set(sourceId, observed);
    return observed;
  }

  #tell(observed: Observed, sourceId: number | null, reason: RefusalReason): void {
    const at = this.parts.monotonic();
    if (at >= observed.linesEndAt) {
      observed.lines = 0;
      observed.linesEndAt = at + SECOND_MS;
    }
    if (observed.lines++ < LINES_A_SECOND) {
      this.parts.log("warn", "ingest refused", { source_id: this.#idOf(sourceId), reason });
    } else if (observed.withheld++ === 0) {
      setTimeout(() => this.#tellWithheld(observed, sourceId), observed.linesEndAt - at).unref();
    }
  }

  #tellWithheld(observed: Observed, sourceId: number | null): void {
    const count = observed.withheld;
    observed.withheld = 0;
    const msg = "ingest refused, more in the same second";
    this.parts.log("warn", msg, { source_id: this.#idOf(sourceId), count });
  }

  #idOf(sourceId: number | null): string | null {
    return sourceId === null ? null : this.parts.ids.encode("src", sourceId);
  }
}

/** Nothing observed yet. The bucket counts from instant 0, and so is full. */
function newObserved(): Observed {
  return {
    accepted: 0,
    duplicates: 0,
    rejected: new Map(),
    lastRejected: null,
    rate: new TokenBucket(0, 0),
    lines: 0,
    linesEndAt: 0,
    withheld: 0,
  };
}
