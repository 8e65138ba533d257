import { limit } from "./limits.ts";

/** What a work may take of a turn of the loop; once it is over, the rest goes into the next turn. */
export interface Share {
  readonly isOver: boolean;
}

export interface TurnParts {
  /** Runs `next` when the loop comes round. */
  schedule(next: () => void): void;
  /** Begins the share that a work has of this turn of the loop. */
  beginShare(): Share;
}

/** True for a body whose parts of work (a parse, a validation, an operation) each take a turn of their own. */
export function isHeavy(bytes: number): boolean {
  return bytes > limit("lightBodyMax");
}

/**
 * Long work that can be divided, whoever does it: all of it has one share of each turn of the loop together, however many requests are
 * at it. What has not got its turn waits in the order in which it came; a heavy piece waits for a turn of its own, and where both wait,
 * every second turn is such a one. Whoever waits awaits the promise itself: its piece is done, and counted, before the next one's.
 */
export class TurnQueue {
  readonly #light: (() => void)[] = [];
  readonly #heavy: (() => void)[] = [];
  /** True while somebody waits, or has just been resumed. */
  #isRunning = false;
  /** Whether the latest turn was that of a heavy piece. */
  #isOwnTurn = false;
  /** Of this turn; null where nobody has asked yet. */
  #share: Share | null = null;

  constructor(private readonly parts: TurnParts) {}

  /** True where others should go first: asked right before each piece of work. */
  get isOver(): boolean {
    return (this.#share ?? this.#begin()).isOver;
  }

  /** Resolves in a later turn, in which there is time left. */
  next(): Promise<void> {
    return this.#join(this.#light);
  }

  /** Resolves at the beginning of a later turn, in which nobody else is resumed. */
  ownTurn(): Promise<void> {
    return this.#join(this.#heavy);
  }

  /** Before work on so many bytes: its own turn where that is heavy; else at once while there is time left and nobody waits for it. */
  giveWay(bytes = 0): Promise<void> {
    if (isHeavy(bytes)) return this.ownTurn();
    return this.isOver || this.#light.length > 0 ? this.next() : Promise.resolve();
  }

  #join(queue: (() => void)[]): Promise<void> {
    return new Promise((resolve) => {
      queue.push(resolve);
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
      this.#isOwnTurn = this.#heavy.length > 0 && (this.#light.length === 0 || !this.#isOwnTurn);
      if (!this.#isOwnTurn) return this.#resume();
      this.#heavy.shift()?.();
      this.#goOn();
    });
  }

  /** One after the other: what is resumed works as a microtask, and then it is seen whether there is time for one more. */
  #resume(): void {
    this.#light.shift()?.();
    queueMicrotask(() => {
      if (this.#light.length === 0 || this.isOver) this.#goOn();
      else this.#resume();
    });
  }

  /** In the next turn, where somebody waits for it. */
  #goOn(): void {
    if (this.#light.length + this.#heavy.length > 0) this.#schedule();
    else this.#isRunning = false;
  }
}
