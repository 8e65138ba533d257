import { dirname } from "node:path";
import type { Exhaustion } from "../pipeline/audience.ts";
import { keyTime, type PublicIds } from "../core/ids.ts";
import { limit } from "../core/limits.ts";
import { DEAD_REASONS } from "../core/model.ts";
import { formatRfc3339 } from "../core/rfc3339.ts";
import type { Step } from "../platform/clock.ts";
import type { Job, JobReport } from "../platform/jobs.ts";
import { hideCredentials, type Logger, type RequestLine } from "../platform/log.ts";
import type { Gauges, Metrics } from "../platform/metrics.ts";
import type { SpanListener } from "../platform/tracing.ts";
import type { Actors } from "../delivery/actors.ts";
import type { AttemptReport } from "../delivery/recorder.ts";
import type { Transport } from "../transport/types.ts";
import type { Accepted } from "../pipeline/pipeline.ts";
import { readVerdict } from "../replica/verdict.ts";
import type { Replication } from "../replica/replication.ts";
import { endingOf } from "../store/counts/tally.ts";
import type { Data } from "../store/data.ts";
import { roomIn, sizeOf } from "../store/disk-error.ts";
import type { Store } from "../store/store.ts";
import type { Migrated } from "../store/migrations.ts";

/** What parts report, as lines of the log and as numbers of the metrics. */

export function countAccepted({ eventsAccepted, duplicates }: Metrics, { event, duplicate }: Accepted): void {
  if (duplicate) duplicates.count();
  else eventsAccepted.count(event.isTest ? "test" : event.sourceId === null ? "publish" : "ingest");
}

/** Those of one request, so long after their commit. */
export function countConfirmed(
  { replicaConfirmed, replicaSeconds }: Metrics,
  events: number,
  ms: number,
): void {
  replicaConfirmed.count("", events);
  replicaSeconds.observe(ms / 1000);
}

export function reportExhausted(
  { projectId, type, endpointId, count }: Exhaustion,
  { ids }: Pick<Data, "ids">,
  logger: Logger,
): void {
  logger.log("warn", "filter exhausted", {
    project_id: ids.encode("proj", projectId),
    event_type: type,
    endpoint_id: ids.encode("ep", endpointId),
    endpoints: count,
  });
}

export function reportRefusedFilter(endpointId: string, logger: Logger): void {
  const hint =
    "The filter of an endpoint is refused by this version: what it gets is malformed until it is given another.";
  logger.log("error", hint, { endpoint_id: endpointId });
}

/**
 * Shows what alerts count as zero before any of it happens: Prometheus sees no increase in the first sample
 * of a series. To be called before anything runs.
 */
export function beginAtZero(metrics: Metrics, jobs: readonly Pick<Job, "name">[]): void {
  for (const { name } of jobs) metrics.jobFailures.count(name, 0);
  for (const status of ["delivered", "cancelled"] as const)
    metrics.deliveriesEnded.count(endingOf(status, null), 0);
  for (const reason of DEAD_REASONS) metrics.deliveriesEnded.count(endingOf("dead", reason), 0);
  for (const api of ["publish", "ingest"]) metrics.requests.count(labelOf(api, 500), 0);
}

export function reportJob({ name, rows, seconds, error }: JobReport, metrics: Metrics, logger: Logger): void {
  metrics.jobRuns.count(name);
  metrics.jobRows.count(name, rows);
  metrics.jobSeconds.set(name, seconds);
  if (error === undefined) return;
  metrics.jobFailures.count(name);
  logger.log("error", "job failed", { job: name, error });
}

export function reportMigrated({ from, to }: Migrated, logger: Logger): void {
  if (from === to) return;
  const what = from === 0 ? "the database was made" : "the database was brought up to date";
  logger.log("info", what, { schema_before: from, schema: to });
}

/** Has the store and the event loop tell what they find out. Answers how to stop. */
export function watchAll(data: Pick<Data, "store" | "tally">, metrics: Metrics, logger: Logger): () => void {
  watchStore(data, metrics, logger);
  const stop = [watchLoop(metrics), watchDisk(data, logger), watchKeys(data, logger), watchAccounts(metrics)];
  return () => stop.forEach((end) => end());
}

/** One line when the disk is full, and one when it is not any more. */
function watchStore({ store, tally }: Pick<Data, "store" | "tally">, metrics: Metrics, logger: Logger): void {
  store.onFull(() => {
    metrics.diskFull.count();
    logger.log("error", "the disk is full: nothing is accepted until there is room");
  });
  store.onWritable(() => logger.log("info", "the disk takes writes again"));
  store.onTimed((what, ms) => {
    const histogram = what === "commit" ? metrics.commitSeconds : metrics.syncSeconds;
    histogram.observe(ms / 1000);
  });
  tally.onEnded((ending) => metrics.deliveriesEnded.count(ending));
}

const DISK_LOOK_MS = 1000;

/**
 * A disk that hangs throws nothing: one line when it has been silent for too long, and one when it
 * answers again.
 */
function watchDisk({ store }: Pick<Data, "store">, logger: Logger): () => void {
  let isSilent = false;
  const timer = setInterval(() => {
    const was = isSilent;
    isSilent = store.silentMs > limit("diskSilenceMs");
    if (isSilent && !was) logger.log("error", "the disk does not answer", { writes_waiting: store.waiting });
    if (was && !isSilent) logger.log("info", "the disk answers again");
  }, DISK_LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const LAG_LOOK_MS = 100;

/** Looks how much later than asked for the event loop comes round. */
function watchLoop({ loopLagSeconds }: Metrics): () => void {
  let expected = performance.now() + LAG_LOOK_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    loopLagSeconds.observe(Math.max(0, now - expected) / 1000);
    expected = now + LAG_LOOK_MS;
  }, LAG_LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const ACCOUNTS_LOOK_MS = 600_000;

/** Looks which accounts are the busy ones, which the metrics name. */
function watchAccounts({ accountAttempts }: Metrics): () => void {
  const timer = setInterval(() => accountAttempts.endPeriod(), ACCOUNTS_LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

export function reportDisabled(endpointId: string, reason: string, logger: Logger): void {
  logger.log("warn", "endpoint disabled", { endpoint_id: endpointId, reason });
}

/** `left`: those whose key is not there. */
export function reportSealed(left: number, logger: Logger): void {
  const done =
    "every stored secret is encrypted by the first key of SEALPOST_SECRET_KEY: the other keys may go";
  const hint =
    "some stored secrets need a key that SEALPOST_SECRET_KEY lacks: give it again, behind the first";
  if (left === 0) logger.log("info", done);
  else logger.log("warn", hint, { secrets: left });
}

/** One line when an endpoint starts to be left alone, for as long as it is; one when it answers again. */
function reportHealth(
  { settlement: { health, disable }, leftAloneUntil }: AttemptReport,
  endpointId: string,
  logger: Logger,
): void {
  if (disable) reportDisabled(endpointId, disable, logger);
  if (health.failingSince === null && leftAloneUntil === null)
    logger.log("info", "endpoint answers again", { endpoint_id: endpointId });
  else if (leftAloneUntil !== null) {
    logger.log("warn", "endpoint is left alone", {
      endpoint_id: endpointId,
      until: formatRfc3339(leftAloneUntil),
      failures: health.failuresInRow,
    });
  }
}

/** An endpoint's row holds what this program cannot read. */
export function reportBroken(endpointId: string, error: unknown, logger: Logger): void {
  logger.log("error", "endpoint cannot be read", { endpoint_id: endpointId, error: String(error) });
}

export function reportStep({ byMs, isDoubted }: Step, { clockSteps }: Metrics, logger: Logger): void {
  clockSteps.count(byMs > 0 ? "ahead" : "back");
  const doubted = "; until it has stayed so for ten minutes, rows are dated by the time of before";
  const what = `the clock was set: what waits is neither held up nor hurried${isDoubted ? doubted : ""}`;
  logger.log("warn", what, { by_ms: byMs });
}

const KEYS_LOOK_MS = 5000;
/** No clock that is kept right is set back by more. */
const KEYS_AHEAD_MS_MAX = 60_000;

function keysAheadMs(store: Store): number {
  return Math.max(0, keyTime(store.keys.last) - store.now());
}

/**
 * Keys only grow: after the clock was ahead for a while, or before a start, all that is made has the time of
 * the last key, until the clock has come there. One line when it is so, and one when it is over.
 */
function watchKeys({ store }: Pick<Data, "store">, logger: Logger): () => void {
  let isAhead = false;
  const look = () => {
    const aheadMs = keysAheadMs(store);
    const was = isAhead;
    isAhead = aheadMs > KEYS_AHEAD_MS_MAX;
    if (isAhead && !was) logger.log("error", AHEAD, { ahead_ms: aheadMs });
    if (was && !isAhead) logger.log("info", "the clock has come to where the ids are");
  };
  look();
  const timer = setInterval(look, KEYS_LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const AHEAD =
  "ids are ahead of the clock: created_at of all that is made stands still until the clock has come there; see Clocks in the operating page";

interface GaugeParts {
  data: Pick<Data, "store" | "fanouts" | "tally" | "index" | "meter" | "erasures" | "replays" | "sealing">;
  actors: Actors;
  /** Of the database. */
  path: string;
  transport: Transport;
  replication: Replication;
}

/** How things stand. */
export async function readGauges(parts: GaugeParts): Promise<Gauges> {
  const { data, actors, path, transport, replication } = parts;
  const counts = await data.store.turns.of("metrics", null).inPieces(0, () => actors.counts());
  const { open, idle } = transport.stats();
  const replica = replication.report();
  const backup = readVerdict(dirname(path));
  return {
    ...counts,
    backlog: data.tally.waiting + data.fanouts.rest(),
    oldestWriteSeconds: data.store.silentMs / 1000,
    keysAheadSeconds: keysAheadMs(data.store) / 1000,
    writable: Number(data.store.writable),
    diskFreeBytes: roomIn(dirname(path)),
    waitingForPlan: data.meter.allWaitingEvents,
    fanningOut: data.fanouts.count(),
    replays: data.replays.countRunning(),
    erasures: data.erasures.countRunning(),
    writesWaiting: data.store.waiting,
    dispatchWaiting: actors.dispatcher.waiting,
    indexWaiting: data.index.size,
    secretsUnderOtherKeys: data.sealing.left,
    replicas: replica ? 1 : 0,
    replicaUp: replica && Number(replica.state !== "gone"),
    replicaAge: replica && replica.ageSeconds,
    replicaContested: replica && Number(replica.state === "contested"),
    replicaMarked: replica && Number(replica.isMarked),
    replicaUploads: replica && replica.uploads,
    replicaGeneration: replica && replica.generation,
    leaseHeld: replica && (replica.generation === null ? null : Number(replica.isHeld)),
    backupGood: backup && Number(backup.isGood),
    backupVerifiedAt: backup && backup.goodAt,
    backupBehind: backup && backup.behindSeconds,
    backupSeconds: backup && backup.seconds,
    openSockets: open,
    idleSockets: idle,
    databaseBytes: sizeOf(path),
    walBytes: sizeOf(`${path}-wal`),
  };
}

/** Probes come every few seconds and say nothing. */
const QUIET_ROUTES = new Set(["/healthz", "/readyz", "/metrics"]);

const labels = new Map<string, Map<string | number, string>>();

/** Two words of a series. Each pair is put together once: they come with every request and attempt. */
function labelOf(first: string, second: string | number): string {
  let known = labels.get(first);
  if (!known) labels.set(first, (known = new Map()));
  let label = known.get(second);
  if (label === undefined) known.set(second, (label = `${first} ${second}`));
  return label;
}

/** What is published, what comes in, what is held open, and all the rest. */
function apiOf(method: string, route: string): string {
  if (method === "POST" && (route === "/v1/events" || route === "/v1/events/batch")) return "publish";
  if (route.startsWith("/ingest/")) return "ingest";
  return route.startsWith("/poll/") ? "poll" : "management";
}

function countRequest({ method, route, status, refusal, durationMs }: RequestLine, metrics: Metrics): void {
  const api = apiOf(method, route);
  metrics.requests.count(labelOf(api, status));
  if (refusal !== null) metrics.requestsRefused.count(`${api} ${refusal}`);
  if (api !== "poll") metrics.requestSeconds.observe(durationMs / 1000, api);
}

export function reportRequest(
  line: RequestLine,
  projectIds: PublicIds,
  logger: Logger,
  metrics: Metrics,
): void {
  const { requestId, method, route, status, durationMs, projectId } = line;
  countRequest(line, metrics);
  const project = projectId === null ? "" : `,"project_id":"${projectIds.of(projectId)}"`;
  const request = `"request_id":"${requestId}","method":"${method}","route":"${route}"`;
  const level = QUIET_ROUTES.has(route) ? "debug" : "info";
  logger.logPlain(level, "request", `${request},"status":${status},"duration_ms":${durationMs}${project}`);
}

const CLASSES = ["0xx", "1xx", "2xx", "3xx", "4xx", "5xx", "6xx", "7xx", "8xx", "9xx"];

function classOf(code: number | null): string {
  return code === null ? "none" : (CLASSES[Math.floor(code / 100)] ?? "none");
}

function countAttempt(
  { settlement: { sent, endpoint }, lagMs }: AttemptReport,
  tenants: Pick<Data["tenants"], "accountIdOf">,
  metrics: Metrics,
): void {
  const { outcome, statusCode, durationMs } = sent;
  metrics.attempts.count(labelOf(outcome, classOf(statusCode)));
  if (lagMs !== null) metrics.lagSeconds.observe(Math.max(0, lagMs) / 1000);
  if (outcome === "handed_out") return;
  const result = outcome === "delivered" ? "delivered" : "failed";
  metrics.attemptSeconds.observe(durationMs / 1000);
  metrics.kindAttempts.count(labelOf(endpoint.kind, result));
  metrics.accountAttempts.count(tenants.accountIdOf(endpoint.projectId), result);
}

export function reportAttempt(
  report: AttemptReport,
  data: Pick<Data, "ids" | "tenants">,
  logger: Logger,
  metrics: Metrics,
): void {
  countAttempt(report, data.tenants, metrics);
  const { settlement, number, nextAttemptAt } = report;
  const { load, sent, endpoint, trigger, change } = settlement;
  const { outcome } = sent;
  const code = sent.statusCode;
  const endpointId = sent.endpointId ?? data.ids.encode("ep", endpoint.id);
  const eventId = data.ids.encode("evt", load.delivery.eventId);
  const deliveryId = sent.messageId ?? data.ids.encode("msg", load.delivery.id);
  const what = `"event_id":"${eventId}","delivery_id":"${deliveryId}","endpoint_id":"${endpointId}"`;
  const how = `"number":${number},"trigger":"${trigger}","outcome":"${outcome}","status_code":${code}`;
  const then = `"duration_ms":${sent.durationMs},"status":"${change?.status ?? load.delivery.status}"`;
  const next = nextAttemptAt === null ? "" : `,"next_attempt_at":"${formatRfc3339(nextAttemptAt)}"`;
  const level = outcome === "delivered" || outcome === "handed_out" ? "info" : "warn";
  const { error } = sent;
  const errorCode = error === null ? "null" : `"${error.code}"`;
  const detail = error?.detail ? `,"error_detail":${hideCredentials(JSON.stringify(error.detail))}` : "";
  logger.logPlain(level, "attempt", `${what},${how},"error_code":${errorCode}${detail},${then}${next}`);
  if (settlement.healthChanged || settlement.disable) reportHealth(report, endpointId, logger);
}

/** Told at most once a second, by the transport. */
export function reportShortage(logger: Logger): void {
  logger.log("warn", "no file is left for a socket; attempts wait, and use up nothing");
}

/** One line when the collector takes no spans, and one when it takes them again. */
export function watchSpans(metrics: Metrics, logger: Logger): SpanListener {
  let isFailing = false;
  return ({ result, count, error = null }) => {
    metrics.spans.count(result, count);
    if (result === "dropped" || isFailing === (result === "failed")) return;
    isFailing = !isFailing;
    if (isFailing) logger.log("warn", "the collector does not take spans", { error });
    else logger.log("info", "the collector takes spans again");
  };
}
