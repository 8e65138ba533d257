import { mkdirSync } from "node:fs";
import { type Clock, DatingClock } from "./platform/clock.ts";
import { startCheckpointThread } from "./maintenance/checkpoint-thread.ts";
import type { Config } from "./config.ts";
import { Cipher } from "./core/cipher.ts";
import { PublicIds } from "./core/ids.ts";
import { limit } from "./core/limits.ts";
import type { Endpoint } from "./core/model.ts";
import { authenticator } from "./http/framework/authenticate.ts";
import { allRoutes } from "./http/routes.ts";
import { createServer, type HttpServer } from "./http/framework/server.ts";
import { Eraser } from "./maintenance/eraser.ts";
import { Jobs } from "./platform/jobs.ts";
import type { Logger } from "./platform/log.ts";
import { createMetrics, type Metrics } from "./platform/metrics.ts";
import { Actors } from "./delivery/actors.ts";
import { type AttemptReport, Recorder } from "./delivery/recorder.ts";
import { addressesOf } from "./destinations/destination.ts";
import { findKind, isPolled } from "./destinations/destinations.ts";
import { shareOfFiles } from "./platform/files.ts";
import { createGuard, type Guard } from "./transport/guard.ts";
import { handOut } from "./delivery/hand-out.ts";
import { send, type SendParts } from "./delivery/send.ts";
import { sendTrial } from "./delivery/trial.ts";
import { createTransport } from "./transport/transport.ts";
import type { Transport } from "./transport/types.ts";
import { VERSION } from "./transport/user-agent.ts";
import { Pipeline } from "./pipeline/pipeline.ts";
import { Poller } from "./delivery/poller.ts";
import { Releaser } from "./pipeline/releaser.ts";
import type { Replica } from "./replica/replica.ts";
import { openReplication, type Replication } from "./replica/replication.ts";
import { Replayer } from "./pipeline/replayer.ts";
import { Retention } from "./maintenance/retention.ts";
import { scheduledJobs } from "./maintenance/schedule.ts";
import { directoryKey } from "./platform/secret-key.ts";
import { SettingsError, orExplain } from "./platform/start-error.ts";
import { Checkpoints } from "./store/checkpoint.ts";
import { type Data, openData } from "./store/data.ts";
import { type Disk, hasDatabase, lockDirectory, openDatabase } from "./store/database.ts";
import { DeliveryList } from "./store/log/delivery-list.ts";
import { EventList } from "./store/log/event-list.ts";
import { readIdentity } from "./store/identity.ts";
import type { FirstKeys } from "./store/resources/tenants.ts";
import { openSteadyClock } from "./delivery/steady.ts";
import { restore } from "./maintenance/recovery.ts";
import {
  countAccepted,
  readGauges,
  reportAttempt,
  reportBroken,
  reportDisabled,
  reportExhausted,
  reportJob,
  reportMigrated,
  reportRefusedFilter,
  reportRequest,
  reportSealed,
  reportShortage,
  reportStep,
  watchAll,
} from "./maintenance/reports.ts";
import { turnParts } from "./platform/turns.ts";

/** Of the ten seconds between SIGTERM and the end: what is left for the disk once attempts are given up. */
const DRAIN_RESERVE_MS = 1500;
const CONNECTIONS_STOP_MS = 500;

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
export async function startApp(config: Config, parts: AppParts): Promise<App> {
  const { clock, logger, announce, fail, replica = null } = parts;
  const { dataDir, port: wanted, host } = config;
  const lock = await takeDirectory(dataDir, { replica, logger });
  if (replica && config.secretKeys === null) warnOfLocalKey(logger);
  // Before the database: whatever that holds, there was a key for its secrets first.
  const cipher = new Cipher(config.secretKeys ?? [ownKey(dataDir, logger)]);
  const [dates, disk] = [new DatingClock(clock), openDatabase(dataDir)];
  reportMigrated(disk.migrated, logger);
  const data = openNouns(config, disk, { cipher, dates, logger, fail });
  requirePlans(data);
  const replication = await openReplication(data, { replica, logger, clock, monotonic });
  const outbound = openOutbound(config, data, disk, { dates, logger, replication });
  const { actors, metrics } = outbound;
  const pipeline = new Pipeline({
    data,
    outlet: actors,
    onAccepted: (accepted) => countAccepted(metrics, accepted),
    onExhausted: (exhaustion) => reportExhausted(exhaustion, data, logger),
    onRefusedFilter: (endpoint) => reportRefusedFilter(data.ids.encode("ep", endpoint.id), logger),
  });
  const replayer = new Replayer(data, actors, pipeline);
  const [releaser, eraser] = [new Releaser(data, actors, clock), new Eraser({ data, actors })];
  const server = openServer(config, { data, outbound, pipeline, replayer, eraser, logger });
  const hint = `Cannot listen on ${host}:${wanted}; set SEALPOST_HOST and SEALPOST_PORT`;
  const { port } = orExplain(hint, () => server.listen({ port: wanted, hostname: host }));
  outbound.listening.port = port;
  disk.goLive();
  await restore({ data, pipeline, actors, replayer, releaser });
  if (data.tenants.isEmpty) await welcome(config, data, { logger, announce });
  warnOfForbidden(data, outbound.guard, logger);
  if ((config.secretKeys?.length ?? 1) > 1 && !data.sealing.isDue) reportSealed(data.sealing.left, logger);
  const checkpointThread = startCheckpointThread(CHECKPOINTER, disk.path, fail);
  const checkpoints = new Checkpoints(data.store, checkpointThread, replication.isAttended);
  const jobs = openJobs({ data, outbound, eraser, checkpoints, logger });
  jobs.start();
  outbound.isOpen = true;
  const stop = async () => {
    outbound.isOpen = false;
    const quiet = jobs.stop();
    releaser.stop();
    await drain(outbound);
    await atMost(CONNECTIONS_STOP_MS, quiet);
    await shutDown(data, server, outbound);
    await checkpointThread.stop();
    disk.close();
    lock.release();
    logger.flush();
  };
  return { url: `http://${host}:${port}`, port, untilCommitted: () => data.store.untilCommitted(), stop };
}

/** Beside this file: in the executable it is found only there. */
const CHECKPOINTER = new URL("./checkpointer.ts", import.meta.url);

/** Makes the data directory this process's own, and its replica too. */
async function takeDirectory(
  dir: string,
  { replica, logger }: Required<Pick<AppParts, "replica" | "logger">>,
): Promise<{ release(): void }> {
  const makeDir = () => mkdirSync(dir, { recursive: true, mode: 0o700 });
  orExplain("SEALPOST_DATA_DIR must be a directory that this process may write", makeDir);
  await replica?.hold();
  const lock = lockDirectory(dir);
  await replica?.claim(readIdentity(dir), { log: logger.log, monotonic });
  return lock;
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

/** Throws SettingsError where an account is on a plan that is not there any more. */
function requirePlans({ meter }: Pick<Data, "meter">): void {
  const problems = [...meter.missingPlans].map(([plan, accounts]) => {
    const example = JSON.stringify({ [plan]: { deliveries: 10_000, blocks: true, retention_days: 30 } });
    const who = accounts === 1 ? "1 account is" : `${accounts} accounts are`;
    return `SEALPOST_PLANS lacks the plan ${JSON.stringify(plan)}, which ${who} on, for example SEALPOST_PLANS=${example}`;
  });
  if (problems.length > 0) throw new SettingsError(problems);
}

/** Endpoints whose address was allowed once and is not now: their deliveries will die as `blocked`. */
function warnOfForbidden(data: Pick<Data, "endpoints">, guard: Guard, logger: Logger): void {
  let endpoints = 0;
  for (const { kind, config, credentials } of data.endpoints.all()) {
    const known = findKind(kind);
    const addresses = known ? addressesOf(known, { ...config, ...credentials }) : [];
    if (addresses.some(({ url }) => !guard.checkUrl(url).ok)) endpoints++;
  }
  if (endpoints === 0) return;
  const hint =
    "The addresses of some endpoints are not allowed any more; see SEALPOST_ALLOW_PRIVATE_DESTINATIONS.";
  logger.log("warn", hint, { endpoints });
}

/** What goes out: guard, transport and actors, with what they count. */
interface Outbound {
  /** By which rows are dated, over the wall clock. */
  dates: DatingClock;
  guard: Guard;
  transport: Transport;
  actors: Actors;
  recorder: Recorder;
  sendParts: SendParts;
  metrics: Metrics;
  stopWatching: () => void;
  /** Gives up what is in flight. */
  abort: AbortController;
  replication: Replication;
  listening: { port: number | null };
  /** False while the service starts and stops. */
  isOpen: boolean;
}

const monotonic = () => performance.now();

function openTransport(guard: Guard, openMax: number, logger: Logger): Transport {
  return createTransport({ guard, now: monotonic, openMax, onShortage: () => reportShortage(logger) });
}

function openOutbound(
  config: Config,
  data: Data,
  disk: Disk,
  { dates, logger, replication }: Pick<Outbound, "dates" | "replication"> & Pick<AppParts, "logger">,
): Outbound {
  const abort = new AbortController();
  const listening: Outbound["listening"] = { port: null };
  const self = { baseUrl: config.baseUrl, port: () => listening.port };
  const guard = createGuard({ allow: config.allowPrivateDestinations, self });
  const attemptsMax = shareOfFiles("attempts", limit("attemptsInFlightMax"));
  const transport = openTransport(guard, attemptsMax, logger);
  const sendParts = {
    transport,
    ids: data.ids,
    turns: data.store.turns,
    now: dates.wall.now,
    dated: dates.now,
    monotonic,
    signal: abort.signal,
    onBroken: (at: Endpoint, error: unknown) => reportBroken(data.ids.encode("ep", at.id), error, logger),
  };
  const steady = openSteadyClock(data, dates);
  const tell = (report: AttemptReport) => reportAttempt(report, data, logger, metrics);
  const recorder = new Recorder(data, { clock: steady, onAttempt: tell });
  const actors: Actors = new Actors(data, {
    clock: steady,
    random: Math.random,
    send: (endpoint, load) => send(sendParts, endpoint, load),
    attemptsMax,
    recorder,
  });
  const gauges = () => readGauges({ data, actors, path: disk.path, transport, replication });
  const metrics = createMetrics(gauges, { version: VERSION, bun: Bun.version, sqlite: disk.version });
  const stopWatching = watchAll(data, metrics, logger);
  return {
    dates,
    guard,
    transport,
    actors,
    recorder,
    sendParts,
    metrics,
    stopWatching,
    abort,
    replication,
    listening,
    isOpen: false,
  };
}

function openPoller(data: Data, { actors, recorder, sendParts, metrics }: Outbound, logger: Logger): Poller {
  return new Poller(data, actors, {
    recorder,
    heldMax: shareOfFiles("polls", limit("pollersTotalMax")),
    handOut: (endpoint, load) => handOut(sendParts, endpoint, load),
    onAcknowledged(endpoint, deliveries) {
      for (let at = 0; at < deliveries; at++) metrics.attempts.count("delivered none");
      logger.log("info", "acknowledged", { endpoint_id: data.ids.encode("ep", endpoint.id), deliveries });
    },
  });
}

interface ServerParts {
  data: Data;
  outbound: Outbound;
  pipeline: Pipeline;
  replayer: Replayer;
  eraser: Eraser;
  logger: Logger;
}

function openServer(config: Config, parts: ServerParts): HttpServer {
  const { data, outbound, pipeline, replayer, eraser, logger } = parts;
  const { dates, actors, guard, transport, sendParts, metrics } = outbound;
  const { now } = dates.wall;
  const routes = allRoutes({
    ...data,
    eventList: new EventList(data),
    deliveryList: new DeliveryList(data),
    pipeline,
    actors,
    replayer,
    poller: openPoller(data, outbound, logger),
    eraser,
    guard,
    transport,
    sendTrial: (endpoint) => sendTrial(sendParts, endpoint, data.store.takeKey()),
    baseUrl: config.baseUrl,
    ingestRateLimit: config.ingestRateLimit,
    pollRateLimit: config.managementRateLimit,
    now,
    monotonic,
    onRejected: (reason) => metrics.ingestRejected.count(reason),
    log: (level, msg, fields) => logger.log(level, msg, fields),
  });
  const projectIds = new PublicIds(data.ids, "proj");
  return createServer(routes, {
    version: VERSION,
    baseUrl: config.baseUrl,
    authenticate: authenticator(data, now),
    operatorToken: config.operatorToken,
    metricsToken: config.metricsToken,
    now,
    logRequest: (line) => reportRequest(line, projectIds, logger, metrics),
    logFailure: ({ requestId, route, error }) =>
      logger.log("error", "request failed", { request_id: requestId, route, error }),
    isDraining: () => !outbound.isOpen,
    write: (run) => data.store.write(run),
    turns: data.store.turns,
    idempotency: data.idempotency,
    audit: data.audit,
    rateLimits: { publish: config.publishRateLimit, management: config.managementRateLimit },
    usageRemaining: (projectId) => data.meter.remaining(projectId),
    ready: () => readiness(data, outbound),
    metrics: () => Promise.resolve(metrics.print()),
  });
}

function later(ms: number, run: () => void): void {
  setTimeout(run, ms).unref();
}

function ownKey(dir: string, logger: Logger): Uint8Array {
  const { key, made, path } = directoryKey(dir, !hasDatabase(dir));
  if (made) {
    const hint =
      "SEALPOST_SECRET_KEY is not set: a key was made that encrypts secrets. Back this file up with the database.";
    logger.log("warn", hint, { file: path });
  }
  return key;
}

/** The machine that is lost takes its key with it. */
function warnOfLocalKey(logger: Logger): void {
  const hint =
    "SEALPOST_SECRET_KEY is not set, and the replica does not hold the key: keep a copy of secret.key elsewhere, or what is restored does not start.";
  logger.log("warn", hint);
}

/** An empty database: where there is no operator who makes accounts, there is one from the start. */
async function welcome(
  config: Config,
  data: Pick<Data, "tenants">,
  { logger, announce }: Pick<AppParts, "logger" | "announce">,
): Promise<void> {
  if (config.operatorToken === null) await data.tenants.createFirstAccount(announce);
  else logger.log("info", "There is no account yet: make one with POST /v1/operator/accounts.");
}

interface JobParts {
  data: Data;
  outbound: Outbound;
  eraser: Eraser;
  checkpoints: Checkpoints;
  logger: Logger;
}

function openJobs({ data, outbound, eraser, checkpoints, logger }: JobParts): Jobs {
  const { actors, metrics } = outbound;
  const retention = new Retention({
    data,
    actors,
    expires: ({ kind }) => isPolled(kind),
  });
  const onDisabled = ({ id }: Endpoint) => reportDisabled(data.ids.encode("ep", id), "failing", logger);
  const table = scheduledJobs({
    data,
    actors,
    checkpoints,
    eraser,
    retention,
    onDisabled,
    onSealed: () => reportSealed(data.sealing.left, logger),
  });
  const jobs = new Jobs(table, (report) => reportJob(report, metrics, logger));
  outbound.dates.onStep((step) => {
    reportStep(step, metrics, logger);
    jobs.reschedule();
  });
  eraser.onWake(() => void jobs.runAgain("erasure"));
  return jobs;
}

function readiness(
  { store }: Pick<Data, "store">,
  { isOpen, replication }: Outbound,
): { ready: boolean; reason?: string } {
  if (!isOpen) return { ready: false, reason: "starting or stopping" };
  if (!store.writable) return { ready: false, reason: "the disk is full" };
  if (store.silentMs > limit("diskSilenceMs")) return { ready: false, reason: "the disk does not answer" };
  const reason = replication.problem();
  return reason === null ? { ready: true } : { ready: false, reason };
}

/**
 * No new attempts; those in flight get their time, the rest is handed back without costing an attempt.
 * Outcomes that a full disk does not take are not waited for: they are sent again after the restart.
 */
async function drain({ actors, abort }: Outbound): Promise<void> {
  const { promise: tooLate, resolve: giveUp } = Promise.withResolvers<void>();
  const cut = setTimeout(() => abort.abort(), limit("drainMs") - DRAIN_RESERVE_MS);
  const end = setTimeout(giveUp, limit("drainMs") - 2 * CONNECTIONS_STOP_MS);
  await Promise.race([actors.stop(), tooLate]);
  clearTimeout(cut);
  clearTimeout(end);
}

async function shutDown(
  data: Pick<Data, "store" | "tenants" | "sourceStats" | "index">,
  server: HttpServer,
  { transport, replication }: Outbound,
): Promise<void> {
  await server.stop(CONNECTIONS_STOP_MS);
  transport.close();
  // A disk that is full refuses it: it is for people to look at, and nobody was promised the last minute
  // of it.
  await data.tenants.saveLastUse().catch(() => {});
  await data.sourceStats.writeDown().catch(() => {});
  await atMost(CONNECTIONS_STOP_MS, data.index.writeDown());
  await data.store.close();
  await atMost(CONNECTIONS_STOP_MS, replication.stop());
}

/** A disk that fills up meanwhile must not keep the process: the next start goes on from what is on it. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => {}), new Promise((resolve) => setTimeout(resolve, ms))]);
}
