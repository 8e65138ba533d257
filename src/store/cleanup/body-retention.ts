import { bound } from "../bound.ts";
import { deliveriesOf, isAttemptOf } from "../log/children.ts";
import { ATTEMPT_BYTES, pagesOf } from "./removal.ts";
import type { Store } from "../store.ts";

/** What may leave earlier than its event: what was sent and answered, or the attempts whole. */
export type KeptPart = "bodies" | "attempts";

/** What of an event's deliveries one write takes. */
export interface ThinSlice {
  /** Those with keys above this one. */
  after: number;
  /** Those that have ended until then, and none that is open. */
  endedBy: number;
  /** Rows and pages. */
  room: number;
}

/** How far a part of one event went. */
export interface Thinned {
  /** Rows that changed, and pages of bodies: what it cost. */
  cost: number;
  /** The delivery to go on after; null: the part is gone. */
  next: number | null;
}

/**
 * Takes the bodies or the attempts of events that stay. A body leaves by overwriting it in its place: an
 * event without one has empty `data`, which no event ever came with.
 */
export class BodyRetention {
  readonly #statements;

  constructor({ sqlite }: Store) {
    this.#statements = prepare(sqlite);
  }

  /** True where the event has this part. */
  has(part: KeptPart, eventId: number): boolean {
    const { hasBody, hasAttempts } = this.#statements;
    return (part === "bodies" ? hasBody : hasAttempts).get(eventId)?.found === 1;
  }

  /**
   * Inside a write: a slice of the part, of deliveries behind `after` that have ended until `endedBy`. Then
   * the event's own body is to be cleared, which says that all of them are gone.
   */
  drop(part: KeptPart, eventId: number, { after, endedBy, room }: ThinSlice): Thinned {
    const { next, clearAttempts, dropAttempts, weight } = this.#statements;
    const change = part === "bodies" ? clearAttempts : dropAttempts;
    let cost = 0;
    let last = after;
    for (const { id } of next.all(eventId, after, room, endedBy)) {
      if (cost >= room) return { cost, next: last };
      cost += 1 + pagesOf(weight.get(id)?.bytes ?? 0) + change.run(id).changes;
      last = id;
    }
    return { cost, next: cost >= room ? last : null };
  }

  /** Inside a write: the event's own body. Answers what it cost. */
  clear(eventId: number): number {
    const { hasBody, clearEvent } = this.#statements;
    const bytes = hasBody.get(eventId)?.bytes ?? 0;
    clearEvent.run(eventId);
    return 1 + pagesOf(bytes);
  }
}

const ENDED = `status NOT IN (0, 1) AND ifnull(completed_at, 0) <= ${bound(4)}`;

function prepare(sqlite: Store["sqlite"]) {
  return {
    hasBody: sqlite.prepare<{ found: number; bytes: number }, [number]>(
      "SELECT octet_length(data) > 0 AS found, octet_length(data) AS bytes FROM event WHERE id = ?",
    ),
    hasAttempts: sqlite.prepare<{ found: number }, [number]>(
      `SELECT 1 AS found FROM (${deliveriesOf(bound(1), "id, first_attempt")}) d JOIN attempt ON ${isAttemptOf("d.id", "d.first_attempt")} LIMIT 1`,
    ),
    next: sqlite.prepare<{ id: number }, [number, number, number, number]>(
      `${deliveriesOf(bound(1), "id", { above: bound(2), where: ENDED })} ORDER BY id LIMIT ${bound(3)}`,
    ),
    weight: sqlite.prepare<{ bytes: number }, [number]>(
      `SELECT total(${ATTEMPT_BYTES}) AS bytes FROM attempt WHERE ${isAttemptOf(bound(1))}`,
    ),
    clearEvent: sqlite.prepare<void, [number]>("UPDATE event SET data = '' WHERE id = ?"),
    clearAttempts: sqlite.prepare<void, [number]>(
      `UPDATE attempt SET request_body = NULL, response_body = NULL
       WHERE ${isAttemptOf(bound(1))} AND (request_body IS NOT NULL OR response_body IS NOT NULL)`,
    ),
    dropAttempts: sqlite.prepare<void, [number]>(`DELETE FROM attempt WHERE ${isAttemptOf(bound(1))}`),
  };
}
