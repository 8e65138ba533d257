import type { Share, TurnParts } from "../core/structures/turn-queue.ts";
import type { SteadyClock } from "../platform/clock.ts";

/**
 * The clock with timers that wake in shares of turns of the loop: after an outage of their receivers,
 * thousands of endpoints are due at one instant. Those that a turn has no time for follow in the next ones,
 * in the order in which they came due.
 */
export function wakingByTurns(clock: SteadyClock, turns: TurnParts): SteadyClock {
  let due: (() => void)[] = [];
  /** Of the turn that runs; null where no timer has come due in it. */
  let share: Share | null = null;

  function wakeInTurn(wake: () => void): void {
    if (share === null) {
      share = turns.beginShare();
      turns.schedule(goOn);
    }
    if (due.length === 0 && !share.isOver) wake();
    else due.push(wake);
  }

  function goOn(): void {
    share = null;
    if (due.length === 0) return;
    share = turns.beginShare();
    turns.schedule(goOn);
    let woken = 0;
    while (woken < due.length && (woken === 0 || !share.isOver)) due[woken++]?.();
    due = due.slice(woken);
  }

  return {
    ...clock,
    timer(at, wake) {
      let isOff = false;
      const wakeUnlessOff = () => {
        if (!isOff) wake();
      };
      const callOff = clock.timer(at, () => wakeInTurn(wakeUnlessOff));
      return () => {
        isOff = true;
        callOff();
      };
    },
  };
}
