import { RecentMap } from "./recent-map.ts";

/**
 * Waiters, by names from the outermost to their own: waiters of one name are in a line, and the lines take
 * turns.
 */
export class Lines {
  readonly #lines = new Map<string, Lines>();
  /** Names of #lines, first the one whose turn it is: to pass on a turn costs the same however many wait. */
  protected readonly order: string[] = [];
  readonly #first: (() => void)[] = [];

  get isEmpty(): boolean {
    return this.#first.length === 0 && this.#lines.size === 0;
  }

  push([name, ...inner]: readonly string[], resume: () => void): void {
    if (name === undefined) {
      this.#first.push(resume);
      return;
    }
    let line = this.#lines.get(name);
    if (!line) {
      this.#lines.set(name, (line = new Lines()));
      this.order.push(name);
    }
    line.push(inner, resume);
  }

  shift(): (() => void) | undefined {
    const name = this.order.shift();
    if (name === undefined) return this.#first.shift();
    const line = this.#lines.get(name);
    const first = line?.shift();
    if (line?.isEmpty ?? true) this.#lines.delete(name);
    else this.order.push(name);
    return first;
  }
}

/**
 * What an account pays, in milliseconds, of what its last pieces took, each time that it is passed over. A
 * shorter piece is free.
 */
const PAYMENT_MS = 0.25;
/** A collection of garbage in the middle of a piece is not to be paid for whole. */
const OWED_MS_MAX = 50;
const DEBTORS_MAX = 1000;
/** Accounts that are passed over at one time: it shall cost the same however many there are. */
const PASSED_MAX = 100;

/** Whose turn it is among accounts that take turns by the time that their pieces take. */
export class Debts<Account extends string | number | null> {
  /** What accounts have had above one piece that is free, in milliseconds, and not paid for yet. */
  readonly #owed = new RecentMap<Account, number>(DEBTORS_MAX);

  owes(account: Account): boolean {
    return this.#owed.has(account);
  }

  charge(account: Account, ms: number): void {
    if (ms <= PAYMENT_MS) return;
    this.#owed.set(account, Math.min((this.#owed.get(account) ?? 0) + ms, OWED_MS_MAX));
  }

  /** Passes over those of `order` that owe, who pay by that; false where nobody is left. */
  passDebtors(order: Account[]): boolean {
    for (let left = Math.min(order.length, PASSED_MAX); left > 0; left--) {
      const first = order[0] as Account;
      if (!this.owes(first)) return true;
      this.#pay(first, PAYMENT_MS);
      order.shift();
      order.push(first);
    }
    return false;
  }

  /** Brings somebody to the front: where all owe, the one that owes least, which each of them is let off. */
  bringNext(order: Account[]): void {
    if (this.passDebtors(order)) return;
    const debtors = order.slice(0, PASSED_MAX);
    const least = Math.min(...debtors.map((account) => this.#owed.get(account) ?? 0));
    for (const account of debtors) this.#pay(account, least);
    this.passDebtors(order);
  }

  #pay(account: Account, ms: number): void {
    const left = (this.#owed.get(account) ?? 0) - ms;
    if (left > 0) this.#owed.set(account, left);
    else this.#owed.delete(account);
  }
}

/** Waiters of accounts, which take turns by the time that their pieces take. */
export class TimedLines extends Lines {
  readonly #debts = new Debts<string>();

  owes(account: string): boolean {
    return this.#debts.owes(account);
  }

  charge(account: string, ms: number): void {
    this.#debts.charge(account, ms);
  }

  /** As of `Debts`. */
  passDebtors(): boolean {
    return this.#debts.passDebtors(this.order);
  }

  /** As of `Debts`. */
  bringNext(): void {
    this.#debts.bringNext(this.order);
  }
}
