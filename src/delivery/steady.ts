import { createSteadyClock, type DatingClock, type SteadyClock } from "../platform/clock.ts";
import type { Tally } from "../store/counts/tally.ts";
import type { Data } from "../store/data.ts";

/** Where the database keeps how far the clock is ahead of the wall clock. */
const LEAD = "clock_lead_ms";
/** Where it keeps an instant of that clock that has passed. */
const PASSED = "clock_passed_ms";
/** How far the next process may lag behind this one where the wall clock is set back in between. */
const KEPT_EVERY_MS = 30_000;

export interface KeptClock extends SteadyClock {
  /** Called every few seconds: a step of the wall clock is noticed and kept, and what deliveries wait by. */
  look(): void;
}

/**
 * The clock by which deliveries wait, as the process before left it. Where it stands is written with
 * whatever is written: nothing waits by a clock that the next process does not know.
 */
export function openSteadyClock(
  { meta, store, tally }: Pick<Data, "store" | "meta"> & { tally: Pick<Tally, "waiting"> },
  dates: DatingClock,
): KeptClock {
  let kept = { lead: meta.number(LEAD), passed: meta.number(PASSED) };
  const clock = createSteadyClock(dates, kept);
  const wasSet = () => clock.lead() !== kept.lead;
  const isOld = () => clock.now() - kept.passed >= KEPT_EVERY_MS || wasSet();
  let written: typeof kept | null = null;
  store.addBatchPart({
    flush() {
      if (!isOld()) return;
      written = { lead: clock.lead(), passed: clock.now() };
      meta.setNumber(LEAD, written.lead);
      meta.setNumber(PASSED, written.passed);
    },
    done() {
      kept = written ?? kept;
      written = null;
    },
    reset: () => void (written = null),
  });
  const look = () => {
    dates.now();
    // By its lead go breaks, and the days until an endpoint is disabled, also where no delivery waits.
    if (wasSet() || (tally.waiting > 0 && isOld()))
      store.unattended(
        "state of the clock",
        store.write(() => {}, true),
      );
  };
  return Object.assign(clock, { look });
}
