import { type Clock, createSteadyClock, type SteadyClock } from "./clock.ts";
import { keyTime } from "./core/ids.ts";
import type { Data } from "./store/data.ts";

/** Where the database keeps how far the clock is ahead. */
const LEAD = "clock_lead_ms";

/** The clock by which deliveries wait, as the process before left it. `onStep` hears of each new lead, in milliseconds. */
export function openSteadyClock(
  { meta, store }: Data,
  wall: Clock,
  onStep: (lead: number) => void,
): SteadyClock {
  return createSteadyClock(wall, {
    lead: meta.number(LEAD),
    passed: keyTime(store.keys.last),
    onStep(lead) {
      store.unattended(
        "lead of the clock",
        store.write(() => meta.setNumber(LEAD, lead), true),
      );
      onStep(lead);
    },
  });
}
