/**
 * Whose turn it is among members of accounts that have something to do: the accounts take turns, and in them
 * their members, so that an account has no more turns than another, however many members it has.
 */
export class Rota {
  readonly #accountOf = new Map<number, number>();
  /** The members of each, in the order of their turns; first the account whose turn it is. */
  readonly #accounts = new Map<number, number[]>();

  get isEmpty(): boolean {
    return this.#accounts.size === 0;
  }

  /** Behind the others of its account; one that is there keeps its place. */
  add(accountId: number, member: number): void {
    if (this.#accountOf.has(member)) return;
    this.#accountOf.set(member, accountId);
    const members = this.#accounts.get(accountId);
    if (members) members.push(member);
    else this.#accounts.set(accountId, [member]);
  }

  /**
   * All in the order of their turns: the first of each account, then their second ones. Nobody may have had a
   * turn meanwhile.
   */
  *members(): Generator<number> {
    for (let at = 0, isAny = true; isAny; at++) {
      isAny = false;
      for (const members of this.#accounts.values()) {
        const member = members[at];
        if (member === undefined) continue;
        isAny = true;
        yield member;
      }
    }
  }

  /** It has had its turn: the next one is another account's, and in its account another's. */
  pass(member: number, goesOn: boolean): void {
    const accountId = this.#accountOf.get(member);
    const members = accountId === undefined ? undefined : this.#accounts.get(accountId);
    if (accountId === undefined || members === undefined) return;
    members.splice(members.indexOf(member), 1);
    if (goesOn) members.push(member);
    else this.#accountOf.delete(member);
    this.#accounts.delete(accountId);
    if (members.length > 0) this.#accounts.set(accountId, members);
  }
}
