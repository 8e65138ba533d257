import { limit } from "../../core/limits.ts";

/**
 * The requests that begin in one turn of the event loop. Of a connection Bun begins all that it has read, one
 * after the other, for as long as each is answered within the turn: 5 MB of them in a pipeline were one turn.
 * Above `requestsPerTurnMax` a request begins in the next turn, and Bun closes its connection, unanswered,
 * where another one comes behind it; whoever sends one at a time is answered a turn later.
 */
export class Arrivals {
  #begun = 0;
  #nextTurn: PromiseWithResolvers<void> | null = null;

  /** `schedule` runs what it gets when the loop comes round. */
  constructor(private readonly schedule: (next: () => void) => void = setImmediate) {}

  /** Null where a request may begin at once; else what resolves in the turn in which it may. */
  begin(): Promise<void> | null {
    if (this.#begun === 0) this.schedule(() => this.#endTurn());
    this.#begun++;
    if (this.#begun <= limit("requestsPerTurnMax")) return null;
    this.#nextTurn ??= Promise.withResolvers();
    return this.#nextTurn.promise;
  }

  #endTurn(): void {
    this.#begun = 0;
    this.#nextTurn?.resolve();
    this.#nextTurn = null;
  }
}
