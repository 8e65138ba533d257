import { limit } from "../../core/limits.ts";
import type { Share } from "../../core/structures/turn-queue.ts";

/** A request counts once more for each so many characters of its address, as they are work. */
const ADDRESS_PART = 1024;

interface Waiting {
  readonly weight: number;
  readonly resolve: () => void;
}

/**
 * The requests that begin in one turn of the event loop. Of a connection Bun begins all that it has read, one
 * after the other, for as long as each is answered within the turn: 5 MB of them in a pipeline were one turn.
 * Above `requestsPerTurnMax` a request begins in a later turn, in its order, and Bun closes its connection,
 * unanswered, where another one comes behind it; whoever sends one at a time is answered some turns later.
 */
export class Arrivals implements Share {
  #begun = 0;
  #waiting: Waiting[] = [];
  #isScheduled = false;
  /** Of this turn; null where none has begun in it. */
  #share: Share | null = null;

  /** `schedule` runs what it gets when the loop comes round. */
  constructor(
    private readonly beginShare: () => Share,
    private readonly schedule: (next: () => void) => void = setImmediate,
  ) {}

  /** True where those that began in this turn have used up its time: however few, each may be much work. */
  get isOver(): boolean {
    return this.#share?.isOver ?? false;
  }

  /** Null where a request may begin at once; else what resolves in the turn in which it may. */
  begin(addressLength: number): Promise<void> | null {
    const weight = 1 + Math.floor(addressLength / ADDRESS_PART);
    const isFull = this.#isFull || this.#waiting.length > 0;
    this.#count(weight);
    return isFull ? new Promise((resolve) => this.#waiting.push({ weight, resolve })) : null;
  }

  get #isFull(): boolean {
    return this.#begun >= limit("requestsPerTurnMax");
  }

  #count(weight: number): void {
    this.#begun += weight;
    this.#share ??= this.beginShare();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.schedule(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#isScheduled = false;
    this.#begun = 0;
    this.#share = null;
    let due = 0;
    for (; due < this.#waiting.length && !this.#isFull; due++) this.#count(this.#waiting[due]?.weight ?? 1);
    for (const { resolve } of this.#waiting.splice(0, due)) resolve();
  }
}
