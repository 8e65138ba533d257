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

/** Processor time for which work that can be divided may hold the event loop in one turn: several such works may meet in it. */
const SHARE_MS = 3;

/**
 * A work's share of a turn of the loop: it ends soon after it began. Counted in processor time: on a machine that is busy with others
 * the clock goes on meanwhile, and work that stopped by it would come to very little in each turn.
 */
export class Share {
  readonly #busyAt = busyMs();
  /** Before this instant it cannot be over. */
  #lookAt = performance.now() + SHARE_MS;

  get isOver(): boolean {
    const now = performance.now();
    if (now < this.#lookAt) return false;
    const left = SHARE_MS - (busyMs() - this.#busyAt);
    this.#lookAt = now + left;
    return left <= 0;
  }
}

declare global {
  namespace NodeJS {
    interface Process {
      /** As Node has it; the types of Bun lack it. In microseconds. */
      threadCpuUsage(): { user: number; system: number };
    }
  }
}

/** Processor time of this thread so far. */
function busyMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Long work of many light pieces: `giveWay` between them lets the event loop come round as often as it should. */
export class Turns {
  #share = new Share();

  async giveWay(): Promise<void> {
    if (!this.#share.isOver) return;
    await heavyTurn();
    this.#share = new Share();
  }
}
