import { TurnQueue } from "../../src/core/structures/turn-queue.ts";

/** Turns of the real loop in which so many works are a share; counts the works between two turns. */
export class TurnCounter {
  readonly turns: TurnQueue;
  all = 0;
  /** Works of the fullest turn. */
  most = 0;
  #left = 0;
  #inTurn = 0;

  constructor(worksOfShare: number) {
    const hasNone = () => this.#left <= 0;
    this.turns = new TurnQueue({
      schedule: setImmediate,
      beginShare: () => {
        this.#left = worksOfShare;
        return {
          get isOver() {
            return hasNone();
          },
        };
      },
    });
  }

  work(): void {
    if (this.#inTurn++ === 0) setImmediate(() => (this.#inTurn = 0));
    this.#left--;
    this.all++;
    this.most = Math.max(this.most, this.#inTurn);
  }
}
