import { Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";

const RETRY_SECONDS = 5;

/** A request that has no permit yet; `start` gives it one. */
interface Waiter {
  start(): void;
}

interface Member {
  begun: number;
  /** In the order in which they came. */
  readonly waiting: Set<Waiter>;
}

interface Account {
  begun: number;
  /** Callers that have begun something or wait; the one whose turn is next comes first. */
  readonly members: Map<string, Member>;
}

/**
 * Permits of long works: requests that look through history or large bodies. Turns of the loop alone would
 * begin all that a caller asks for and end none, each with its events in memory. So a few of each caller,
 * and some of its account, are begun, and the others stand in a line before they have read anything; the
 * callers of an account take turns at its permits.
 */
export class LongWorks {
  readonly #accounts = new Map<string, Account>();

  /**
   * What ends the work, to be called once: now where there is a permit, else once there is one. Rejects with
   * `signal`'s reason where the caller leaves the line. Throws 429 where the line is full.
   */
  begin(account: string, member: string, signal: AbortSignal): (() => void) | Promise<() => void> {
    const all = this.#accounts.get(account) ?? { begun: 0, members: new Map<string, Member>() };
    const own = all.members.get(member) ?? { begun: 0, waiting: new Set<Waiter>() };
    const hasPermit = hasRoom(all, own);
    if (!hasPermit && own.waiting.size >= limit("longWorksWaitingMax")) throw lineIsFull();
    this.#accounts.set(account, all);
    all.members.set(member, own);
    const start = () => {
      all.begun++;
      own.begun++;
      return () => {
        all.begun--;
        own.begun--;
        startNext(all);
        this.#tidy(account, member);
      };
    };
    if (hasPermit) return start();
    return new Promise((resolve, reject) => {
      const leave = () => {
        own.waiting.delete(waiter);
        this.#tidy(account, member);
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        start() {
          signal.removeEventListener("abort", leave);
          resolve(start());
        },
      };
      own.waiting.add(waiter);
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
    });
  }

  #tidy(account: string, member: string): void {
    const all = this.#accounts.get(account);
    const own = all?.members.get(member);
    if (own?.begun === 0 && own.waiting.size === 0) all?.members.delete(member);
    if (all?.members.size === 0) this.#accounts.delete(account);
  }
}

function hasRoom(all: Account, own: Member): boolean {
  return all.begun < limit("longWorksOfAccountMax") && own.begun < limit("longWorksAtOnceMax");
}

/** The first that waits of the first caller who may begin one; that caller is then the last. */
function startNext(all: Account): void {
  for (const [name, own] of all.members) {
    const [first] = own.waiting;
    if (first === undefined || !hasRoom(all, own)) continue;
    own.waiting.delete(first);
    all.members.delete(name);
    all.members.set(name, own);
    first.start();
    return;
  }
}

function lineIsFull(): Problem {
  const detail = `${limit("longWorksWaitingMax")} long requests of this caller wait already. Ask again once some are answered.`;
  return new Problem("rate_limited", detail, { headers: { "retry-after": String(RETRY_SECONDS) } });
}
