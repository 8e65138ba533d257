import type { Share, TurnParts } from "../core/structures/turn-queue.ts";
import type { SteadyClock } from "../platform/clock.ts";

/** Wakes an actor now, or in a later turn of the loop. */
export type Wake = (wake: () => void) => void;

/**
 * Wakes actors in shares of turns of the loop: after an outage of their receivers, thousands of endpoints are
 * due at one instant. Those that a turn has no time for follow in the next ones, in their order.
 */
export function wakingByTurns(turns: TurnParts): Wake {
  let waiting: (() => void)[] = [];
  /** Of the turn that runs; null where nobody was woken in it. */
  let share: Share | null = null;

  function begin(): Share {
    turns.schedule(goOn);
    return (share = turns.beginShare());
  }

  function goOn(): void {
    share = null;
    if (waiting.length === 0) return;
    const own = begin();
    let woken = 0;
    while (woken < waiting.length && (woken === 0 || !own.isOver)) waiting[woken++]?.();
    waiting = waiting.slice(woken);
  }

  return (wake) => {
    const own = share ?? begin();
    if (waiting.length === 0 && !own.isOver) wake();
    else waiting.push(wake);
  };
}

/** The clock with timers that wake in this way. */
export function wakingClock(clock: SteadyClock, wakeActor: Wake): SteadyClock {
  return {
    ...clock,
    timer(at, wake) {
      let isOff = false;
      const wakeUnlessOff = () => {
        if (!isOff) wake();
      };
      const callOff = clock.timer(at, () => wakeActor(wakeUnlessOff));
      return () => {
        isOff = true;
        callOff();
      };
    },
  };
}
