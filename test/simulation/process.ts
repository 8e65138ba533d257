import type { Actors } from "../../src/delivery/actors.ts";
import type { Database } from "bun:sqlite";
import { Cipher } from "../../src/core/cipher.ts";
import { Problem } from "../../src/core/errors.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { Eraser } from "../../src/maintenance/eraser.ts";
import { Jobs } from "../../src/platform/jobs.ts";
import { makeActors } from "../kit/actors.ts";
import { makePipeline } from "../kit/pipeline.ts";
import type { Load } from "../../src/core/waiting.ts";
import { type Sent, send } from "../../src/delivery/send.ts";
import { DatingClock } from "../../src/platform/clock.ts";
import type { Transport } from "../../src/transport/types.ts";
import type { JobControl } from "../../src/platform/job-control.ts";
import type { Pipeline } from "../../src/pipeline/pipeline.ts";
import { Releaser } from "../../src/pipeline/releaser.ts";
import { Replayer } from "../../src/pipeline/replayer.ts";
import { type Data, openData } from "../../src/store/data.ts";
import { turnsOf } from "../../src/store/project-turns.ts";
import { Retries } from "../../src/delivery/retries.ts";
import { Poller } from "../../src/delivery/polling/poller.ts";
import { handOut } from "../../src/delivery/polling/hand-out.ts";
import { type KeptClock, openSteadyClock } from "../../src/delivery/steady.ts";
import { restore } from "../../src/maintenance/recovery.ts";
import { type OutletListeners, OutletWatch } from "./outlet-watch.ts";
import type { Rng, World } from "./world.ts";

const cipher = new Cipher([new Uint8Array(32).fill(7)]);

export interface ProcessParts {
  world: World;
  rng: Rng;
  sqlite: Database;
  transport: Transport;
  /** Milliseconds until the loop comes round. */
  turnMs(): number;
  /** Milliseconds that a sync of the disk takes now. */
  syncMs(): number;
  onStart(endpoint: Endpoint, load: Load): void;
  onEnd(endpoint: Endpoint, load: Load, sent: Sent | null): void;
  /** The outcome of an attempt is on disk, or it has none. */
  onSettled(deliveryId: number): void;
  /** Attempts in flight over all endpoints, at most. */
  attemptsMax: number;
  outlet: OutletListeners;
}

/**
 * The service as one life of its process: the real store, pipeline, actors, poller, replayer and eraser over
 * virtual time.
 */
export interface Process {
  data: Data;
  eraser: Eraser;
  jobs: Jobs;
  actors: Actors;
  retries: Retries;
  /** The actors, as those see them who write deliveries. */
  outlet: OutletWatch;
  poller: Poller;
  pipeline: Pipeline;
  replayer: Replayer;
  releaser: Releaser;
}

/** What `open` includes, more than any run delivers: what remains of it tells what is counted. */
export const OPEN_DELIVERIES = 1_000_000_000;

const plans = {
  open: { deliveries: OPEN_DELIVERIES, blocks: true, retentionDays: 30 },
  small: { deliveries: 10, blocks: true, retentionDays: 30 },
};

export function bootProcess(parts: ProcessParts): Process {
  const { rng, sqlite, transport } = parts;
  const world = parts.world.ofThisLife();
  const dates = new DatingClock(world.clock);
  const storeParts = {
    now: dates.now,
    schedule: (commit: () => void) => void world.after(parts.turnMs(), commit),
    beginShare: () => ({
      get isOver() {
        return rng.chance(SHARE_OVER);
      },
    }),
    sync: () => new Promise<void>((resolve) => world.after(parts.syncMs(), resolve)),
    later: (ms: number, probe: () => void) => void world.after(ms, probe),
    fail: (error: Error) => {
      throw error;
    },
    report: (_work: string, error: unknown) => {
      throw error;
    },
  };
  const data = openData(sqlite, storeParts, { cipher, cell: "00", plans });
  const signal = new AbortController().signal;
  const onBroken = (_: unknown, error: unknown) => {
    throw error;
  };
  const sendParts = {
    transport,
    ids: data.ids,
    turnsOf: (projectId: number) => turnsOf(data, projectId, "deliveries"),
    isTurnOver: () => data.store.turns.isOver,
    now: () => world.wall,
    dated: dates.now,
    monotonic: () => world.monotonic,
    signal,
    untilMayGo: () => null,
    onBroken,
  };
  const steady = openSteadyClock(data, dates);
  keepLooking(world, steady);
  const endFirst = data.meter.endFirst.bind(data.meter);
  data.meter.endFirst = (id) => {
    endFirst(id);
    if (!world.isOver()) parts.onSettled(id);
  };
  const { actors, recorder } = makeActors(data, {
    clock: steady,
    attemptsMax: parts.attemptsMax,
    random: () => rng.next(),
    send: async (endpoint, load) => {
      if (world.isOver()) return null;
      outlet.onStart(load);
      parts.onStart(endpoint, load);
      const sent = await send(sendParts, endpoint, load);
      parts.onEnd(endpoint, load, sent);
      return sent;
    },
  });
  const outlet = new OutletWatch(actors, data.endpoints, parts.outlet);
  const retries = new Retries(data, actors);
  const poller = new Poller(data, actors, {
    heldMax: POLLS_HELD_MAX,
    handOut: (endpoint, load) => handOut(sendParts, endpoint, load),
    recorder,
    onAcknowledged() {},
  });
  const pipeline = makePipeline(data, outlet);
  // It looks for places once a minute for ever: while nothing waits for one, that is no step of the run.
  const nothingWaits = () =>
    [...data.tenants.accounts()].every(({ id }) => data.meter.waitingEventsOf(id) === 0);
  const releaser = new Releaser(data, outlet, world.clockInBackground(nothingWaits));
  const replayer = new Replayer(data, outlet, pipeline);
  const eraser = new Eraser({ data, actors });
  const jobs = openJobs(eraser, world);
  return { data, actors, retries, outlet, poller, pipeline, releaser, replayer, eraser, jobs };
}

/** More seldom than the job that reads the clock, and often enough for a process that is not down. */
const LOOKED_AT_EVERY_MS = 300_000;

/** It is no step of the run. */
function keepLooking(world: ReturnType<World["ofThisLife"]>, steady: KeptClock): void {
  const background = world.clockInBackground(() => true);
  const look = () => {
    steady.downSince(steady.now());
    background.delay(LOOKED_AT_EVERY_MS, look);
  };
  look();
}

/** How often a share of a turn of the loop is over, so that what can be divided is. */
const SHARE_OVER = 0.1;
const REST_MS = 10;
const POLLS_HELD_MAX = 10;
const MINUTE_MS = 60_000;

/**
 * The job that erases, without its schedule, by which no run would come to its end: only where the disk was
 * full it is tried again.
 */
function openJobs(eraser: Eraser, world: ReturnType<World["ofThisLife"]>): Jobs {
  const rest = () => new Promise<void>((resolve) => world.after(REST_MS, resolve));
  const run = async ({ isStopping }: JobControl) => {
    try {
      await eraser.run({ isStopping, rest });
    } catch (error) {
      if (!(error instanceof Problem && error.code === "unavailable")) throw error;
      world.after(MINUTE_MS, () => void jobs.run("erasure"));
    }
  };
  const jobs: Jobs = new Jobs([{ name: "erasure", every: MINUTE_MS, run }], ({ error }) => {
    if (error !== undefined) throw new Error(error);
  });
  eraser.onWake(() => void jobs.runAgain("erasure"));
  return jobs;
}

/** What the program does at start, before it answers. */
export async function recoverProcess(process: Process): Promise<void> {
  await restore(process);
  void process.jobs.run("erasure");
}
