import type { endpointHealth } from "../log-schema.ts";
import { HEALTHY, type Health } from "../../core/model.ts";
import type { Store } from "../store.ts";

type HealthRow = typeof endpointHealth.$inferSelect;

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
    this.#failing = sqlite.prepare<{ id: number; failingSince: number }, []>(
      "SELECT endpoint_id AS id, failing_since AS failingSince FROM endpoint_health WHERE failing_since IS NOT NULL",
    );
    this.#drop = sqlite.prepare<void, [number]>("DELETE FROM endpoint_health WHERE endpoint_id = ?");
  }

  /** Endpoints that have failed and not succeeded since, each with its first failure. */
  failing(): { id: number; failingSince: number }[] {
    return this.#failing.all();
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
