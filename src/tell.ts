import { statSync } from "node:fs";
import type { Exhaustion } from "./audience.ts";
import { formatRfc3339 } from "./core/rfc3339.ts";
import type { JobReport } from "./jobs.ts";
import type { Logger } from "./log.ts";
import type { Gauges, Metrics } from "./metrics.ts";
import type { Actors, AttemptReport } from "./outbound/actors.ts";
import type { Transport } from "./outbound/transport-types.ts";
import type { Accepted } from "./pipeline.ts";
import type { Data } from "./store/data.ts";

/** What parts report, as lines of the log and as numbers of the metrics. */

export function countAccepted({ eventsAccepted, duplicates }: Metrics, { event, duplicate }: Accepted): void {
  if (duplicate) duplicates.count();
  else eventsAccepted.count(event.isTest ? "test" : event.sourceId === null ? "publish" : "ingest");
}

export function tellExhausted(
  { projectId, type, endpointId, count }: Exhaustion,
  { ids }: Data,
  logger: Logger,
): void {
  logger.log("warn", "filter exhausted", {
    project_id: ids.encode("proj", projectId),
    event_type: type,
    endpoint_id: ids.encode("ep", endpointId),
    endpoints: count,
  });
}

export function tellJob({ name, rows, seconds, error }: JobReport, metrics: Metrics, logger: Logger): void {
  metrics.jobRuns.count(name);
  metrics.jobRows.count(name, rows);
  metrics.jobSeconds.set(name, seconds);
  if (error === undefined) return;
  metrics.jobFailures.count(name);
  logger.log("error", "job failed", { job: name, error });
}

export function tellDisabled(endpointId: string, reason: string, logger: Logger): void {
  logger.log("warn", "endpoint disabled", { endpoint_id: endpointId, reason });
}

/** One line when an endpoint starts to be left alone, for as long as it is; one when it answers again. */
export function tellHealth(
  { health, disable }: AttemptReport["settlement"],
  endpointId: string,
  logger: Logger,
): void {
  if (disable) tellDisabled(endpointId, disable, logger);
  const until = Math.max(health.backoffUntil, health.slowUntil);
  if (health.failingSince === null && until === 0)
    logger.log("info", "endpoint answers again", { endpoint_id: endpointId });
  else if (until > 0) {
    const next = formatRfc3339(until);
    logger.log("warn", "endpoint is left alone", {
      endpoint_id: endpointId,
      until: next,
      failures: health.failuresInRow,
    });
  }
}

interface GaugeParts {
  data: Data;
  actors: Actors;
  /** Of the database. */
  path: string;
  transport: Transport;
}

/** How things stand. */
export function readGauges({ data, actors, path, transport }: GaugeParts): Gauges {
  const size = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const { open, idle } = transport.stats();
  return {
    ...actors.counts(),
    waitingForPlan: data.meter.allWaitingEvents,
    fanningOut: data.fanouts.count(),
    replays: data.replays.countRunning(),
    erasures: data.erasures.countRunning(),
    writesWaiting: data.store.waiting,
    digestWaiting: data.digest.size,
    openSockets: open,
    idleSockets: idle,
    databaseBytes: size(path),
    walBytes: size(`${path}-wal`),
  };
}
