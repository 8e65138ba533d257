import { Lines } from "../core/structures/lines.ts";
import type { Share, TurnParts } from "../core/structures/turn-queue.ts";
import type { SteadyClock } from "../platform/clock.ts";

/** Wakes an actor of the account now, or in a later turn of the loop. */
export type Wake = (accountId: number, wake: () => void) => void;

/**
 * Wakes actors in shares of turns of the loop: after an outage of their receivers, thousands of endpoints are
 * due at one instant. Those that a turn has no time for follow in the next ones: the accounts take turns, so
 * that who has very many holds up nobody else, and those of one account keep their order.
 */
export function wakingByTurns(turns: TurnParts): Wake {
  const waiting = new Lines();
  /** Of the turn that runs; null where nobody was woken in it. */
  let share: Share | null = null;

  function begin(): Share {
    turns.schedule(goOn);
    return (share = turns.beginShare());
  }

  function goOn(): void {
    share = null;
    if (waiting.isEmpty) return;
    const own = begin();
    do waiting.shift()?.();
    while (!waiting.isEmpty && !own.isOver);
  }

  return (accountId, wake) => {
    const own = share ?? begin();
    if (waiting.isEmpty && !own.isOver) wake();
    else waiting.push([String(accountId)], wake);
  };
}

/** As `SteadyClock.timer`, for an actor of the account. */
export type WakingTimer = (accountId: number, at: number, wake: () => void) => () => void;

/** The clock's timers, which wake in this way. */
export function wakingTimer(clock: Pick<SteadyClock, "timer">, wakeActor: Wake): WakingTimer {
  return (accountId, at, wake) => {
    let isOff = false;
    const wakeUnlessOff = () => {
      if (!isOff) wake();
    };
    const callOff = clock.timer(at, () => wakeActor(accountId, wakeUnlessOff));
    return () => {
      isOff = true;
      callOff();
    };
  };
}
