/**
 * Polls that wait, over all endpoints: each holds a connection that others need, so their number is bounded.
 * Where all permits are taken, the account that has the most gives up its oldest for one that has at least
 * two fewer, and that poll is answered at once: no account keeps another from polling, and two that have as
 * many do not take permits from each other.
 */
export class HeldPolls {
  readonly #ofAccount = new Map<number, Set<AbortController>>();
  #count = 0;

  constructor(private readonly max: number) {}

  /** A permit to wait, until `leave`; its signal says that it is given up. Null where there is none. */
  take(accountId: number): AbortController | null {
    if (this.#count >= this.max && !this.#giveUp(accountId)) return null;
    const permit = new AbortController();
    const own = this.#ofAccount.get(accountId) ?? new Set();
    this.#ofAccount.set(accountId, own.add(permit));
    this.#count++;
    return permit;
  }

  leave(accountId: number, permit: AbortController): void {
    const own = this.#ofAccount.get(accountId);
    if (!own?.delete(permit)) return;
    this.#count--;
    if (own.size === 0) this.#ofAccount.delete(accountId);
  }

  #giveUp(accountId: number): boolean {
    let [most, held] = [0, new Set<AbortController>()];
    for (const [id, permits] of this.#ofAccount) if (permits.size > held.size) [most, held] = [id, permits];
    const [oldest] = held;
    const own = this.#ofAccount.get(accountId)?.size ?? 0;
    if (oldest === undefined || held.size <= own + 1) return false;
    this.leave(most, oldest);
    oldest.abort();
    return true;
  }
}
