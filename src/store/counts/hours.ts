import type { stat } from "../log-schema.ts";
import type { Store } from "../store.ts";

/**
 * Hourly numbers (tables `stat`, of endpoints, and `project_stat`, of all endpoints of a project together).
 * What is added to an endpoint is added to its project in the same transaction, and what leaves an endpoint
 * that was deleted leaves its project: so a project's row is at any moment the sum of its endpoints' rows,
 * for as far back as both are kept.
 */

/** Buckets 7 % wide: a percentile read from them is at most 3.5 % off. */
export function bucketOf(ms: number): number {
  return ms <= 0 ? 0 : Math.round(Math.log(ms) / Math.log(1.07)) + 1;
}

export function bucketMs(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(1.07 ** (bucket - 1));
}

export interface HourNumbers {
  delivered: number;
  failed: number;
  dead: number;
  /** Count by bucket of duration (bucketOf). */
  durations: Map<number, number>;
}

export type Hour = [hour: number, numbers: HourNumbers];

type Row = Pick<typeof stat.$inferSelect, "hour" | "delivered" | "failed" | "dead" | "durations">;

interface EndpointKeys {
  id: number;
  project_id: number;
}

export class Hours {
  readonly #ofEndpoint;
  readonly #ofProject;
  readonly #deleted;

  constructor({ sqlite }: Store) {
    this.#ofEndpoint = prepare(sqlite, "stat", "endpoint_id");
    this.#ofProject = prepare(sqlite, "project_stat", "project_id");
    this.#deleted = sqlite.prepare<EndpointKeys, []>(
      `SELECT id, project_id FROM endpoint
       WHERE status = 'deleted' AND EXISTS (SELECT 1 FROM stat WHERE endpoint_id = endpoint.id)`,
    );
  }

  /** From an hour up to before another, oldest first, at most so many. */
  ofEndpoint(id: number, from: number, to: number, count: number): Hour[] {
    return this.#ofEndpoint.between.all(id, from, to, count).map(toHour);
  }

  /** True where an endpoint has any. */
  isKnown(id: number): boolean {
    return this.#ofEndpoint.oldest.get(id, 1) !== null;
  }

  ofProject(id: number, from: number, to: number, count: number): Hour[] {
    return this.#ofProject.between.all(id, from, to, count).map(toHour);
  }

  /** Endpoints that were deleted, and whose numbers are still in those of their project. */
  deletedEndpoints(): { id: number; projectId: number }[] {
    return this.#deleted.all().map(({ id, project_id: projectId }) => ({ id, projectId }));
  }

  /** Inside a write; to be followed by `addToProject`. */
  addToEndpoint(id: number, hour: number, numbers: HourNumbers): void {
    add(this.#ofEndpoint, id, hour, numbers);
  }

  addToProject(id: number, hour: number, numbers: HourNumbers): void {
    add(this.#ofProject, id, hour, numbers);
  }

  /**
   * Inside a write: up to `count` hours of an endpoint leave, and with them what they are of the project's.
   * Answers how many.
   */
  takeAway(endpointId: number, projectId: number, count: number): number {
    const hours = this.#ofEndpoint.oldest.all(endpointId, count).map(toHour);
    for (const [hour, numbers] of hours) {
      const row = this.#ofProject.get.get(projectId, hour);
      // Retention may have removed the project's already.
      if (row) write(this.#ofProject, projectId, hour, subtractNumbers(toHour(row)[1], numbers));
      this.#ofEndpoint.drop.run(endpointId, hour);
    }
    return hours.length;
  }

  /** Inside a write: up to `count` hours before this one leave. Answers how many. */
  dropOfEndpoint(id: number, before: number, count: number): number {
    return this.#ofEndpoint.dropBefore.run(id, before, count).changes;
  }

  dropOfProject(id: number, before: number, count: number): number {
    return this.#ofProject.dropBefore.run(id, before, count).changes;
  }
}

type Statements = ReturnType<typeof prepare>;

function prepare(sqlite: Store["sqlite"], table: string, owner: string) {
  return {
    get: sqlite.prepare<Row, [number, number]>(`SELECT * FROM ${table} WHERE ${owner} = ? AND hour = ?`),
    between: sqlite.prepare<Row, [number, number, number, number]>(
      `SELECT * FROM ${table} WHERE ${owner} = ? AND hour >= ? AND hour < ? ORDER BY hour LIMIT ?`,
    ),
    oldest: sqlite.prepare<Row, [number, number]>(
      `SELECT * FROM ${table} WHERE ${owner} = ? ORDER BY hour LIMIT ?`,
    ),
    put: sqlite.prepare<void, [number, number, number, number, number, string]>(
      `INSERT OR REPLACE INTO ${table} (${owner}, hour, delivered, failed, dead, durations) VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    drop: sqlite.prepare<void, [number, number]>(`DELETE FROM ${table} WHERE ${owner} = ? AND hour = ?`),
    dropBefore: sqlite.prepare<void, [number, number, number]>(
      `DELETE FROM ${table} WHERE ${owner} = ?1 AND hour IN
       (SELECT hour FROM ${table} WHERE ${owner} = ?1 AND hour < ?2 ORDER BY hour LIMIT ?3)`,
    ),
  };
}

function add(statements: Statements, id: number, hour: number, numbers: HourNumbers): void {
  const row = statements.get.get(id, hour);
  const sum = row ? toHour(row)[1] : emptyNumbers();
  addNumbers(sum, numbers);
  write(statements, id, hour, sum);
}

/** An hour of which nothing is left has no row. */
function write(statements: Statements, id: number, hour: number, numbers: HourNumbers): void {
  const { delivered, failed, dead, durations } = numbers;
  if (isNothing(numbers)) statements.drop.run(id, hour);
  else statements.put.run(id, hour, delivered, failed, dead, JSON.stringify([...durations]));
}

/** Each attempt has a duration. */
export function isNothing({ dead, durations }: HourNumbers): boolean {
  return dead === 0 && durations.size === 0;
}

function toHour({ hour, delivered, failed, dead, durations }: Row): Hour {
  const counts = new Map(JSON.parse(durations) as [number, number][]);
  return [hour, { delivered, failed, dead, durations: counts }];
}

export function emptyNumbers(): HourNumbers {
  return { delivered: 0, failed: 0, dead: 0, durations: new Map() };
}

export function addNumbers(sum: HourNumbers, more: HourNumbers): void {
  sum.delivered += more.delivered;
  sum.failed += more.failed;
  sum.dead += more.dead;
  for (const [bucket, count] of more.durations)
    sum.durations.set(bucket, (sum.durations.get(bucket) ?? 0) + count);
}

/**
 * Never below nothing: of hours that are too old, retention may have removed the one and not yet the other.
 */
export function subtractNumbers(sum: HourNumbers, less: HourNumbers): HourNumbers {
  sum.delivered = Math.max(0, sum.delivered - less.delivered);
  sum.failed = Math.max(0, sum.failed - less.failed);
  sum.dead = Math.max(0, sum.dead - less.dead);
  for (const [bucket, count] of less.durations) {
    const left = (sum.durations.get(bucket) ?? 0) - count;
    if (left > 0) sum.durations.set(bucket, left);
    else sum.durations.delete(bucket);
  }
  return sum;
}
