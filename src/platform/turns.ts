import type { Share, TurnParts } from "../core/structures/turn-queue.ts";

/**
 * Processor time for which work that can be divided may hold the event loop in one turn: several such works
 * may meet in it.
 */
const SHARE_MS = 2;
/**
 * The same for requests without a body, above what `requestsPerTurnMax` of light ones take: Bun closes the
 * connection of a pipeline in which one waits.
 */
const ARRIVALS_MS = 20;

/** Of a share that is used up: it stays so. */
const OVER = Number.POSITIVE_INFINITY;

/**
 * A work's share of a turn of the loop: it ends soon after it began. Its second half is counted in processor
 * time: on a machine that is busy with others the clock goes on meanwhile, and work that stopped by it would
 * come to very little in each turn. The first half goes by the clock: most work is done within it, and to ask
 * for processor time is two calls into the kernel.
 */
class BusyShare implements Share {
  /** When the second half began; null before. */
  #busyAt: number | null = null;
  /** Before this instant it cannot be over. */
  #lookAt: number;

  constructor(private readonly ms: number) {
    this.#lookAt = performance.now() + ms / 2;
  }

  get isOver(): boolean {
    if (this.#lookAt === OVER) return true;
    const now = performance.now();
    if (now < this.#lookAt) return false;
    const busy = busyMs();
    this.#busyAt ??= busy;
    const left = this.ms / 2 - (busy - this.#busyAt);
    this.#lookAt = left > 0 ? now + left : OVER;
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

/** Processor time of this thread so far, to the microsecond. */
export function busyMs(): number {
  // Brings the account of the running thread up to date: by itself the kernel does so at its own tick, every
  // 4 ms.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The turns of this process's event loop. */
export const turnParts: TurnParts = {
  schedule: setImmediate,
  beginShare: () => new BusyShare(SHARE_MS),
  monotonic: () => performance.now(),
};

/** Begins the share that requests without a body have of this turn. */
export function beginArrivals(): Share {
  return new BusyShare(ARRIVALS_MS);
}

/** Resolves in the next turn, for what costs next to nothing and is no work to stand in line for. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
