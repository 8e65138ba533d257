/** Accounts with a name in the metrics at one time. */
export const NAMED_ACCOUNTS_MAX = 10;
/** Accounts that a period keeps a count of: more than enough to find each that has a hundredth of all. */
const CANDIDATES_MAX = 256;
/** The least share of a period's attempts for which an account without a name gets one. */
const SHARE_MIN = 0.01;

/** What came of attempts: what a poller fetches is neither. */
export type Result = "delivered" | "failed";

type Counts = Record<Result, number>;

/**
 * Counts attempts by account for Prometheus, under the names of a few accounts and of all others together,
 * however many there are. An attempt counts under the name that its account has at that time, so that no
 * count ever goes down. An account that loses its name and gets one again begins at zero.
 */
export class AccountAttempts {
  readonly #named = new Map<number, Counts>();
  readonly #others: Counts = { delivered: 0, failed: 0 };
  /** Of this period, each at most as high as the true one. */
  readonly #recent = new Map<number, number>();
  #total = 0;

  /** While there are names left, an account gets one with its first attempt. */
  count(accountId: number, result: Result): void {
    this.#note(accountId);
    let counts = this.#named.get(accountId);
    if (counts === undefined && this.#named.size < NAMED_ACCOUNTS_MAX)
      this.#named.set(accountId, (counts = { delivered: 0, failed: 0 }));
    (counts ?? this.#others)[result]++;
  }

  /**
   * Ends a period. An account without a name takes that of the quietest account, where it made more than
   * twice as many attempts: names that change often would make ever new series.
   */
  endPeriod(): void {
    const recentOf = (id: number) => this.#recent.get(id) ?? 0;
    const named = [...this.#named.keys()].toSorted((a, b) => recentOf(a) - recentOf(b));
    const busy = [...this.#recent.keys()]
      .filter((id) => !this.#named.has(id) && recentOf(id) >= SHARE_MIN * this.#total)
      .toSorted((a, b) => recentOf(b) - recentOf(a));
    for (const [at, id] of busy.entries()) {
      const quietest = named[at];
      if (quietest === undefined || recentOf(id) <= 2 * recentOf(quietest)) break;
      this.#named.delete(quietest);
      this.#named.set(id, { delivered: 0, failed: 0 });
    }
    this.#recent.clear();
    this.#total = 0;
  }

  /** Of each account with a name, and under null of all others. */
  read(): [accountId: number | null, counts: Readonly<Counts>][] {
    return [...this.#named, [null, this.#others]];
  }

  /** Source: J. Misra and D. Gries, "Finding repeated elements", 1982. */
  #note(accountId: number): void {
    this.#total++;
    const recent = this.#recent.get(accountId);
    if (recent !== undefined) this.#recent.set(accountId, recent + 1);
    else if (this.#recent.size < CANDIDATES_MAX) this.#recent.set(accountId, 1);
    else this.#lowerAll();
  }

  #lowerAll(): void {
    for (const [id, count] of this.#recent) {
      if (count > 1) this.#recent.set(id, count - 1);
      else this.#recent.delete(id);
    }
  }
}
