import { bound } from "../bound.ts";
import type { Index } from "../index/index.ts";
import { deliveriesOf } from "../log/children.ts";
import type { Store } from "../store.ts";

/** What decides whether an old event may leave. */
export interface EventAge {
  /** False: only its list entry is left. */
  exists: boolean;
  /** Deliveries that were read to know. */
  deliveries: number;
  /** Deliveries that are open, or still to be made. */
  open: number;
  /** When the last of its deliveries came to its end; null where it has none. */
  endedAt: number | null;
}

interface AgeRow {
  found: number;
  deliveries: number;
  open: number;
  ended: number | null;
}

/** Finds old events: a project's list holds them by their key, which is their time. */
export class Ages {
  readonly #age;

  constructor(
    { sqlite }: Store,
    private readonly index: Index,
  ) {
    this.#age = sqlite.prepare<AgeRow, [number]>(
      `SELECT EXISTS (SELECT 1 FROM event WHERE id = ?1) AS found, count(*) AS deliveries,
         count(*) FILTER (WHERE status IN (0, 1)) + EXISTS (SELECT 1 FROM fanout WHERE event_id = ?1) AS open, max(completed_at) AS ended
       FROM (${deliveriesOf(bound(1), "status, completed_at")})`,
    );
  }

  /** Keys of a project's events above `after` and below `before`, oldest first. */
  oldest(projectId: number, after: number, before: number, count: number): number[] {
    return this.index.above([projectId], after, count).filter((key) => key < before);
  }

  of(eventId: number): EventAge {
    const { found = 0, deliveries = 0, open = 0, ended = null } = this.#age.get(eventId) ?? {};
    return { exists: found === 1, deliveries, open, endedAt: ended };
  }
}
