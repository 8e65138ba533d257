import type { Pieces, Turns } from "../../src/core/structures/turn-queue.ts";
import type { CountingDatabase } from "./counting-database.ts";

/** Turns that come at once; how many were asked for, and the most rows that were read in one. */
export class CountingTurns implements Turns {
  readonly isOver = false;
  given = 0;
  #most = 0;
  #read = 0;

  constructor(private readonly sqlite: CountingDatabase) {
    sqlite.rows = 0;
  }

  get most(): number {
    return Math.max(this.#most, this.sqlite.rows);
  }

  /** Rows that were read in all turns. */
  get read(): number {
    return this.#read + this.sqlite.rows;
  }

  next(): Promise<void> {
    this.given++;
    this.#read = this.read;
    this.#most = this.most;
    this.sqlite.rows = 0;
    return Promise.resolve();
  }

  ownTurn(): Promise<void> {
    return this.next();
  }

  giveWay(): Promise<void> {
    return this.next();
  }

  beginPage(): Promise<() => void> {
    return Promise.resolve(() => {});
  }

  inPool<Made>(work: () => Promise<Made>): Promise<Made> {
    return work();
  }

  inPieces<Made>(_bytes: number, begin: () => Pieces<Made>): Made {
    const pieces = begin();
    for (let piece = pieces.next(); ; piece = pieces.next()) if (piece.done) return piece.value;
  }
}
