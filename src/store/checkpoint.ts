import { Database, SQLiteError } from "bun:sqlite";
import type { Store } from "./store.ts";

/**
 * Checkpoints copy pages from the WAL into the database and sync both: the longest work that the disk is
 * asked for (up to 100 ms at full load). They run on a thread of their own, over a connection of their own,
 * so that the event loop never waits for them.
 *
 * A checkpoint beside running commits never reaches the WAL's end, and only from there it is written anew
 * from its start. So where the WAL has grown, commits are held for the short rest: writes wait some
 * milliseconds, the loop does not.
 *
 * What is new in the WAL needs room in the database as well. Where a full disk has none, everything stays in
 * the WAL, which is as safe, and a checkpoint is tried until there is room; that one gives back all that the
 * WAL took.
 *
 * Litestream that comes back finds its place in the WAL by the last page that it copied. In a WAL that was
 * written anew from its start this page may still stand there, behind the new ones, and what came after it
 * is in the database alone: Litestream (0.5.18, `verify` in db.go) takes the WAL for one that it has copied
 * whole, and the replica lacks pages from then on. So while Litestream is gone the WAL is cut: it notices.
 */

/** Pages of the WAL, and how many of them are in the database. */
export interface CheckpointResult {
  log: number;
  checkpointed: number;
}

/** `TRUNCATE` cuts the WAL once all of it is in the database. */
export type CheckpointMode = "PASSIVE" | "TRUNCATE";

export interface Checkpointer {
  /** Null where the disk has no room for it, or it did not cut the WAL as it was to. */
  run(mode: CheckpointMode): Promise<CheckpointResult | null>;
}

/** Whether Litestream copies the WAL. It checkpoints itself while it is here. */
export type Attendance = "never" | "here" | "gone";

/** Below this the WAL may grow on: 16 MiB of pages. */
const PAGES_TO_RESTART = 4000;
const TAIL_PAGES_MAX = 500;
const PASSES_MAX = 3;
const READERS_MS = 200;

export class Checkpoints {
  #commits = 0;
  #running = false;
  /** False from one that found none until one that has cut the WAL. */
  #hadRoom = true;

  constructor(
    private readonly store: Store,
    private readonly checkpointer: Checkpointer,
    private readonly attendance: () => Attendance = () => "never",
  ) {}

  /** One checkpoint, if anything was written since the last, or that had no room; one at a time. */
  async run(): Promise<void> {
    const isDone = this.#hadRoom && this.store.commits === this.#commits;
    const attendance = this.attendance();
    if (attendance === "here" || this.#running || isDone) return;
    this.#running = true;
    this.#commits = this.store.commits;
    try {
      // Before anything that is written takes the room that has come, and as the WAL is cut then.
      if (!this.#hadRoom || attendance === "gone")
        return await this.store.holdCommits(() => this.#checkpoint("TRUNCATE"));
      let { log, checkpointed } = await this.#checkpoint();
      if (log < PAGES_TO_RESTART) return;
      // What was written meanwhile is a tail that shrinks with each pass; commits are held for a short
      // one only.
      for (let pass = 0; pass < PASSES_MAX && log - checkpointed > TAIL_PAGES_MAX; pass++) {
        ({ log, checkpointed } = await this.#checkpoint());
      }
      await this.store.holdCommits(() => this.#checkpoint());
    } finally {
      this.#running = false;
    }
  }

  async #checkpoint(mode: CheckpointMode = "PASSIVE"): Promise<CheckpointResult> {
    const result = await this.checkpointer.run(mode);
    this.#hadRoom = result !== null;
    return result ?? NOTHING;
  }
}

/** What the thread does with the database at `path`: one checkpoint a run. */
export function openCheckpointer(path: string) {
  const sqlite = new Database(path);
  // So long it waits for readers, on its own thread: what is copied whole and not cut is begun anew.
  sqlite.exec(`PRAGMA busy_timeout = ${READERS_MS}`);
  return { run: (mode: CheckpointMode) => checkpoint(sqlite, mode), close: () => sqlite.close() };
}

const NOTHING: CheckpointResult = { log: 0, checkpointed: 0 };

/** Null on a full disk, and of `TRUNCATE` where a reader keeps it from that for longer than it waits. */
export function checkpoint(sqlite: Database, mode: CheckpointMode): CheckpointResult | null {
  try {
    const result = sqlite
      .query<CheckpointResult & { busy: number }, []>(`PRAGMA wal_checkpoint(${mode})`)
      .get();
    return mode === "TRUNCATE" && result?.busy !== 0 ? null : (result ?? NOTHING);
  } catch (error) {
    if (error instanceof SQLiteError && error.code === "SQLITE_FULL") return null;
    throw error;
  }
}
