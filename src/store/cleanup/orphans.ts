import { firstKeyAt, keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { type Index, type Label, LABELS } from "../index/index.ts";
import type { Stats } from "../counts/stats.ts";
import type { Store } from "../store.ts";
import { ATTEMPT_BYTES, pagesOf, type Removal } from "./removal.ts";

/**
 * A part of a walk over all rows of a table: how many were removed, and where it goes on; null at the end.
 */
export interface Walked {
  rows: number;
  next: number | null;
}

/** When what is kept of a project begins, in Unix milliseconds. */
export type KeptSince = (projectId: number) => number;

interface OwnerRow {
  id: number;
  project_id: number;
  status: string;
  updated_at: number;
}

/** `names`: 1 where a head of the attempt is a row of the table `head`. */
interface NamingRow {
  id: number;
  names: number;
}

const HOUR_MS = 3_600_000;
/** Heads are used for a day after they were written (heads.ts); one more, as clocks are set. */
const HEAD_AGE_MS = 48 * HOUR_MS;

export interface OrphansParts {
  index: Index;
  stats: Stats;
  removal: Removal;
}

/** What nothing leads to any more once events have left. Each method removes a slice, inside a write. */
export class Orphans {
  readonly #statements;

  constructor(
    private readonly store: Store,
    private readonly parts: OrphansParts,
  ) {
    this.#statements = prepare(store.sqlite);
  }

  /**
   * Heads that no attempt names, as all that name one are younger. What is left of attempts with keys below
   * `before` may stay for ever: each takes its heads into its own row first, which leave with it.
   */
  heads(after: number, before: number): Walked {
    const first = this.#statements.firstHead.get()?.id ?? null;
    if (first === null) return { rows: 0, next: null };
    // An attempt that names a head is as old as that, but for a day.
    const from = after || firstKeyAt(keyTime(first) - HEAD_AGE_MS);
    const attempts = this.#statements.attemptsAbove.all(from, limit("sliceRows"));
    const old = attempts.filter(({ id }) => id < before);
    if (old.length > 0) return { rows: 0, next: this.#holdHeads(old) };
    const at = attempts[0] === undefined ? this.store.now() : keyTime(attempts[0].id);
    const rows = this.#statements.dropHeads.run(firstKeyAt(at - HEAD_AGE_MS), limit("sliceRows")).changes;
    return { rows, next: rows === 0 ? null : from };
  }

  /**
   * As many attempts as one write should rewrite; answers the last. Where their rows were is overwritten, as
   * a later erasure could not reach it.
   */
  #holdHeads(attempts: readonly NamingRow[]): number {
    const naming = attempts.filter(({ names }) => names === 1);
    const held = () => {
      let cost = 0;
      for (const { id } of naming) {
        cost += 1 + pagesOf(this.#statements.holdHeads.get(id)?.bytes ?? 0);
        if (cost >= limit("sliceRows")) return id;
      }
      return null;
    };
    const stopped = naming.length === 0 ? null : this.parts.removal.securely(held);
    return stopped ?? attempts.at(-1)?.id ?? 0;
  }

  /** Bulk replays that have ended. */
  replays(after: number, keptSince: KeptSince): Walked {
    const rows = this.#statements.replaysAbove.all(after, limit("sliceRows"));
    const gone = rows.filter(
      ({ id, project_id: projectId, status }) =>
        status !== "running" && id < firstKeyAt(keptSince(projectId)),
    );
    for (const { id } of gone) this.#statements.dropReplay.run(id);
    return { rows: gone.length, next: rows.at(-1)?.id ?? null };
  }

  /** Finished erasures, which are kept as long as the audit log. */
  erasures(): Walked {
    const before = firstKeyAt(this.store.now() - limit("auditKeptMs"));
    const rows = this.#statements.dropErasures.run(before, limit("sliceRows")).changes;
    return { rows, next: rows === 0 ? null : 0 };
  }

  /** Hourly numbers of projects that are too old. */
  projects(after: number, keptSince: KeptSince): Walked {
    const rows = this.#statements.projectsAbove.all(after, limit("sliceRows"));
    let removed = 0;
    for (const { id } of rows) {
      const before = Math.floor(keptSince(id) / HOUR_MS);
      removed += this.parts.index.hours.dropOfProject(id, before, limit("sliceRows"));
      if (removed >= limit("sliceRows")) return { rows: removed, next: id - 1 };
    }
    return { rows: removed, next: rows.at(-1)?.id ?? null };
  }

  /**
   * Hourly numbers that are too old, those of deleted endpoints, and deleted endpoints that nothing names
   * any more.
   */
  endpoints(after: number, keptSince: KeptSince): Walked {
    const rows = this.#statements.endpointsAbove.all(after, limit("sliceRows"));
    let removed = 0;
    for (const row of rows) {
      const since = keptSince(row.project_id);
      removed += this.#dropHours(row, since);
      if (removed >= limit("sliceRows")) return { rows: removed, next: row.id - 1 };
      if (!this.#isForgotten(row, since)) continue;
      this.dropEndpoint(row.id);
      removed++;
    }
    return { rows: removed, next: rows.at(-1)?.id ?? null };
  }

  /**
   * A slice; of an endpoint that was deleted an hour ago all of them, as nothing is under way to it any more.
   */
  #dropHours({ id, project_id: projectId, status, updated_at: at }: OwnerRow, since: number): number {
    if (status === "deleted" && at < this.store.now() - HOUR_MS)
      return this.parts.stats.takeAway(id, projectId);
    return this.parts.index.hours.dropOfEndpoint(id, Math.floor(since / HOUR_MS), limit("sliceRows"));
  }

  dropEndpoint(id: number): void {
    this.#statements.dropHealth.run(id);
    this.#statements.dropEndpoint.run(id);
  }

  /** Hourly numbers that are too old, and deleted sources that no event names any more. */
  sources(after: number, keptSince: KeptSince): Walked {
    const rows = this.#statements.sourcesAbove.all(after, limit("sliceRows"));
    let removed = 0;
    for (const row of rows) {
      const since = keptSince(row.project_id);
      removed += this.dropSourceStats(row.id, since);
      if (removed >= limit("sliceRows")) return { rows: removed, next: row.id - 1 };
      if (!this.#isForgotten(row, since)) continue;
      // Of its last hour, which is not too old as a whole.
      removed += 1 + this.dropSourceStats(row.id, Number.MAX_SAFE_INTEGER);
      this.dropSource(row.id);
    }
    return { rows: removed, next: rows.at(-1)?.id ?? null };
  }

  /** A slice of a source's hourly numbers from before `since`. */
  dropSourceStats(sourceId: number, since: number): number {
    const before = Math.floor(since / HOUR_MS);
    return this.#statements.dropSourceStats.run(sourceId, before, limit("sliceRows")).changes;
  }

  dropSource(id: number): void {
    this.#statements.dropSourceLast.run(id);
    this.#statements.dropSource.run(id);
  }

  /** A slice of what a source remembers of deliveries that came. */
  dropDedup(sourceId: number): number {
    return this.#statements.dropDedup.run(sourceId, limit("sliceRows")).changes;
  }

  /** Names of types and consumers that no event has any more. */
  names(after: number): Walked {
    const rows = this.#statements.labelsAbove.all(after, limit("sliceRows"));
    const gone = rows.filter(({ id, kind }) => kind !== LABELS.deliveries && this.parts.index.isEmpty(id));
    for (const label of gone) this.parts.index.labels.drop(label);
    return { rows: gone.length, next: rows.at(-1)?.id ?? null };
  }

  #isForgotten({ id, status, updated_at: at }: OwnerRow, since: number): boolean {
    return status === "deleted" && at < since && this.parts.index.isEmpty(id);
  }
}

type HeadColumn = "request_head" | "response_head";

/** SQL: an attempt names a head by its key, or has its text itself. */
const isKey = (column: HeadColumn) => `typeof(${column}) = 'integer'`;
const textOf = (column: HeadColumn) =>
  `iif(${isKey(column)}, ifnull((SELECT text FROM head WHERE head.id = ${column}), ''), ${column})`;

function prepare(sqlite: Store["sqlite"]) {
  return {
    firstHead: sqlite.prepare<{ id: number | null }, []>("SELECT min(id) AS id FROM head"),
    attemptsAbove: sqlite.prepare<NamingRow, [number, number]>(
      `SELECT id, ${isKey("request_head")} OR ${isKey("response_head")} AS names FROM attempt WHERE id > ? ORDER BY id LIMIT ?`,
    ),
    holdHeads: sqlite.prepare<{ bytes: number }, [number]>(
      `UPDATE attempt SET request_head = ${textOf("request_head")}, response_head = ${textOf("response_head")}
       WHERE id = ? RETURNING ${ATTEMPT_BYTES} AS bytes`,
    ),
    dropHeads: sqlite.prepare<void, [number, number]>(
      "DELETE FROM head WHERE id IN (SELECT id FROM head WHERE id < ? ORDER BY id LIMIT ?)",
    ),
    dropErasures: sqlite.prepare<void, [number, number]>(
      `DELETE FROM erasure WHERE id IN
       (SELECT id FROM erasure WHERE id < ? AND status = 'completed' ORDER BY id LIMIT ?)`,
    ),
    replaysAbove: sqlite.prepare<Omit<OwnerRow, "updated_at">, [number, number]>(
      "SELECT id, project_id, status FROM replay WHERE id > ? ORDER BY id LIMIT ?",
    ),
    dropReplay: sqlite.prepare<void, [number]>("DELETE FROM replay WHERE id = ?"),
    projectsAbove: sqlite.prepare<{ id: number }, [number, number]>(
      "SELECT id FROM project WHERE id > ? ORDER BY id LIMIT ?",
    ),
    endpointsAbove: sqlite.prepare<OwnerRow, [number, number]>(
      "SELECT id, project_id, status, updated_at FROM endpoint WHERE id > ? ORDER BY id LIMIT ?",
    ),
    sourcesAbove: sqlite.prepare<OwnerRow, [number, number]>(
      "SELECT id, project_id, status, updated_at FROM source WHERE id > ? ORDER BY id LIMIT ?",
    ),
    dropSourceStats: sqlite.prepare<void, [number, number, number]>(
      `DELETE FROM source_stat WHERE source_id = ?1 AND (hour, outcome) IN
       (SELECT hour, outcome FROM source_stat WHERE source_id = ?1 AND hour < ?2 ORDER BY hour LIMIT ?3)`,
    ),
    dropSourceLast: sqlite.prepare<void, [number]>("DELETE FROM source_last WHERE source_id = ?"),
    dropHealth: sqlite.prepare<void, [number]>("DELETE FROM endpoint_health WHERE endpoint_id = ?"),
    dropEndpoint: sqlite.prepare<void, [number]>("DELETE FROM endpoint WHERE id = ?"),
    dropSource: sqlite.prepare<void, [number]>("DELETE FROM source WHERE id = ?"),
    dropDedup: sqlite.prepare<void, [number, number]>(
      `DELETE FROM dedup WHERE source_id = ?1 AND hash IN (SELECT hash FROM dedup WHERE source_id = ?1 LIMIT ?2)`,
    ),
    labelsAbove: sqlite.prepare<Label, [number, number]>(
      "SELECT id, project_id AS projectId, kind, name FROM label WHERE id > ? ORDER BY id LIMIT ?",
    ),
  };
}
