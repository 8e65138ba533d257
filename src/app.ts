import { mkdirSync, statSync } from "node:fs";
import { Cron } from "croner";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { Cipher } from "./core/cipher.ts";
import { limit } from "./core/limits.ts";
import { authenticator } from "./authenticate.ts";
import { allRoutes } from "./http/routes.ts";
import { createServer, type HttpServer } from "./http/server.ts";
import type { Logger } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { Actors, type AttemptReport } from "./outbound/actors.ts";
import { createGuard } from "./outbound/guard.ts";
import { send } from "./outbound/send.ts";
import { createTransport } from "./outbound/transport.ts";
import type { Transport } from "./outbound/transport-types.ts";
import { VERSION } from "./outbound/user-agent.ts";
import { Pipeline } from "./pipeline.ts";
import { Replayer } from "./replayer.ts";
import { directoryKey } from "./secret-key.ts";
import { type Data, openData } from "./store/data.ts";
import { lockDirectory, openDatabase } from "./store/database.ts";
import { DeliveryList } from "./store/delivery-list.ts";
import { EventList } from "./store/event-list.ts";
import { recoverDigest } from "./store/recovery.ts";

/** How often list entries and hourly numbers are written down. */
const DIGEST_MS = 200;

export interface App {
  url: string;
  port: number;
  /** Shown once: keys of the account that the first start on an empty database makes. */
  firstKeys: { live: string; test: string } | null;
  /** Finishes or hands back what is in flight, within ten seconds. */
  stop(): Promise<void>;
}

export interface AppParts {
  logger: Logger;
  /** The disk failed: the process has to end. */
  fail(error: Error): void;
}

/** Puts the service together, takes up what the database has open, and listens. Throws where it cannot. */
export async function startApp(config: Config, { logger, fail }: AppParts): Promise<App> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(config.dataDir);
  const disk = openDatabase(config.dataDir);
  const cipher = new Cipher(config.secretKeys ?? [ownKey(config.dataDir, logger)]);
  const storeParts = { now: systemClock.now, schedule: setImmediate, sync: disk.sync, later, fail };
  const data = openData(disk.sqlite, storeParts, { cipher, cell: config.cell });
  const abort = new AbortController();
  const guard = createGuard({ allow: config.allowPrivateDestinations });
  const transport = createTransport({ guard, now: () => performance.now() });
  const gauges = { data: () => data, path: disk.path, transport, actors: () => actors };
  const metrics = createMetrics(gaugesOf(gauges), { version: VERSION, bun: Bun.version, sqlite: disk.version });
  const sendParts = { transport, ids: data.ids, now: systemClock.now, monotonic: () => performance.now(), signal: abort.signal };
  const actors = new Actors(data, {
    clock: systemClock,
    random: Math.random,
    send: (endpoint, load) => send(sendParts, endpoint, load),
    onAttempt: (report) => tellAttempt(report, data, logger, metrics),
  });
  const pipeline = new Pipeline(data, actors);
  const replayer = new Replayer(data, actors, pipeline, systemClock);
  const state = { draining: false };
  const server = createServer(
    allRoutes({
      data,
      ids: data.ids,
      eventList: new EventList(data),
      deliveryList: new DeliveryList(data),
      pipeline,
      actors,
      replayer,
      guard,
      transport,
      baseUrl: config.baseUrl,
      ingestRateLimit: config.ingestRateLimit,
      now: systemClock.now,
      log: (level, msg, fields) => logger.log(level, msg, fields),
    }),
    {
      version: VERSION,
      authenticate: authenticator(data, systemClock.now),
      operatorToken: config.operatorToken,
      now: systemClock.now,
      log: (line) => logger.log("info", "request", line as Record<string, string>),
      isDraining: () => state.draining,
      write: (run) => data.store.write(run),
      idempotency: data.idempotency,
      rateLimits: { publish: config.publishRateLimit, management: config.managementRateLimit },
      ready: () => readiness(data, state.draining),
      metrics: () => metrics.registry.metrics(),
    },
  );
  await recoverDigest(data);
  const firstKeys = data.tenants.isEmpty && config.operatorToken === null ? await makeFirstAccount(data) : null;
  pipeline.recover();
  actors.recover();
  replayer.recover();
  const jobs = startJobs(data, logger);
  const { port } = server.listen({ port: config.port, hostname: config.host });
  const stop = async () => {
    state.draining = true;
    await drain(actors, abort);
    for (const job of jobs) job.stop();
    await shutDown({ data, server, transport });
    disk.close();
    lock.release();
    logger.flush();
  };
  return { url: `http://${config.host}:${port}`, port, firstKeys, stop };
}

function later(ms: number, run: () => void): void {
  setTimeout(run, ms).unref();
}

function ownKey(dir: string, logger: Logger): Uint8Array {
  const { key, made, path } = directoryKey(dir);
  if (made) {
    const hint = "SEALPOST_SECRET_KEY is not set: a key was made that encrypts secrets. The replica does not hold it: back it up.";
    logger.log("warn", hint, { file: path });
  }
  return key;
}

async function makeFirstAccount(data: Data): Promise<{ live: string; test: string }> {
  const account = await data.tenants.createAccount({ name: "default", plan: "unlimited" });
  const keyFor = async (mode: "live" | "test") => {
    const project = await data.tenants.createProject(account.id, mode, mode);
    const made = await data.store.write(() => data.tenants.insertKey(project, { name: "first", scopes: ["full"], expiresAt: null }));
    data.tenants.rememberKey(made.key, made.token);
    return made.token;
  };
  return { live: await keyFor("live"), test: await keyFor("test") };
}

function startJobs(data: Data, logger: Logger): { stop(): void }[] {
  const digest = setInterval(() => void data.digest.writeDown(), DIGEST_MS);
  const catching = (error: unknown) => logger.log("error", "job failed", { error: String(error) });
  const minutely = new Cron("* * * * *", { protect: true, catch: catching }, async () => {
    await data.tenants.saveLastUse();
    while (await data.idempotency.expire());
    while (await data.dedup.expire());
  });
  return [{ stop: () => clearInterval(digest) }, minutely];
}

function readiness(data: Data, draining: boolean): { ready: boolean; reason?: string } {
  if (draining) return { ready: false, reason: "draining" };
  return data.store.writable ? { ready: true } : { ready: false, reason: "the disk is full" };
}

/** No new attempts; those in flight get their time, the rest is handed back without costing an attempt. */
async function drain(actors: Actors, abort: AbortController): Promise<void> {
  const reserveMs = 1500;
  const cut = setTimeout(() => abort.abort(), limit("drainMs") - reserveMs);
  await actors.stop();
  clearTimeout(cut);
}

async function shutDown({ data, server, transport }: { data: Data; server: HttpServer; transport: Transport }): Promise<void> {
  await server.stop(500);
  transport.close();
  await data.tenants.saveLastUse();
  await data.digest.writeDown();
  await data.store.close();
}

function tellAttempt(report: AttemptReport, data: Data, logger: Logger, metrics: Metrics): void {
  const { settlement, number, lagMs } = report;
  const { load, performed, endpoint, trigger, change } = settlement;
  const { outcome } = performed.finding;
  const code = performed.statusCode;
  metrics.attempts.inc({ outcome, status_class: code === null ? "none" : `${Math.floor(code / 100)}xx` });
  metrics.attemptSeconds.observe(performed.durationMs / 1000);
  if (lagMs !== null) metrics.lagSeconds.observe(Math.max(0, lagMs) / 1000);
  logger.log("info", "attempt", {
    event_id: data.ids.encode("evt", load.delivery.eventId),
    delivery_id: data.ids.encode("msg", load.delivery.id),
    endpoint_id: data.ids.encode("ep", endpoint.id),
    number,
    trigger,
    outcome,
    status_code: code,
    error_code: performed.errorCode,
    duration_ms: performed.durationMs,
    status: change?.status ?? load.delivery.status,
  });
}

interface GaugeParts {
  data(): Data;
  actors(): Actors;
  path: string;
  transport: Transport;
}

function gaugesOf({ data, actors, path, transport }: GaugeParts): Parameters<typeof createMetrics>[0] {
  const size = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return {
    queued: () => actors().counts().queued,
    inFlight: () => actors().counts().inFlight,
    actors: () => actors().counts().actors,
    openSockets: () => transport.stats().open,
    idleSockets: () => transport.stats().idle,
    databaseBytes: () => size(path),
    walBytes: () => size(`${path}-wal`),
    digestWaiting: () => data().digest.size,
  };
}
