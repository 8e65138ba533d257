import type { BatchPart, Store } from "./store.ts";

const DAY_MS = 86_400_000;

/** Metered deliveries by account, project and UTC day: written once a transaction, in the transaction of the first attempts. */
export class Usage implements BatchPart {
  #open = new Map<string, { accountId: number; projectId: number; day: number; count: number }>();
  readonly #add;
  readonly #days;
  readonly #total;

  constructor(private readonly store: Store) {
    this.#add = store.sqlite.prepare<void, [number, number, number, number]>(
      `INSERT INTO usage (account_id, project_id, day, deliveries) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET deliveries = deliveries + excluded.deliveries`,
    );
    this.#days = store.sqlite.prepare<{ day: number; deliveries: number }, [number, number, number]>(
      "SELECT day, sum(deliveries) AS deliveries FROM usage WHERE account_id = ? AND day >= ? AND day < ? GROUP BY day ORDER BY day",
    );
    this.#total = store.sqlite.prepare<{ sum: number }, [number, number, number]>(
      "SELECT coalesce(sum(deliveries), 0) AS sum FROM usage WHERE account_id = ? AND day >= ? AND day < ?",
    );
    store.addBatchPart(this);
  }

  /** Inside a write: one delivery was tried for the first time. */
  add(accountId: number, projectId: number): void {
    const day = Math.floor(this.store.now() / DAY_MS);
    const key = `${projectId} ${day}`;
    const sum = this.#open.get(key);
    if (sum) sum.count++;
    else this.#open.set(key, { accountId, projectId, day, count: 1 });
  }

  /** Deliveries by day since 1970 (UTC), `from` included, `to` not. */
  days(accountId: number, from: number, to: number): { day: number; deliveries: number }[] {
    return this.#days.all(accountId, from, to);
  }

  /** Deliveries of an account from one instant to another; both begin a day in UTC. */
  total(accountId: number, from: number, to: number): number {
    return this.#total.get(accountId, from / DAY_MS, to / DAY_MS)?.sum ?? 0;
  }

  flush(): void {
    for (const { accountId, projectId, day, count } of this.#open.values())
      this.#add.run(accountId, projectId, day, count);
  }

  done(): void {
    if (this.#open.size > 0) this.#open.clear();
  }

  reset(): void {
    this.#open.clear();
  }
}
