import { limit } from "./core/limits.ts";

/**
 * Heavy work goes in pieces (a parse, a validation, an operation), at most one in each turn of the event loop, whoever asks: so
 * whatever else waits never waits for two of them.
 */

const waiting: (() => void)[] = [];

/** Resolves in a turn of the loop that no other heavy piece has. */
export function heavyTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(runOne);
  });
}

function runOne(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(runOne);
}

/** True for a body whose parts of work each take a turn of their own. */
export function isHeavy(bytes: number): boolean {
  return bytes > limit("lightBodyMax");
}

/** How long light pieces of work may hold the event loop together before the others have their turn. */
const TURN_MS = 5;

/** Long work of many light pieces: `giveWay` between them lets the event loop come round as often as it should. */
export class Turns {
  #startedAt = performance.now();

  async giveWay(): Promise<void> {
    if (performance.now() - this.#startedAt < TURN_MS) return;
    await heavyTurn();
    this.#startedAt = performance.now();
  }
}
