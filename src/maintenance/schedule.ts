import type { Elsewhere } from "./elsewhere.ts";
import type { Eraser } from "./eraser.ts";
import type { Job } from "../platform/jobs.ts";
import type { Actors } from "../delivery/actors.ts";
import type { Endpoint } from "../core/model.ts";
import type { Retention } from "./retention.ts";
import type { Checkpoints } from "../store/checkpoint.ts";
import type { Data } from "../store/data.ts";
import { disableFailing, dropExpiredSecrets, type StatusOf } from "./endpoint-jobs.ts";

/**
 * By the clock, in UTC, as cron spells it: what somebody waits for within the minute, what may lie a
 * while, and once an hour what walks through every project. Not all at the same minute. Each job runs at
 * the start too.
 */
const MINUTELY = "* * * * *";
/** What a crash may lose of the numbers of sources. */
const SOURCE_STATS_MS = 5000;
const CLOCK_READ_MS = 5000;

export interface ScheduleParts {
  data: Pick<
    Data,
    | "store"
    | "tenants"
    | "endpoints"
    | "health"
    | "meter"
    | "sources"
    | "sealing"
    | "sourceStats"
    | "index"
    | "keptAnswers"
    | "dedup"
    | "audit"
    | "vacuum"
    | "portalLinks"
  >;
  actors: Actors;
  checkpoints: Pick<Checkpoints, "run">;
  elsewhere: Elsewhere;
  eraser: Eraser;
  retention: Retention;
  sourceStatusOf: StatusOf;
  /** Hears of an endpoint that was disabled although no attempt said so. */
  onDisabled: (endpoint: Endpoint) => void;
  /** Hears when every secret was looked at that another key than the first encrypted. */
  onSealed: () => void;
}

/** The one table of scheduled work. */
export function scheduledJobs(parts: ScheduleParts): Job[] {
  const { data, actors, checkpoints, elsewhere, eraser, retention, onDisabled, sourceStatusOf } = parts;
  return [
    // List entries and hourly numbers, which readers take from memory meanwhile.
    { name: "index", every: 1000, run: () => data.index.writeDown() },
    { name: "full_index", every: 200, run: () => data.index.writeDownIfFull() },
    // What the door counted, which readers take from memory meanwhile.
    { name: "source_stats", every: SOURCE_STATS_MS, run: () => data.sourceStats.writeDown() },
    { name: "checkpoint", every: 500, run: () => checkpoints.run() },
    // That the wall clock was set has to be noticed, also where nothing happens.
    { name: "clock", every: CLOCK_READ_MS, run: async () => actors.clock.look() },
    { name: "last_use", every: MINUTELY, run: () => data.tenants.saveLastUse() },
    { name: "idempotency", every: "1-59/5 * * * *", run: inSlices(() => data.keptAnswers.expire()) },
    { name: "dedup", every: "3-59/5 * * * *", run: inSlices(() => data.dedup.expire()) },
    { name: "portal_links", every: MINUTELY, run: inSlices(() => data.portalLinks.expire()) },
    { name: "audit", every: "41 * * * *", run: inSlices(() => data.audit.expire()) },
    { name: "secrets", every: MINUTELY, run: (control) => dropExpiredSecrets(data, sourceStatusOf, control) },
    {
      name: "disabling",
      every: MINUTELY,
      async run(control) {
        const disabled = await disableFailing(data, actors, control);
        for (const endpoint of disabled) onDisabled(endpoint);
        return disabled.length;
      },
    },
    { name: "sealing", every: MINUTELY, run: sealing(parts) },
    { name: "erasure", every: MINUTELY, run: (control) => eraser.run(control) },
    { name: "elsewhere", every: MINUTELY, run: (control) => elsewhere.run(control) },
    { name: "retention", every: MINUTELY, run: (control) => retention.run(control) },
    { name: "sweep", every: "7 * * * *", run: (control) => retention.sweep(control) },
    {
      name: "vacuum",
      every: "4-59/10 * * * *",
      async run(control) {
        let pages = 0;
        for (; data.vacuum.isDue && !control.isStopping(); await control.rest())
          pages += await data.vacuum.step();
        return pages;
      },
    },
  ];
}

/** Slice after slice until one finds nothing. */
function inSlices(expire: () => Promise<number>): Job["run"] {
  return async ({ isStopping, rest }) => {
    let rows = 0;
    for (let some = -1; some !== 0 && !isStopping(); rows += some) {
      some = await expire();
      if (some > 0) await rest();
    }
    return rows;
  };
}

function sealing({ data: { sealing: seals }, onSealed }: ScheduleParts): Job["run"] {
  return async (control) => {
    if (!seals.isDue) return 0;
    let rows = 0;
    for (; seals.isDue && !control.isStopping(); await control.rest()) rows += await seals.step();
    if (!seals.isDue) onSealed();
    return rows;
  };
}
