import type { Delivery } from "../../core/model.ts";
import { bound } from "../bound.ts";
import type { Meter } from "../counts/meter.ts";
import type { Store } from "../store.ts";
import type { Tenants } from "../resources/tenants.ts";

/** Events whose deliveries wait for the account's plan, in the order in which they came. */
export class WaitingEvents {
  readonly #insert;
  readonly #delete;
  readonly #has;
  readonly #above;
  readonly #toCome;
  readonly #awaiting;

  constructor(
    { sqlite }: Store,
    private readonly tenants: Tenants,
    private readonly meter: Meter,
  ) {
    this.#insert = sqlite.prepare<void, [number, number]>(
      "INSERT OR IGNORE INTO waiting_event (account_id, event_id) VALUES (?, ?)",
    );
    this.#delete = sqlite.prepare<void, [number, number]>(
      "DELETE FROM waiting_event WHERE account_id = ? AND event_id = ?",
    );
    this.#has = sqlite.prepare<{ id: number }, [number, number]>(
      "SELECT event_id AS id FROM waiting_event WHERE account_id = ? AND event_id = ?",
    );
    this.#toCome = sqlite.prepare<{ projectId: number; count: number }, [number]>(
      `SELECT project_id AS projectId, total - written AS count
       FROM fanout JOIN event ON event.id = event_id WHERE event_id = ?`,
    );
    this.#awaiting = sqlite.prepare<object, [number]>(
      "SELECT 1 FROM delivery WHERE event_id = ? AND due IS NULL AND status IN (0, 1) LIMIT 1",
    );
    this.#above = sqlite.prepare<{ id: number }, [number, number, number]>(
      `SELECT event_id AS id FROM waiting_event WHERE account_id = ${bound(1)} AND event_id > ${bound(2)} ORDER BY event_id LIMIT ${bound(3)}`,
    );
  }

  /** Inside a write. */
  insert(projectId: number, eventId: number): void {
    const accountId = this.tenants.accountIdOf(projectId);
    this.meter.countWaiting(accountId, this.#insert.run(accountId, eventId).changes);
  }

  /** Inside a write. What a wide fan-out has still to write has its places from now on. */
  delete(accountId: number, eventId: number): void {
    if (this.#delete.run(accountId, eventId).changes === 0) return;
    this.meter.countWaiting(accountId, -1);
    const toCome = this.#toCome.get(eventId);
    if (toCome) this.meter.reserve(toCome.projectId, "taken", toCome.count);
  }

  /** Inside a write: a delivery waits no longer, nor does its event where it was the last that did. */
  leave({ projectId, eventId }: Pick<Delivery, "projectId" | "eventId">): void {
    if (this.#awaiting.get(eventId) === null && this.#toCome.get(eventId) === null)
      this.drop(projectId, eventId);
  }

  /** Inside a write: an event of which nothing waits, or that leaves the log. */
  drop(projectId: number, eventId: number): void {
    if (this.has(projectId, eventId)) this.delete(this.tenants.accountIdOf(projectId), eventId);
  }

  has(projectId: number, eventId: number): boolean {
    if (this.meter.waitingEvents(projectId) === 0) return false;
    return this.#has.get(this.tenants.accountIdOf(projectId), eventId) !== null;
  }

  /** The oldest above a key. */
  above(accountId: number, position: number, count: number): number[] {
    return this.#above.all(accountId, position, count).map(({ id }) => id);
  }
}
