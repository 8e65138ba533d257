import { limit } from "../../core/limits.ts";

/**
 * The requests that begin in one turn of the event loop. Of a connection Bun begins all that it has read, one
 * after the other, for as long as each is answered within the turn: 5 MB of them in a pipeline were one turn.
 * Above `requestsPerTurnMax` a request begins in a later turn, in its order, and Bun closes its connection,
 * unanswered, where another one comes behind it; whoever sends one at a time is answered some turns later.
 */
export class Arrivals {
  #begun = 0;
  #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** `schedule` runs what it gets when the loop comes round. */
  constructor(private readonly schedule: (next: () => void) => void = setImmediate) {}

  /** Null where a request may begin at once; else what resolves in the turn in which it may. */
  begin(): Promise<void> | null {
    this.#count();
    if (this.#begun <= limit("requestsPerTurnMax") && this.#waiting.length === 0) return null;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #count(): void {
    this.#begun++;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.schedule(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#isScheduled = false;
    this.#begun = 0;
    for (const resolve of this.#waiting.splice(0, limit("requestsPerTurnMax"))) {
      this.#count();
      resolve();
    }
  }
}
