import { createSteadyClock, type DatingClock, type SteadyClock } from "../platform/clock.ts";
import type { Tally } from "../store/counts/tally.ts";
import type { Data } from "../store/data.ts";
import { DownTimes } from "./down-times.ts";

/** Where the database keeps how far the clock is ahead of the wall clock. */
const LEAD = "clock_lead_ms";
/** Where it keeps an instant of that clock that has passed. */
const PASSED = "clock_passed_ms";
/** Where it keeps when nothing ran, by that clock. */
const DOWN = "clock_down";
/** How far the next process may lag behind this one where the wall clock is set back in between. */
const KEPT_EVERY_MS = 30_000;
/** The same where nothing waits: so much of the time in which it ran may count as down time. */
const KEPT_IDLE_EVERY_MS = 3_600_000;
/** A process that runs looks at its clock every few seconds: it was down where nobody did for so long. */
const DOWN_FROM_MS = 600_000;

export interface KeptClock extends SteadyClock {
  /** Called every few seconds: a step of the wall clock is noticed and kept, and what deliveries wait by. */
  look(): void;
  /**
   * How much of the time since `at` no process ran, or the only one stood still: also over a start by a clock
   * that was far ahead, as nothing ran in the time that was skipped.
   */
  downSince(at: number): number;
}

/**
 * The clock by which deliveries wait, as the process before left it. Where it stands is written with
 * whatever is written: nothing waits by a clock that the next process does not know.
 */
export function openSteadyClock(
  { meta, store, tally }: Pick<Data, "store" | "meta"> & { tally: Pick<Tally, "waiting"> },
  dates: DatingClock,
): KeptClock {
  let kept = { lead: meta.number(LEAD), passed: meta.number(PASSED), down: meta.text(DOWN) };
  const clock = createSteadyClock(dates, kept);
  const down = watchDownTimes(clock, kept);
  const wasSet = () => clock.lead() !== kept.lead;
  const isOld = (ms: number) => clock.now() - kept.passed >= ms || wasSet();
  let written: typeof kept | null = null;
  store.addBatchPart({
    flush() {
      if (!isOld(KEPT_EVERY_MS)) return;
      const downTimes = down.noticed().toText();
      written = { lead: clock.lead(), passed: clock.now(), down: downTimes };
      // With the instant that has passed, or a crash would lose what lies before that.
      if (downTimes !== kept.down) meta.setText(DOWN, downTimes);
      meta.setNumber(LEAD, written.lead);
      meta.setNumber(PASSED, written.passed);
    },
    done() {
      kept = written ?? kept;
      written = null;
    },
    reset: () => void (written = null),
  });
  let isKeeping = false;
  const keep = () => {
    // On a full disk a write waits for room: one of them is enough.
    if (isKeeping) return;
    isKeeping = true;
    store.unattended(
      "state of the clock",
      store.write(() => {}, true).finally(() => (isKeeping = false)),
    );
  };
  // Whoever sees it first. By its lead go breaks, and the days until an endpoint is disabled, also where no
  // delivery waits.
  dates.onStep(keep);
  const look = () => {
    dates.now();
    down.noticed();
    if (isOld(tally.waiting > 0 ? KEPT_EVERY_MS : KEPT_IDLE_EVERY_MS)) keep();
  };
  return Object.assign(clock, { look, downSince: (at: number) => down.noticed().since(at) });
}

/** `passed`: when the process before was there last; 0 where there was none. */
function watchDownTimes(
  clock: Pick<SteadyClock, "now">,
  { passed, down }: { passed: number; down: string | null },
) {
  const times = new DownTimes(down);
  let seen = passed || clock.now();
  const noticed = () => {
    const now = clock.now();
    if (now - seen >= DOWN_FROM_MS) times.add(seen, now);
    seen = now;
    return times;
  };
  noticed();
  return { noticed };
}
