import { limit } from "../../core/limits.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { BatchPart, Store } from "../store.ts";

const HOUR_MS = 3_600_000;
const HOURS_A_DAY = 24;

/** Outcomes of requests that are on disk as an event. */
const TAKEN = ["accepted", "duplicate"];
/**
 * Of those that were answered at the door: handshakes and pings. Every other outcome is the reason of
 * a refusal.
 */
const ANSWERED = ["handshake"];

/** Requests to one source in one hour that came to the same. */
interface HourCount {
  sourceId: number;
  hour: number;
  outcome: string;
  count: number;
  lastAt: number;
}

type Counted = Pick<HourCount, "hour" | "outcome" | "count">;

/** From one time to another, cut to whole hours. */
interface Span {
  since: number;
  until: number;
}

/** By outcome. */
export type OutcomeCounts = ReadonlyMap<string, number>;

export interface SourceNumbers {
  /** Oldest first; those at which nothing came are left out. */
  points: { at: number; counts: OutcomeCounts }[];
  total: OutcomeCounts;
}

/** When the last request of each kind came, as far as is still known. */
export interface SourceLast {
  takenAt: number | null;
  answeredAt: number | null;
  refused: { at: number; outcome: string } | null;
}

/**
 * What came of the requests to each source, by the hour. The door only counts in memory; what was counted is
 * written down a little later, and until then read from memory. A crash loses the counts of those seconds,
 * and no event.
 */
export class SourceStats implements BatchPart {
  /** Counted and not written down yet: by source, then by hour and outcome. */
  readonly #counted = new Map<number, Map<string, HourCount>>();
  /** What the running transaction writes down. */
  #open: { counted: HourCount; count: number }[] = [];
  readonly #statements;

  constructor(private readonly store: Store) {
    this.#statements = prepare(store.sqlite);
    store.addBatchPart(this);
  }

  count(sourceId: number, outcome: string, at: number): void {
    let ofSource = this.#counted.get(sourceId);
    if (!ofSource) this.#counted.set(sourceId, (ofSource = new Map()));
    const hour = Math.floor(at / HOUR_MS);
    const key = keyOf(hour, outcome);
    const counted = ofSource.get(key);
    if (counted) {
      counted.count++;
      counted.lastAt = at;
    } else ofSource.set(key, { sourceId, hour, outcome, count: 1, lastAt: at });
  }

  /** Numbers of these hours, or of whole days of UTC. */
  async read(sourceId: number, by: "hour" | "day", span: Span, turns: Turns): Promise<SourceNumbers> {
    const points = new Map<number, Map<string, number>>();
    const total = new Map<string, number>();
    await this.#walk(sourceId, span, turns, ({ hour, outcome, count }) => {
      const at = by === "hour" ? hour : hour - (hour % HOURS_A_DAY);
      const counts = points.get(at) ?? new Map<string, number>();
      points.set(at, counts);
      addTo(counts, outcome, count);
      addTo(total, outcome, count);
    });
    const inOrder = [...points].sort(([a], [b]) => a - b);
    return { points: inOrder.map(([hour, counts]) => ({ at: hour * HOUR_MS, counts })), total };
  }

  async total(sourceId: number, span: Span, turns: Turns): Promise<OutcomeCounts> {
    const total = new Map<string, number>();
    await this.#walk(sourceId, span, turns, ({ outcome, count }) => addTo(total, outcome, count));
    return total;
  }

  /**
   * A day's hours a piece, each read at one moment, so that nothing is counted twice on its way from memory
   * to the table.
   */
  async #walk(
    sourceId: number,
    { since, until }: Span,
    turns: Turns,
    work: (counted: Counted) => void,
  ): Promise<void> {
    const end = Math.ceil(until / HOUR_MS);
    for (let from = Math.floor(since / HOUR_MS); from < end; from += HOURS_A_DAY) {
      await turns.giveWay();
      const to = Math.min(from + HOURS_A_DAY, end);
      const recent = this.#recentOf(sourceId).filter(({ hour }) => hour >= from && hour < to);
      for (const counted of [...this.#statements.read.all(sourceId, from, to), ...recent]) work(counted);
    }
  }

  last(sourceId: number): SourceLast {
    const all = [...this.#statements.last.all(sourceId), ...this.#recentOf(sourceId)];
    const refused = newest(all.filter(isRefusal));
    return {
      takenAt: newest(all.filter(({ outcome }) => TAKEN.includes(outcome)))?.lastAt ?? null,
      answeredAt: newest(all.filter(({ outcome }) => ANSWERED.includes(outcome)))?.lastAt ?? null,
      refused: refused && { at: refused.lastAt, outcome: refused.outcome },
    };
  }

  /** Writes down what was counted, a slice a transaction. Answers how many rows. */
  async writeDown(): Promise<number> {
    if (!this.store.writable) return 0;
    const all = [...this.#counted.values()].flatMap((ofSource) => [...ofSource.values()]);
    for (let at = 0; at < all.length; at += limit("sliceRows"))
      await this.store.write(() => this.#write(all.slice(at, at + limit("sliceRows"))));
    return all.length;
  }

  flush(): void {}

  /** What is in the table now is not counted from memory too; what came meanwhile stays. */
  done(): void {
    for (const { counted, count } of this.#open.splice(0)) {
      counted.count -= count;
      const ofSource = this.#counted.get(counted.sourceId);
      if (counted.count === 0) ofSource?.delete(keyOf(counted.hour, counted.outcome));
      if (ofSource?.size === 0) this.#counted.delete(counted.sourceId);
    }
  }

  reset(): void {
    this.#open = [];
  }

  #write(counts: readonly HourCount[]): void {
    for (const counted of counts) {
      const { sourceId, hour, outcome, count, lastAt } = counted;
      this.#statements.add.run(sourceId, hour, outcome, count);
      this.#statements.setLast.run(sourceId, outcome, lastAt);
      this.#open.push({ counted, count });
    }
  }

  #recentOf(sourceId: number): HourCount[] {
    return [...(this.#counted.get(sourceId)?.values() ?? [])];
  }
}

function addTo(sums: Map<string, number>, outcome: string, count: number): void {
  sums.set(outcome, (sums.get(outcome) ?? 0) + count);
}

function keyOf(hour: number, outcome: string): string {
  return `${hour} ${outcome}`;
}

function isRefusal({ outcome }: Pick<HourCount, "outcome">): boolean {
  return !TAKEN.includes(outcome) && !ANSWERED.includes(outcome);
}

function newest<Row extends { lastAt: number }>(rows: readonly Row[]): Row | null {
  return rows.reduce<Row | null>((last, row) => (last && last.lastAt >= row.lastAt ? last : row), null);
}

type LastRow = Pick<HourCount, "outcome" | "lastAt">;

const EXISTS = "EXISTS (SELECT 1 FROM source WHERE id = ?1)";

function prepare(sqlite: Store["sqlite"]) {
  return {
    // An erased source leaves nothing behind.
    add: sqlite.prepare<void, [number, number, string, number]>(
      `INSERT INTO source_stat SELECT ?1, ?2, ?3, ?4 WHERE ${EXISTS}
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    ),
    setLast: sqlite.prepare<void, [number, string, number]>(
      `INSERT INTO source_last SELECT ?1, ?2, ?3 WHERE ${EXISTS}
       ON CONFLICT DO UPDATE SET at = max(at, excluded.at)`,
    ),
    read: sqlite.prepare<Counted, [number, number, number]>(
      "SELECT hour, outcome, count FROM source_stat WHERE source_id = ? AND hour >= ? AND hour < ?",
    ),
    last: sqlite.prepare<LastRow, [number]>(
      "SELECT outcome, at AS lastAt FROM source_last WHERE source_id = ?",
    ),
  };
}
