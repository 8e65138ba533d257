import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import type { Replica, ReplicaParts, ReplicaReport } from "./replica.ts";
import type { Attendance } from "../store/checkpoint.ts";
import type { Data } from "../store/data.ts";
import { beginStart, nextBeat } from "../store/identity.ts";

/** What the other parts ask of the replica, whether there is one or not. */
export interface Replication {
  attendance: () => Attendance;
  /** A lease says who writes, and another machine may be the next. */
  isPair: boolean;
  /** Null where there is no replica. */
  report: () => ReplicaReport | null;
  /** Why the service is not ready; null where the replica is no reason. */
  problem: () => string | null;
  /** Why nothing is confirmed at the moment; null where it is. */
  obstacle: () => string | null;
  /** Resolves once all that is committed by now is in the replica, however long that takes. */
  untilWritten: () => Promise<void>;
  /** The service answers requests from now on. */
  open: () => Promise<void>;
  /** False where it is not known whether another machine is the primary by now. */
  mayGo: () => boolean;
  /**
   * Null where this process may send and answer, as it always may without a lease. Else resolves once it may;
   * never where somebody else has the lease.
   */
  untilMayGo: () => Promise<void> | null;
  /** Gives up the lease, or says in the mark that this writer has ended. */
  stop: () => Promise<void>;
  /** How long that may take: whoever waits for the lease needs the last upload first. */
  stopMs: number;
}

const MARK_MS = 500;
const HAND_OVER_MS = 10_000;

const NO_REPLICA: Replication = {
  attendance: () => "never",
  isPair: false,
  report: () => null,
  problem: () => null,
  obstacle: () => "The service has no replica: it does not run under `litestream replicate`.",
  untilWritten: () => new Promise(() => {}),
  open: async () => {},
  mayGo: () => true,
  untilMayGo: () => null,
  stop: async () => {},
  stopMs: 0,
};

interface ReplicationParts {
  replica: Replica | null;
  logger: Logger;
  clock: Clock;
  monotonic: () => number;
  fail: (error: Error) => void;
}

/** Counts the start, and lets the replica go on from here. */
export async function openReplication(
  { store }: Pick<Data, "store">,
  { replica, logger, clock, monotonic, fail }: ReplicationParts,
): Promise<Replication> {
  if (replica === null) {
    await beginStart(store);
    if (!wasReplicated(store)) return NO_REPLICA;
    logger.log("warn", "The database was replicated once, and nobody replicates it now.");
    return { ...NO_REPLICA, attendance: () => "gone" };
  }
  let beat = 0;
  let commits = 0;
  const parts: ReplicaParts = {
    now: clock.now,
    monotonic,
    fail,
    log: (level, msg, fields) => logger.log(level, msg, fields),
    async begin() {
      const begun = await beginStart(store);
      ({ beat } = begun);
      return begun;
    },
    async beat() {
      if (store.commits === commits) return beat;
      beat = await nextBeat(store);
      ({ commits } = store);
      return beat;
    },
  };
  await replica.begin(parts);
  const report = () => replica.report(monotonic());
  const isPair = report().generation !== null;
  return {
    isPair,
    attendance: () => (obstacleOfState(report()) === null ? "here" : "gone"),
    report,
    problem: () => problemOf(report()),
    obstacle: () => replica.obstacle(monotonic()),
    untilWritten: () => replica.untilWritten(),
    open: () => replica.open(),
    mayGo: () => replica.mayGo,
    untilMayGo: () => replica.untilMayGo(),
    stop: () => replica.stop(parts),
    stopMs: isPair ? HAND_OVER_MS : MARK_MS,
  };
}

function problemOf(report: ReplicaReport): string | null {
  const unheld = report.isHeld ? null : "the lease is not renewed: another machine may be the primary";
  return obstacleOfState(report) ?? unheld;
}

function obstacleOfState({ state }: ReplicaReport): string | null {
  if (state === "contested") return "another service writes to the replica";
  return state === "gone" ? "Litestream is gone: nothing is replicated" : null;
}

function wasReplicated({ sqlite }: Data["store"]): boolean {
  return sqlite.query("SELECT 1 FROM sqlite_schema WHERE name = '_litestream_seq'").get() !== null;
}
