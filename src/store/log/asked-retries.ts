import type { Store } from "../store.ts";

/**
 * Deliveries of which a retry by hand was answered and has no outcome yet: the next start makes what this
 * process does not.
 */
export class AskedRetries {
  readonly #add;
  readonly #end;
  readonly #all;
  readonly #has;

  constructor({ sqlite }: Store) {
    this.#add = sqlite.prepare<void, [number]>("INSERT OR IGNORE INTO asked_retry (delivery_id) VALUES (?)");
    this.#end = sqlite.prepare<void, [number]>("DELETE FROM asked_retry WHERE delivery_id = ?");
    this.#has = sqlite.prepare<object, [number]>("SELECT 1 FROM asked_retry WHERE delivery_id = ?");
    this.#all = sqlite.prepare<{ id: number }, []>("SELECT delivery_id AS id FROM asked_retry");
  }

  /** Inside a write. */
  add(deliveryId: number): void {
    this.#add.run(deliveryId);
  }

  /** Inside a write: it has an outcome, or there is nothing to try any more. */
  end(deliveryId: number): void {
    this.#end.run(deliveryId);
  }

  has(deliveryId: number): boolean {
    return this.#has.get(deliveryId) !== null;
  }

  all(): number[] {
    return this.#all.all().map(({ id }) => id);
  }
}
