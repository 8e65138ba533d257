import { Line } from "../core/structures/line.ts";

/** Held from the moment in which a socket is open until its handshake is through, or the socket closed. */
export interface Berth {
  /** May be called again. */
  giveBack(): void;
}

/** Whoever waits for a berth. */
export interface BerthSeeker {
  readonly account: string;
  onBerth(berth: Berth): void;
}

/** The last of all are for accounts that have none, one for each. */
const LAST = 1 / 32;

/**
 * Berths for TLS handshakes: what a server sends in one is memory that nobody sees until it is through. The
 * accounts share them as they do the slots of attempts (`Slots`): each has less than is free, alone half of
 * all, two a third each. Those that find none wait, and the accounts take turns.
 */
export class Handshakes {
  #taken = 0;
  readonly #takenBy = new Map<string, number>();
  readonly #lines = new Map<string, Line<BerthSeeker>>();

  constructor(private readonly max: number) {}

  /** A berth for the account; null where it has its part. */
  take(account: string): Berth | null {
    if (!this.#isFree(account)) return null;
    this.#count(account, 1);
    let isHeld = true;
    const giveBack = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#count(account, -1);
      this.#feed();
    };
    return { giveBack };
  }

  /** Hears of a berth later, unless it leaves before. */
  wait(seeker: BerthSeeker): void {
    const line = this.#lines.get(seeker.account) ?? new Line();
    line.add(seeker);
    this.#lines.set(seeker.account, line);
  }

  leave(seeker: BerthSeeker): void {
    const line = this.#lines.get(seeker.account);
    line?.delete(seeker);
    if (line?.isEmpty) this.#lines.delete(seeker.account);
  }

  #isFree(account: string): boolean {
    const free = this.max - this.#taken;
    const own = this.#takenBy.get(account) ?? 0;
    return own === 0 ? free > 0 : free > this.max * LAST && own < free;
  }

  #count(account: string, more: 1 | -1): void {
    this.#taken += more;
    const own = (this.#takenBy.get(account) ?? 0) + more;
    if (own === 0) this.#takenBy.delete(account);
    else this.#takenBy.set(account, own);
  }

  /** Gives what is free to those that wait, an account after the other. */
  #feed(): void {
    for (const [account, line] of this.#lines) {
      if (this.#taken >= this.max) return;
      const berth = this.take(account);
      if (berth === null) continue;
      // The next turn is another account's; where that has its part, the walk comes to this one again.
      const seeker = line.shift();
      this.#lines.delete(account);
      if (!line.isEmpty) this.#lines.set(account, line);
      seeker?.onBerth(berth);
    }
  }
}
