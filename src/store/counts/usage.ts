import type { BatchPart, Store } from "../store.ts";

const DAY_MS = 86_400_000;

interface Sum {
  accountId: number;
  projectId: number;
  day: number;
  count: number;
}

/**
 * Metered deliveries by account, project and UTC day: written once a transaction, in the transaction of the
 * first attempts.
 */
export class Usage implements BatchPart {
  /** Of the running transaction, by project. */
  #open = new Map<number, Sum>();
  readonly #add;
  readonly #days;
  readonly #total;

  constructor(store: Store) {
    this.#add = store.sqlite.prepare<void, [number, number, number, number]>(
      `INSERT INTO usage (account_id, project_id, day, deliveries) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET deliveries = deliveries + excluded.deliveries`,
    );
    this.#days = store.sqlite.prepare<
      { day: number; deliveries: number },
      [number, number, number, number | null, number | null]
    >(
      `SELECT day, sum(deliveries) AS deliveries FROM usage
       WHERE account_id = ? AND day >= ? AND day < ? AND (? IS NULL OR project_id = ?) GROUP BY day ORDER BY day`,
    );
    this.#total = store.sqlite.prepare<{ sum: number }, [number, number, number]>(
      "SELECT coalesce(sum(deliveries), 0) AS sum FROM usage WHERE account_id = ? AND day >= ? AND day < ?",
    );
    store.addBatchPart(this);
  }

  /** Inside a write: one delivery was tried for the first time, at this instant. See Meter.count. */
  add(accountId: number, projectId: number, at: number): void {
    const day = Math.floor(at / DAY_MS);
    const sum = this.#open.get(projectId);
    if (sum?.day === day) sum.count++;
    else {
      // Midnight inside a transaction: the day before is written already.
      if (sum) this.#write(sum);
      this.#open.set(projectId, { accountId, projectId, day, count: 1 });
    }
  }

  #write({ accountId, projectId, day, count }: Sum): void {
    this.#add.run(accountId, projectId, day, count);
  }

  /**
   * Deliveries of an account, or of one of its projects, by day since 1970, from one instant to another that
   * begin days in UTC.
   */
  days(
    accountId: number,
    projectId: number | null,
    from: number,
    to: number,
  ): { day: number; deliveries: number }[] {
    return this.#days.all(accountId, from / DAY_MS, to / DAY_MS, projectId, projectId);
  }

  /** Deliveries of an account from one instant to another; both begin a day in UTC. */
  total(accountId: number, from: number, to: number): number {
    return this.#total.get(accountId, from / DAY_MS, to / DAY_MS)?.sum ?? 0;
  }

  flush(): void {
    for (const sum of this.#open.values()) this.#write(sum);
  }

  done(): void {
    if (this.#open.size > 0) this.#open.clear();
  }

  reset(): void {
    this.#open.clear();
  }
}
