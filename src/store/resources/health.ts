import type { endpointHealth } from "../log-schema.ts";
import { HEALTHY, type Health } from "../../core/model.ts";
import type { Store } from "../store.ts";

type HealthRow = typeof endpointHealth.$inferSelect;

/** An endpoint, and its first failure since its latest success. */
export interface Failing {
  id: number;
  failingSince: number;
}

/**
 * How endpoints in trouble have been answering, so that a restart forgets no `retry-after` and no backoff.
 */
export class EndpointHealth {
  readonly #get;
  readonly #put;
  readonly #drop;
  readonly #failing;

  constructor({ sqlite }: Store) {
    this.#get = sqlite.prepare<HealthRow, [number]>("SELECT * FROM endpoint_health WHERE endpoint_id = ?");
    this.#put = sqlite.prepare<void, [number, number, number, number, number, number, number | null]>(
      "INSERT OR REPLACE INTO endpoint_health VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    // In two halves, as SQLite seeks no pair of values where one is the row's key.
    this.#failing = sqlite.prepare<Failing, [number, number, number, number]>(
      `SELECT endpoint_id AS id, failing_since AS failingSince FROM endpoint_health
       WHERE failing_since = ?2 AND endpoint_id > ?3
       UNION ALL
       SELECT endpoint_id, failing_since FROM endpoint_health WHERE failing_since > ?2 AND failing_since <= ?1
       ORDER BY failingSince, id LIMIT ?4`,
    );
    this.#drop = sqlite.prepare<void, [number]>("DELETE FROM endpoint_health WHERE endpoint_id = ?");
  }

  /**
   * Endpoints that have failed since `until` or longer without one success, the longest first: so many of
   * those behind `after`.
   */
  failing(until: number, after: Failing | null, count: number): Failing[] {
    return this.#failing.all(until, after?.failingSince ?? -1, after?.id ?? 0, count);
  }

  get(endpointId: number): Health {
    const row = this.#get.get(endpointId);
    if (!row) return HEALTHY;
    return {
      failuresInRow: row.failures_in_row,
      backoffLevel: row.backoff_level,
      backoffUntil: row.backoff_until,
      slowLevel: row.slow_level,
      slowUntil: row.slow_until,
      failingSince: row.failing_since,
    };
  }

  /** Inside a write. */
  set(endpointId: number, health: Health): void {
    if (health === HEALTHY) {
      this.#drop.run(endpointId);
      return;
    }
    const { failuresInRow, backoffLevel, backoffUntil, slowLevel, slowUntil, failingSince } = health;
    this.#put.run(endpointId, failuresInRow, backoffLevel, backoffUntil, slowLevel, slowUntil, failingSince);
  }
}
