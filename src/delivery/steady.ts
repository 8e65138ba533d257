import { type Clock, createSteadyClock, type SteadyClock } from "../platform/clock.ts";
import { keyTime } from "../core/ids.ts";
import type { Data } from "../store/data.ts";

/** Where the database keeps how far the clock is ahead. */
const LEAD = "clock_lead_ms";
/** Where it keeps an instant of that clock that has passed. */
const PASSED = "clock_passed_ms";

/**
 * The clock by which deliveries wait, as the process before left it. `onStep` hears of each new lead, in
 * milliseconds.
 */
export function openSteadyClock(
  { meta, store, tally }: Pick<Data, "store" | "meta" | "tally">,
  wall: Clock,
  onStep: (lead: number) => void,
): SteadyClock {
  const keep = (name: string, value: number) =>
    store.unattended(
      "state of the clock",
      store.write(() => meta.setNumber(name, value), true),
    );
  return createSteadyClock(wall, {
    lead: meta.number(LEAD),
    passed: Math.max(keyTime(store.keys.last), meta.number(PASSED)),
    isAwaited: () => tally.waiting > 0,
    onPassed: (at) => keep(PASSED, at),
    onStep(lead) {
      keep(LEAD, lead);
      onStep(lead);
    },
  });
}
