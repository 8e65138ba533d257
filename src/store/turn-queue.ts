/** What a work may take of a turn of the loop; once it is over, the rest goes into the next turn. */
export interface Share {
  readonly isOver: boolean;
}

export interface TurnParts {
  /** Runs `next` when the loop comes round. */
  schedule: (next: () => void) => void;
  /** Begins the share that a work has of this turn of the loop. */
  beginShare: () => Share;
}

/**
 * Long work that can be divided, whoever does it: all of it has one share of each turn of the loop together, however many requests are
 * at it. What has not got its turn waits in the order in which it came.
 */
export class TurnQueue {
  readonly #waiting: (() => void)[] = [];
  /** True while somebody waits, or has just been resumed. */
  #isRunning = false;
  /** Of this turn; null where nobody has asked yet. */
  #share: Share | null = null;

  constructor(private readonly parts: TurnParts) {}

  /** True where others should go first: asked right before each piece of work. */
  get isOver(): boolean {
    return (this.#share ?? this.#begin()).isOver;
  }

  /** Resolves in a later turn, in which there is time left. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isRunning) this.#schedule();
    });
  }

  #begin(): Share {
    const share = this.parts.beginShare();
    this.#share = share;
    this.parts.schedule(() => {
      if (this.#share === share) this.#share = null;
    });
    return share;
  }

  #schedule(): void {
    this.#isRunning = true;
    this.parts.schedule(() => {
      this.#begin();
      this.#resume();
    });
  }

  /** One after the other: what is resumed works as a microtask, and then it is seen whether there is time for one more. */
  #resume(): void {
    this.#waiting.shift()?.();
    queueMicrotask(() => {
      if (this.#waiting.length === 0) this.#isRunning = false;
      else if (this.isOver) this.#schedule();
      else this.#resume();
    });
  }
}
