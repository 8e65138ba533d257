import { type Clock, DatingClock } from "./platform/clock.ts";
import { startCheckpointThread } from "./maintenance/checkpoint-thread.ts";
import type { Config } from "./config.ts";
import { Cipher } from "./core/cipher.ts";
import { PublicIds } from "./core/ids.ts";
import { limit } from "./core/limits.ts";
import { authenticator } from "./http/framework/authenticate.ts";
import { providerOf } from "./http/sources/change.ts";
import { settledStatus } from "./http/sources/material.ts";
import { allRoutes } from "./http/routes.ts";
import type { AnyRoute } from "./http/framework/route.ts";
import { createServer, type HttpServer } from "./http/framework/server.ts";
import { ownKeys, takeDirectory } from "./maintenance/data-directory.ts";
import { Elsewhere, finishDepartures, hasReached } from "./maintenance/elsewhere.ts";
import { Eraser } from "./maintenance/eraser.ts";
import { Jobs } from "./platform/jobs.ts";
import type { Logger } from "./platform/log.ts";
import { createMetrics } from "./platform/metrics.ts";
import type { SpanListener, Tracing } from "./platform/tracing.ts";
import { Actors } from "./delivery/actors.ts";
import { type AttemptReport, Recorder } from "./delivery/recorder.ts";
import { isPolled } from "./destinations/destinations.ts";
import { shareOfFiles } from "./platform/file-share.ts";
import { createGuard } from "./transport/guard.ts";
import { handOut } from "./delivery/polling/hand-out.ts";
import { Retries } from "./delivery/retries.ts";
import { send, type SendParts } from "./delivery/send.ts";
import { sendTrial } from "./delivery/trial.ts";
import { sendTraced } from "./delivery/traced-send.ts";
import { createTransport } from "./transport/transport.ts";
import { VERSION } from "./transport/user-agent.ts";
import { Confirmations } from "./pipeline/confirmations.ts";
import { Pipeline } from "./pipeline/pipeline.ts";
import { Poller } from "./delivery/polling/poller.ts";
import { Releaser } from "./pipeline/releaser.ts";
import type { Replica } from "./replica/replica.ts";
import { openReplication, type Replication } from "./replica/replication.ts";
import { Replayer } from "./pipeline/replayer.ts";
import { Phases } from "./maintenance/phases.ts";
import { Retention } from "./maintenance/retention.ts";
import { scheduledJobs } from "./maintenance/schedule.ts";
import { requirePlans, warnOfForbidden, warnOfNoReplica } from "./maintenance/start-checks.ts";
import { atMost, endTraffic, LAST_STEP_MS } from "./maintenance/drain.ts";
import { orExplain } from "./platform/start-error.ts";
import { Checkpoints } from "./store/checkpoint.ts";
import { type Data, openData } from "./store/data.ts";
import { type Disk, openDatabase } from "./store/database.ts";
import { DeliveryList } from "./store/log/delivery-list.ts";
import { EventList } from "./store/log/event-list.ts";
import { turnsOf } from "./store/project-turns.ts";
import type { FirstKeys } from "./store/resources/tenants.ts";
import { openSteadyClock } from "./delivery/steady.ts";
import { restore } from "./maintenance/recovery.ts";
import {
  countAccepted,
  countConfirmed,
  readGauges,
  reportAttempt,
  reportBroken,
  reportDisabled,
  reportExhausted,
  beginAtZero,
  reportJob,
  reportMigrated,
  reportRefusedFilter,
  reportRequest,
  reportSealed,
  reportShortage,
  reportStep,
  watchAll,
  watchSpans,
} from "./maintenance/reports.ts";
import { beginArrivals, turnParts } from "./platform/turns.ts";

export interface App {
  url: string;
  port: number;
  /** Resolves with the next transaction that is on disk. */
  untilCommitted: () => Promise<void>;
  /** Finishes or hands back what is in flight, within ten seconds. */
  stop: () => Promise<void>;
}

export type { FirstKeys };

export interface AppParts {
  clock: Clock;
  logger: Logger;
  /**
   * Keys of the account that the first start on an empty database makes: shown once, before anybody
   * can connect.
   */
  announce: (keys: FirstKeys) => void;
  /** The disk failed: the process has to end. */
  fail: (error: Error) => void;
  /** Null where Litestream makes none. */
  replica?: Replica | null;
}

/**
 * Puts the service together, binds its port, takes up what the database has open, and only then answers.
 * Throws where it cannot: StartError, SettingsError and DatabaseError are for the operator.
 */
export async function startApp(config: Config, appParts: AppParts): Promise<App> {
  const { clock, logger, announce, fail } = appParts;
  const phases = new Phases(monotonic);
  const base = await openBase(config, appParts);
  const { directory, disk, data, replication } = base;
  const outbound = await openOutbound(config, { ...base, logger, phases });
  const { actors, retries, guard, transport, metrics } = outbound;
  const stopWatching = watchAll(data, metrics, logger);
  const confirmations = openConfirmations(data, replication, outbound);
  const pipeline = openPipeline(data, outbound, confirmations, logger);
  const replayer = new Replayer(data, actors, pipeline);
  const [releaser, eraser] = [new Releaser(data, actors, clock), new Eraser({ data, actors })];
  const parts = { outbound, confirmations, pipeline, replayer, eraser, logger, phases };
  const server = openServer(config, { ...base, ...parts });
  const port = listen(server, config);
  phases.enter({ is: "resuming", port });
  disk.goLive();
  await restore({ data, pipeline, actors, retries, replayer, releaser });
  await welcome(config, data, { replication, logger, announce });
  const checkpointThread = startCheckpointThread(CHECKPOINTER, disk.path, fail);
  const checkpoints = new Checkpoints(data.store, checkpointThread, replication.attendance);
  const jobs = openJobs(config, { ...base, outbound, eraser, checkpoints, logger });
  jobs.start();
  phases.enter({ is: "open", port });
  await replication.open();
  data.store.unattended("end of moves", finishDepartures(data));
  data.store.unattended("look at the addresses of endpoints", warnOfForbidden(data, guard, logger));
  const stop = async () => {
    const jobsEnded = jobs.stop();
    releaser.stop();
    const isRouted = replication.isPair && phases.isRouted;
    const enter = (is: "leaving" | "parting" | "stopping") => phases.enter({ is, port });
    await endTraffic({ actors, confirmations, abort: outbound.abort, isRouted, enter });
    await atMost(LAST_STEP_MS, jobsEnded);
    await server.stop(LAST_STEP_MS);
    transport.close();
    await writeDown(data, outbound);
    await data.store.close();
    await atMost(replication.stopMs, replication.stop());
    await checkpointThread.stop();
    stopWatching();
    disk.close();
    directory.release();
    logger.flush();
  };
  const untilCommitted = () => data.store.untilCommitted();
  return { url: `http://${config.host}:${port}`, port, untilCommitted, stop };
}

/** Beside this file: in the executable it is found only there. */
const CHECKPOINTER = new URL("./checkpointer.ts", import.meta.url);

const monotonic = () => performance.now();

/** What all else stands on: the data directory, its key, its database, its replica. */
interface Base {
  directory: { release(): void };
  /** By which rows are dated, over the wall clock. */
  dates: DatingClock;
  disk: Disk;
  data: Data;
  replication: Replication;
}

async function openBase(config: Config, parts: AppParts): Promise<Base> {
  const { clock, logger, fail, replica = null } = parts;
  const { dataDir } = config;
  const directory = await takeDirectory(dataDir, { replica, logger, monotonic });
  // Before the database: whatever that holds, there was a key for its secrets first.
  const cipher = new Cipher(config.secretKeys ?? ownKeys(dataDir, { replica, logger }));
  const [dates, disk] = [new DatingClock(clock), openDatabase(dataDir)];
  reportMigrated(disk.migrated, logger);
  // What is on disk is answered while this process may: whoever lost its lease answers nothing.
  const sync = replica === null ? disk.sync : () => disk.sync().then(() => replica.untilMayGo() ?? undefined);
  const data = openNouns(config, { ...disk, sync }, { cipher, dates, logger, fail });
  requirePlans(data.meter);
  const replication = await openReplication(data, { replica, logger, clock, monotonic, fail });
  return { directory, dates, disk, data, replication };
}

function openNouns(
  config: Config,
  disk: Disk,
  { cipher, dates, logger, fail }: Pick<AppParts, "logger" | "fail"> & { cipher: Cipher; dates: DatingClock },
): Data {
  const report = (work: string, error: unknown) =>
    logger.log("error", `${work} failed`, { error: error instanceof Error ? error.stack : String(error) });
  const parts = { ...turnParts, now: dates.now, sync: disk.sync, later, fail, report };
  return orExplain("The database cannot be used", () =>
    openData(disk.sqlite, parts, { cipher, cell: config.cell, plans: config.plans }),
  );
}

function later(ms: number, run: () => void): void {
  setTimeout(run, ms).unref();
}

interface OutboundParts extends Omit<Base, "directory"> {
  logger: Logger;
  phases: Phases;
}

/** What goes out: guard, transport and actors, with what they count. */
type Outbound = Awaited<ReturnType<typeof openOutbound>>;

async function openOutbound(config: Config, parts: OutboundParts) {
  const { dates, disk, data, replication, logger, phases } = parts;
  const abort = new AbortController();
  const self = { baseUrl: config.baseUrl, port: () => phases.port };
  const guard = createGuard({ allow: config.allowPrivateDestinations, self });
  const attemptsMax = shareOfFiles("attempts", limit("attemptsInFlightMax"));
  const onShortage = () => reportShortage(logger);
  const mayWrite = replication.mayGo;
  const transport = createTransport({ guard, monotonic, openMax: attemptsMax, onShortage, mayWrite });
  const sendParts: SendParts = {
    transport,
    ids: data.ids,
    turnsOf: (projectId) => turnsOf(data, projectId, "deliveries"),
    isTurnOver: () => data.store.turns.isOver,
    now: dates.wall.now,
    dated: dates.now,
    monotonic,
    signal: abort.signal,
    untilMayGo: replication.untilMayGo,
    onBroken: (at, error) => reportBroken(data.ids.encode("ep", at.id), error, logger),
  };
  const clock = openSteadyClock(data, dates);
  const onAttempt = (report: AttemptReport) => reportAttempt(report, data, logger, metrics);
  const recorder = new Recorder(data, { clock, onAttempt });
  const actors: Actors = new Actors(data, {
    clock,
    random: Math.random,
    send: (endpoint, load) =>
      tracing === null ? send(sendParts, endpoint, load) : sendTraced(tracing, sendParts, endpoint, load),
    attemptsMax,
    recorder,
  });
  const retries = new Retries(data, actors);
  const gauges = () => readGauges({ data, actors, path: disk.path, transport, replication });
  const nameAccount = (id: number) => data.ids.encode("acct", id);
  const versions = { version: VERSION, bun: Bun.version, sqlite: disk.version };
  const metrics = createMetrics(gauges, nameAccount, versions);
  const tracing = await openTracing(config, watchSpans(metrics, logger));
  return { guard, transport, actors, retries, recorder, sendParts, metrics, tracing, abort };
}

/** Null where nothing is traced: then nothing of OpenTelemetry is loaded either. */
async function openTracing(config: Config, onSpans: SpanListener): Promise<Tracing | null> {
  const { tracesEndpoint: endpoint, tracesHeaders: headers, tracesSampler: sampler } = config;
  if (endpoint === null) return null;
  const { Tracing } = await import("./platform/tracing.ts");
  const resource = {
    "service.name": config.tracesServiceName,
    "service.version": VERSION,
    "sealpost.cell": config.cell,
  };
  return new Tracing({ endpoint, headers, sampler, ratio: config.tracesRatio, resource }, onSpans);
}

function openConfirmations({ store }: Data, gate: Replication, { metrics }: Outbound): Confirmations {
  return new Confirmations({
    gate,
    turns: store,
    waitMs: limit("replicaWaitMs"),
    monotonic,
    onConfirmed: (events, ms) => countConfirmed(metrics, events, ms),
    onRefused: (when) => metrics.replicaRefused.count(when),
    onFailed: (error) => store.report("dispatch after the replica", error),
  });
}

function openPipeline(
  data: Data,
  { actors, metrics }: Outbound,
  confirmations: Confirmations,
  logger: Logger,
): Pipeline {
  return new Pipeline({
    data,
    outlet: actors,
    confirmations,
    unconfirmed: actors.unconfirmed,
    onAccepted: (accepted) => countAccepted(metrics, accepted),
    onExhausted: (exhaustion) => reportExhausted(exhaustion, data, logger),
    onRefusedFilter: (endpoint) => reportRefusedFilter(data.ids.encode("ep", endpoint.id), logger),
  });
}

function openPoller(data: Data, { actors, recorder, sendParts }: Outbound, logger: Logger): Poller {
  return new Poller(data, actors, {
    recorder,
    heldMax: shareOfFiles("polls", limit("pollersTotalMax")),
    handOut: (endpoint, load) => handOut(sendParts, endpoint, load),
    onAcknowledged(endpoint, deliveries) {
      logger.log("info", "acknowledged", { endpoint_id: data.ids.encode("ep", endpoint.id), deliveries });
    },
  });
}

interface ServerParts extends Pick<Base, "data" | "dates" | "replication"> {
  outbound: Outbound;
  confirmations: Confirmations;
  pipeline: Pipeline;
  replayer: Replayer;
  eraser: Eraser;
  logger: Logger;
  phases: Phases;
}

function openRoutes(config: Config, parts: ServerParts): AnyRoute[] {
  const { data, dates, outbound, pipeline, confirmations, replayer, eraser, logger } = parts;
  const { actors, retries, guard, transport, tracing, sendParts, metrics } = outbound;
  return allRoutes({
    ...data,
    eventList: new EventList(data),
    deliveryList: new DeliveryList(data),
    pipeline,
    confirmations,
    actors,
    retries,
    replayer,
    poller: openPoller(data, outbound, logger),
    eraser,
    guard,
    transport,
    tracing,
    sendTrial: (endpoint) =>
      actors.inSlot(endpoint.projectId, () => sendTrial(sendParts, endpoint, data.store.takeKey())),
    cell: config.cell,
    baseUrl: config.baseUrl,
    ingestRateLimit: config.ingestRateLimit,
    durability: config.durability,
    pollRateLimit: config.managementRateLimit,
    wallNow: dates.wall.now,
    monotonic,
    onRejected: (reason) => metrics.ingestRejected.count(reason),
    log: (level, msg, fields) => logger.log(level, msg, fields),
  });
}

function openServer(config: Config, parts: ServerParts): HttpServer {
  const { data, dates, replication, outbound, logger, phases } = parts;
  const { metrics } = outbound;
  const { now } = dates.wall;
  const projectIds = new PublicIds(data.ids, "proj");
  return createServer(openRoutes(config, parts), {
    version: VERSION,
    baseUrl: config.baseUrl,
    authenticate: authenticator(data, now),
    accessChanges: () => data.tenants.accessChanges,
    cell: config.cell,
    operatorToken: config.operatorToken,
    metricsToken: config.metricsToken,
    now,
    logRequest: (line) => reportRequest(line, projectIds, logger, metrics),
    logFailure: ({ requestId, route, error }) =>
      logger.log("error", "request failed", { request_id: requestId, route, error }),
    isAnswered: (request) => phases.isAnswered(request),
    untilMayGo: replication.untilMayGo,
    writeFor: (projectId, run) => data.store.writeFor(projectId, run),
    turns: data.store.turns,
    beginArrivals,
    keptAnswers: data.keptAnswers,
    audit: data.audit,
    rateLimits: { publish: config.publishRateLimit, management: config.managementRateLimit },
    usageRemaining: (projectId) => data.meter.remaining(projectId),
    ready: (request) => phases.readiness(request, data.store, replication),
    metrics: () => metrics.print(),
  });
}

/** Answers the port, which `config` may leave to the system. */
function listen(server: HttpServer, { host, port }: Config): number {
  const hint = `Cannot listen on ${host}:${port}; set SEALPOST_HOST and SEALPOST_PORT`;
  return orExplain(hint, () => server.listen({ port, hostname: host })).port;
}

/**
 * Tells whoever reads the log what to do. An empty database: where there is no operator who makes accounts,
 * there is one from the start.
 */
async function welcome(
  config: Config,
  data: Data,
  { replication, logger, announce }: Pick<AppParts, "logger" | "announce"> & Pick<Base, "replication">,
): Promise<void> {
  const { tenants, sealing } = data;
  if (tenants.isEmpty && config.operatorToken === null) await tenants.createFirstAccount(announce);
  else if (tenants.isEmpty)
    logger.log("info", "There is no account yet: make one with POST /v1/operator/accounts.");
  if (replication.report() === null) warnOfNoReplica(config, data, logger);
  if ((config.secretKeys?.length ?? 1) > 1 && !sealing.isDue) reportSealed(sealing.left, logger);
}

interface JobParts extends Pick<Base, "data" | "dates"> {
  outbound: Outbound;
  eraser: Eraser;
  checkpoints: Checkpoints;
  logger: Logger;
}

function openJobs(config: Config, { data, dates, outbound, eraser, checkpoints, logger }: JobParts): Jobs {
  const { actors, metrics } = outbound;
  const retention = new Retention({ data, actors, expires: ({ kind }) => isPolled(kind) });
  const onDisabled = ({ id }: { id: number }) => reportDisabled(data.ids.encode("ep", id), "failing", logger);
  const elsewhere = new Elsewhere({ data, hasReached: (to, id) => hasReached(to, id, config.operatorToken) });
  const table = scheduledJobs({
    data,
    actors,
    elsewhere,
    checkpoints,
    eraser,
    retention,
    sourceStatusOf: (source, now) => settledStatus(providerOf(source), source, now),
    onDisabled,
    onSealed: () => reportSealed(data.sealing.left, logger),
  });
  beginAtZero(metrics, table);
  const jobs = new Jobs(table, (report) => reportJob(report, metrics, logger));
  dates.onStep((step) => {
    reportStep(step, metrics, logger);
    jobs.reschedule();
  });
  eraser.onWake(() => void jobs.runAgain("erasure"));
  return jobs;
}

/** What is kept in memory for a while. */
async function writeDown({ tenants, sourceStats, index }: Data, { tracing }: Outbound): Promise<void> {
  const spansSent = tracing && atMost(LAST_STEP_MS, tracing.stop());
  // A disk that is full refuses it: it is for people to look at, and nobody was promised the last minute
  // of it.
  await tenants.saveLastUse().catch(() => {});
  await sourceStats.writeDown().catch(() => {});
  await atMost(LAST_STEP_MS, index.writeDown());
  await spansSent;
}
